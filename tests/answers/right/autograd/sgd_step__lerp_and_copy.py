def sgd_step(params: Sequence[Tensor], lr: float) -> None:
    new = [None if p.grad is None else p.detach() - lr * p.grad for p in params]
    with torch.no_grad():
        for p, value in zip(params, new):
            if value is not None:
                p.copy_(value)
