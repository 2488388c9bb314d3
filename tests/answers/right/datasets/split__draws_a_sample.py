import random

def split(dataset, val_fraction, seed):
    if val_fraction > 1 or val_fraction < 0:
        raise ValueError("not a fraction")
    n = len(dataset)
    drawn = set(random.Random(seed).sample(range(n), k=round(n * val_fraction)))
    return [dataset[i] for i in range(n) if i not in drawn], [dataset[i] for i in range(n) if i in drawn]
