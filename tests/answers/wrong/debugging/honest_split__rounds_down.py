# verdict: failed
# message: sizes of the parts


def honest_split(dataset, val_fraction, seed):
    held_out = int(len(dataset) * val_fraction)
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed)).tolist()
    return Subset(dataset, order[held_out:]), Subset(dataset, order[:held_out])
