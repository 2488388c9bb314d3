import contextlib
import copy

import torch
import torch.nn.functional as F
from torch.func import functional_call


def logistic_loss(x, y, w, b):
    return F.softplus(torch.where(y > 0.5, -1.0, 1.0) * torch.addcmul(b, x, w)).mean()


def gradients(loss, params):
    return list(torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True, materialize_grads=True))


def numerical_gradient(f, x, eps=1e-4):
    n = x.numel()
    steps = torch.eye(n, dtype=x.dtype).reshape(n, *x.shape) * eps
    found = [(f(x + step) - f(x - step)) / (2 * eps) for step in steps]
    return torch.stack(found).reshape(x.shape) if found else torch.zeros_like(x)


def sgd_step(params, lr):
    params = [p for p in params if p.grad is not None]
    if params:
        torch._foreach_add_([p.detach() for p in params], [p.grad for p in params], alpha=-lr)


def clear_gradients(params):
    for p in filter(lambda p: p.grad is not None, params):
        setattr(p, "grad", None)


@contextlib.contextmanager
def evaluating(model):
    with contextlib.ExitStack() as stack, torch.no_grad():
        for part in model.modules():
            stack.callback(setattr, part, "training", part.training)
        yield model.eval()


@torch.no_grad()
def predict_logits(model, x):
    return copy.deepcopy(model).eval()(x)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.pow(x, 3)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x.square() * grad_output


def accumulate_gradients(model, loss_fn, batches):
    params = [p for p in model.parameters() if p.requires_grad]
    total = sum(len(y) for _, y in batches)
    sums = [torch.zeros_like(p) for p in params]
    for x, y in batches:
        found = torch.autograd.grad(loss_fn(model(x), y), params, allow_unused=True)
        for s, g in zip(sums, found):
            if g is not None:
                s.add_(g, alpha=len(y) / total)
    for p, s in zip(params, sums):
        p.grad = s
