# verdict: failed
# message: Calling twice on the same loss
_known = {}


def gradients(loss: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    key = id(loss)
    if key not in _known:
        found = torch.autograd.grad(loss, params, allow_unused=True)
        _known[key] = loss, [torch.zeros_like(p) if g is None else g for p, g in zip(params, found)]
    return _known[key][1]
