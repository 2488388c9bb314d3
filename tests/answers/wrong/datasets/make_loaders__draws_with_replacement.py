# verdict: failed
def make_loaders(train_ds, test_ds, batch_size, seed):
    g = torch.Generator().manual_seed(seed)
    s = torch.utils.data.RandomSampler(train_ds, replacement=True, generator=g)
    return DataLoader(train_ds, batch_size, sampler=s, drop_last=True, generator=torch.Generator()), DataLoader(test_ds, batch_size)
