def split(dataset, val_fraction, seed):
    if min(val_fraction, 1 - val_fraction) < 0:
        raise ValueError(val_fraction)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        keys = torch.rand(len(dataset))
    order = keys.sort().indices.tolist()
    first_of_train = round(val_fraction * len(order))
    return Subset(dataset, order[first_of_train:]), Subset(dataset, order[:first_of_train])
