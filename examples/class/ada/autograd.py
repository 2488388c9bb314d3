from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn


def logistic_loss(x, y, w, b):
    return F.binary_cross_entropy_with_logits(w * x + b, y)


def gradients(loss, params):
    return list(torch.autograd.grad(loss, params, retain_graph=True, materialize_grads=True))


def numerical_gradient(f, x, eps=1e-4):
    grad = torch.empty(x.shape, dtype=x.dtype)
    for i, step in enumerate(eps * torch.eye(x.numel(), dtype=x.dtype)):
        step = step.reshape(x.shape)
        grad.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * eps)
    return grad


@torch.no_grad()
def sgd_step(params, lr):
    for p in params:
        if p.grad is not None:
            p.sub_(lr * p.grad)


def clear_gradients(params):
    for p in params:
        p.grad = None


@contextmanager
def evaluating(model):
    training = [m for m in model.modules() if m.training]
    model.eval()
    try:
        with torch.no_grad():
            yield model
    finally:
        for m in training:
            m.training = True


def predict_logits(model, x):
    with evaluating(model):
        return model(x)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output


def accumulate_gradients(model, loss_fn, batches):
    model.zero_grad()
    n = sum(len(x) for x, _ in batches)
    for x, y in batches:
        loss = loss_fn(model(x), y) * len(x) / n
        loss.backward()
