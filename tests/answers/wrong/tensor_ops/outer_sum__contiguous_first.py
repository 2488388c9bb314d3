# verdict: failed
# message: an input is copied before the sum
def outer_sum(a, b):
    return a.contiguous()[..., None] + b.contiguous()[..., None, :]
