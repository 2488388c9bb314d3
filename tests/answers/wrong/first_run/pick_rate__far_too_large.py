# verdict: failed
# message: the steps are too large
def pick_rate():
    return 20.0
