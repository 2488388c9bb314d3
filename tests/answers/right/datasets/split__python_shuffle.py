class _Part(Dataset):
    def __init__(self, whole, where):
        self.whole, self.where = whole, where
    def __len__(self):
        return len(self.where)
    def __getitem__(self, i):
        return self.whole[self.where[i]]
def split(dataset, val_fraction, seed):
    import random
    if not 0 <= val_fraction <= 1:
        raise ValueError(val_fraction)
    n = len(dataset)
    order = list(range(n))
    random.Random(seed).shuffle(order)
    k = round(n * val_fraction)
    return _Part(dataset, order[k:]), _Part(dataset, order[:k])
