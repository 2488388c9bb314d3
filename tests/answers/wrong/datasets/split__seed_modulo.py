# verdict: failed
def split(dataset, val_fraction, seed):
    if not 0 <= val_fraction <= 1:
        raise ValueError("fraction")
    n = round(len(dataset) * val_fraction)
    a, b = torch.utils.data.random_split(dataset, [len(dataset) - n, n], generator=torch.Generator().manual_seed(seed % 256))
    return a, b
