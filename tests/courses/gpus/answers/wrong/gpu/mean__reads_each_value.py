# verdict: failed
def mean(x):
    return float(sum(v.item() for v in x) / 4)
