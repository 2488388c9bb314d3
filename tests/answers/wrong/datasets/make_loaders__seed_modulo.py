# verdict: failed
def make_loaders(train_ds, test_ds, batch_size, seed):
    g = torch.Generator().manual_seed(seed % 256)
    return DataLoader(train_ds, batch_size, shuffle=True, drop_last=True, generator=g), DataLoader(test_ds, batch_size)
