"""An optimizer, and helpers of training."""

from collections.abc import Callable, Iterable

import torch


class Momentum(torch.optim.Optimizer):
    def __init__(self, params, lr: float = 0.1, momentum: float = 0.9) -> None:
        if lr < 0:
            raise ValueError(f"a learning rate below 0: {lr}")
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    v = self.state[p].setdefault("v", torch.zeros_like(p))
                    v.mul_(group["momentum"]).add_(p.grad)
                    p.sub_(group["lr"] * v)


def clip(parameters: Iterable[torch.nn.Parameter], limit: float) -> None:
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.stack([g.norm() for g in grads]).norm()
    if norm > limit:
        for g in grads:
            g.mul_(limit / norm)


def bisect(f: Callable[[float], float], low: float, high: float) -> float:
    rises = f(high) > 0
    while high - low > 1e-3:
        middle = (low + high) / 2
        if (f(middle) > 0) == rises:
            high = middle
        else:
            low = middle
    return (low + high) / 2
