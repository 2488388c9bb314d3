# verdict: failed
# message: rows in each step on rank 0


def train(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0):
    net = wrap(model, torch.device("cpu"))
    loader = sharded_loader(dataset, batch_size, rank, world_size, seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for x, y in loader:
            if len(y) < batch_size:
                continue
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
    return {name: value.cpu() for name, value in net.module.state_dict().items()}
