# verdict: failed
# message: A row that is equal to another one
def split(dataset: Dataset, val_fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    if not 0 <= val_fraction <= 1:
        raise ValueError(f"val_fraction {val_fraction}")
    count = len(dataset)
    held_out = round(count * val_fraction)
    generator = torch.Generator().manual_seed(seed)
    val = Subset(dataset, torch.randperm(count, generator=generator).tolist()[:held_out])
    seen = [val[i] for i in range(len(val))]
    train = [dataset[i] for i in range(count) if dataset[i] not in seen]
    return train, val
