# verdict: failed
# message: compared with a run without a stop
def same_after_resume(
    make: Callable[[], tuple[nn.Module, Optimizer, LRScheduler]],
    data: Sequence[tuple[Tensor, Tensor]],
    path: str,
    stop: int,
    epochs: int,
) -> nn.Module:

    def train(count: int) -> None:
        for _ in range(count):
            for features, labels in data:
                optimizer.zero_grad()
                F.cross_entropy(model(features), labels).backward()
                optimizer.step()
            scheduler.step()

    model, optimizer, scheduler = make()
    train(stop)
    parts = {"model": model, "optimizer": optimizer}
    torch.save({name: part.state_dict() for name, part in parts.items()}, path)

    model, optimizer, scheduler = make()
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.last_epoch = stop
    train(epochs - stop)
    return model
