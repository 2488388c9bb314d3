# verdict: failed
# message: the same seed again


def honest_split(dataset, val_fraction, seed):
    held_out = round(len(dataset) * val_fraction)
    generator = torch.Generator()
    generator.seed()
    order = torch.randperm(len(dataset), generator=generator).tolist()
    return Subset(dataset, order[held_out:]), Subset(dataset, order[:held_out])
