def train(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0):
    net = wrap(model, torch.device("cpu"))
    loader = sharded_loader(dataset, batch_size, rank, world_size, seed)
    optimizer = torch.optim.SGD(model.parameters(), lr)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for features, labels in loader:
            optimizer.zero_grad(set_to_none=False)
            nn.CrossEntropyLoss()(net(features), labels).backward()
            optimizer.step()
    return {name.removeprefix("module."): value.cpu() for name, value in net.state_dict().items()}
