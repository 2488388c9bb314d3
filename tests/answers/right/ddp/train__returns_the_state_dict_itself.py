def train(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0):
    """The state_dict as it is, an OrderedDict."""
    net = DDP(model)
    sampler = DistributedSampler(dataset, world_size, rank, seed=seed, drop_last=True)
    loader = DataLoader(dataset, batch_size, sampler=sampler)
    optimizer = torch.optim.SGD(net.parameters(), lr)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for features, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(features), labels).backward()
            optimizer.step()
    return net.module.state_dict()
