# verdict: failed
def split(dataset, val_fraction, seed):
    if not 0 <= val_fraction <= 1: raise ValueError
    n = len(dataset); k = round(n * val_fraction)
    o = torch.randperm(n - 1, generator=torch.Generator().manual_seed(seed)).tolist() + [n-1] if n else []
    return Subset(dataset, o[k:]), Subset(dataset, o[:k])
