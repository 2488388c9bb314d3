# verdict: failed
# message: compared with those of rank 0 | compared with one process


def ranks_agree(rank, world_size, model, dataset, epochs, lr):
    for weight in model.state_dict().values():
        dist.broadcast(weight, src=0)
    own = [dataset[i] for i in range(rank, len(dataset), world_size)]
    features, labels = torch.stack([x for x, _ in own]), torch.stack([y for _, y in own])
    for _ in range(epochs):
        model.zero_grad()
        F.cross_entropy(model(features), labels).backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= lr * p.grad
