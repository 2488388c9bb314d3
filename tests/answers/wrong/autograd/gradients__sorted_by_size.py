# verdict: failed
# message: in the order of the parameters


def gradients(loss: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    params = sorted(params, key=lambda p: p.numel())
    found = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(params, found)]
