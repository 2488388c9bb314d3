# verdict: failed
# message: with a stop after 5


def same_after_resume(make, data, path, stop, epochs):
    def train(count):
        for _ in range(count):
            for features, labels in data:
                optimizer.zero_grad()
                F.cross_entropy(model(features), labels).backward()
                optimizer.step()
            scheduler.step()

    model, optimizer, scheduler = make()
    train(stop)
    torch.save([part.state_dict() for part in (model, optimizer, scheduler)], path)
    model, optimizer, scheduler = make()
    for part, state in zip((model, optimizer, scheduler), torch.load(path), strict=True):
        part.load_state_dict(state)
    train(max(epochs - stop, 1))
    return model
