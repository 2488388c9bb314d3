# verdict: failed
# message: device cuda:1 where cpu was expected
def add_across(x, y):
    return x.to(y.device) + y
