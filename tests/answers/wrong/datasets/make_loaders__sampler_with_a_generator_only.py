# verdict: failed
# message: looping over the train loader changed torch's global random numbers: a DataLoader draws one
def make_loaders(train_ds, test_ds, batch_size, seed):
    s = torch.utils.data.RandomSampler(train_ds, generator=torch.Generator().manual_seed(seed))
    return DataLoader(train_ds, batch_size, sampler=s, drop_last=True), DataLoader(test_ds, batch_size)
