# verdict: failed
# message: requires_grad


def accumulate_gradients(
    model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence[tuple[Tensor, Tensor]]
) -> None:
    model.requires_grad_(True)
    model.zero_grad()
    total = sum(len(features) for features, _ in batches)
    for features, targets in batches:
        (loss_fn(model(features), targets) * len(features) / total).backward()
