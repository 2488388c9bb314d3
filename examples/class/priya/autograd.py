import torch
import torch.nn.functional as F
from torch import nn


def logistic_loss(x, y, w, b):
    p = torch.sigmoid(x * w + b)
    return F.binary_cross_entropy_with_logits(p, y)


def gradients(loss, params):
    return list(torch.autograd.grad(loss, params, retain_graph=True, materialize_grads=True))


def numerical_gradient(f, x, eps=1e-4):
    g = torch.zeros(x.shape, dtype=x.dtype)
    for i in range(x.numel()):
        e = torch.zeros(x.numel(), dtype=x.dtype)
        e[i] = eps
        g.view(-1)[i] = (f(x + e.view(x.shape)) - f(x)) / eps
    return g


def sgd_step(params, lr):
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad


def clear_gradients(params):
    for p in params:
        p.grad = None


def predict_logits(model, x):
    training = [m for m in model.modules() if m.training]
    model.eval()
    try:
        with torch.no_grad():
            logits = model(x)
    finally:
        for m in training:
            m.training = True
    return logits


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2


def accumulate_gradients(model, loss_fn, batches):
    model.zero_grad()
    for x, y in batches:
        (loss_fn(model(x), y) / len(batches)).backward()
