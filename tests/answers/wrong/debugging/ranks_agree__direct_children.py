# verdict: failed
# message: compared with those of rank 0
# misconception: own_weights_at_the_start
# tell: a loop over model.children()
def ranks_agree(rank, world_size, model, dataset, epochs, lr):
    for part in [model, *model.children()]:
        for parameter in part.parameters(recurse=False):
            dist.broadcast(parameter.data, src=0)
    own = [dataset[i] for i in range(rank, len(dataset), world_size)]
    features = torch.stack([x for x, _ in own])
    labels = torch.stack([y for _, y in own])
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        optimizer.zero_grad()
        F.cross_entropy(model(features), labels).backward()
        for parameter in model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= world_size
        optimizer.step()
