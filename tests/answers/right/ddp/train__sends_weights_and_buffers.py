def train(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0):
    """Weights and buffers of rank 0 are sent by hand, gradients are summed by hooks; the state is a deep copy."""
    import copy

    for tensor in [*model.parameters(), *model.buffers()]:
        dist.broadcast(tensor.data, src=0)
    model.train()
    loader = sharded_loader(dataset, batch_size, rank, world_size, seed)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for features, labels in loader:
            model.zero_grad(set_to_none=True)
            F.nll_loss(model(features).log_softmax(1), labels).backward()
            for p in model.parameters():
                dist.all_reduce(p.grad)
                p.data.add_(p.grad, alpha=-lr / world_size)
    return copy.deepcopy(model).cpu().state_dict()
