# verdict: failed
# message: your call leaves a tensor in the `.grad` of a leaf that is not among `params`, where None was before
# message: a `.grad` from before your call is gone: it is None afterwards
import torch


def gradients(loss, params):
    for p in params:
        p.grad = None
    loss.backward(retain_graph=True)
    found = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in params]
    for p in params:
        p.grad = None
    return found
