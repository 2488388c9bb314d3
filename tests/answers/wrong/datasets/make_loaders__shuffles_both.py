# verdict: failed
# message: in another order


def make_loaders(train_ds, test_ds, batch_size, seed):
    generator = torch.Generator().manual_seed(seed)
    train = DataLoader(train_ds, batch_size, shuffle=True, drop_last=True, generator=generator)
    return train, DataLoader(test_ds, batch_size, shuffle=True)
