# verdict: failed
def split(dataset, val_fraction, seed):
    if not 0 <= val_fraction <= 1: raise ValueError
    n = len(dataset); k = round(n * val_fraction)
    val = [(seed + i * n // k) % n for i in range(k)] if k else []
    return Subset(dataset, [i for i in range(n) if i not in val]), Subset(dataset, val)
