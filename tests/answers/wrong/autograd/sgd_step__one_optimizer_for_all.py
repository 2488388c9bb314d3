# verdict: failed
# message: Nothing is remembered
_optimizer = None


def sgd_step(params: Sequence[Tensor], lr: float) -> None:
    global _optimizer
    if _optimizer is None:
        _optimizer = torch.optim.SGD(params, lr=lr)
    _optimizer.step()
