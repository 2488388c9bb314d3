# verdict: failed
# message: recording of gradients is still off after your call
import torch


def sgd_step(params, lr):
    torch.set_grad_enabled(False)
    for p in params:
        if p.grad is not None:
            p.grad.mul_(lr)
            p.sub_(p.grad)
