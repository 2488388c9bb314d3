# verdict: failed
# message: the rows of each epoch


def each_epoch_new(dataset, batch_size, seed, epochs):
    generator = torch.Generator().manual_seed(seed)
    loader = DataLoader(dataset, batch_size, shuffle=True, drop_last=True, generator=generator)
    return [[row for batch in loader for row in batch.tolist()] for _ in range(epochs)]
