# verdict: failed
# message: two seeds give the same split


def honest_split(dataset, val_fraction, seed):
    held_out = round(len(dataset) * val_fraction)
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0)).tolist()
    return Subset(dataset, order[held_out:]), Subset(dataset, order[:held_out])
