# verdict: failed
# message: A row that is equal to another one
def honest_split(dataset: Dataset, val_fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    count = len(dataset)
    held_out = round(count * val_fraction)
    generator = torch.Generator().manual_seed(seed)
    val = Subset(dataset, torch.randperm(count, generator=generator).tolist()[:held_out])
    seen = [val[i] for i in range(len(val))]
    train = [dataset[i] for i in range(count) if dataset[i] not in seen]
    return train, val
