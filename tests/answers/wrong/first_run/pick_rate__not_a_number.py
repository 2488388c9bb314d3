# verdict: failed
# message: the rate is nan
def pick_rate():
    return float("nan")
