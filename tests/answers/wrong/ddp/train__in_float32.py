# verdict: failed
# message: dtype
def train(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0):
    net = wrap(model, torch.device("cpu"))
    loader = sharded_loader(dataset, batch_size, rank, world_size, seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for features, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(features.float()), labels).backward()
            optimizer.step()
    return {name: value.detach().cpu() for name, value in model.state_dict().items()}
