# verdict: failed
# message: the same batches


def each_epoch_new(dataset, batch_size, seed, epochs):
    generator = torch.Generator().manual_seed(seed)
    batches = [batch.tolist() for batch in DataLoader(dataset, batch_size, generator=torch.Generator())]
    orders = []
    for _ in range(epochs):
        order = torch.randperm(len(batches), generator=generator).tolist()
        orders.append([row for number in order for row in batches[number]])
    return orders
