from contextlib import contextmanager

import torch
from torch import nn


def logistic_loss(x, y, w, b):
    return nn.BCEWithLogitsLoss()(w * x + b, y)


def gradients(loss, params):
    """By backward, with every .grad of the graph kept beside and put back."""
    leaves, seen, todo = list(params), set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        todo += [following for following, _ in node.next_functions]
    kept = [(leaf, leaf.grad) for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    loss.backward(retain_graph=True)
    found = [p.new_zeros(p.shape) if p.grad is None else p.grad for p in params]
    for leaf, grad in kept:
        leaf.grad = grad
    return found


def numerical_gradient(f, x, eps=1e-4):
    import numpy as np

    array = x.detach().numpy().copy()
    result = np.zeros_like(array)
    for index in np.ndindex(*array.shape):
        up, down = array.copy(), array.copy()
        up[index] += eps
        down[index] -= eps
        result[index] = (f(torch.tensor(up)).item() - f(torch.tensor(down)).item()) / (2 * eps)
    return torch.tensor(result)


def sgd_step(params, lr):
    torch.optim.SGD(params, lr=lr).step()


def clear_gradients(params):
    torch.optim.SGD(params, lr=0.1).zero_grad(set_to_none=True)


@contextmanager
def evaluating(model):
    flags = {name: part.training for name, part in model.named_modules()}
    try:
        with torch.no_grad():
            yield model.eval()
    finally:
        for name, part in model.named_modules():
            part.training = flags[name]


def predict_logits(model, x):
    with evaluating(model):
        return model(x).detach()


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.detach().clone()
        return torch.einsum("...,...,...->...", x, x, x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        return 3 * ctx.x.pow(2).mul(grad_output)


def accumulate_gradients(model, loss_fn, batches):
    model.zero_grad(set_to_none=False)
    sizes = [len(features) for features, _ in batches]
    for size, (features, targets) in zip(sizes, batches):
        loss = size * loss_fn(model(features), targets) / sum(sizes)
        loss.backward(retain_graph=False)
