import torch
from torch import nn


def logistic_loss(x, y, w, b):
    losses = []
    for xi, yi in zip(x, y):
        z = w * xi + b
        losses.append(-yi * nn.functional.logsigmoid(z) - (1 - yi) * nn.functional.logsigmoid(-z))
    return torch.cat(losses).mean()


def gradients(loss, params):
    out = []
    for p in params:
        (g,) = torch.autograd.grad(loss, [p], retain_graph=True, allow_unused=True)
        if g is None:
            g = torch.zeros_like(p)
        out.append(g)
    return out


def numerical_gradient(f, x, eps=1e-4):
    values = x.flatten().tolist()

    def at(numbers):
        return f(torch.tensor(numbers, dtype=torch.float64).reshape(x.shape)).item()

    slopes = []
    for i, value in enumerate(values):
        up = values[:i] + [value + eps] + values[i + 1 :]
        down = values[:i] + [value - eps] + values[i + 1 :]
        slopes.append((at(up) - at(down)) / (2 * eps))
    return torch.tensor(slopes, dtype=torch.float64).reshape(x.shape)


def sgd_step(params, lr):
    for p in params:
        if p.grad is None:
            continue
        p.data.add_(p.grad, alpha=-lr)


def clear_gradients(params):
    for i in range(len(params)):
        params[i].grad = None


class evaluating:
    def __init__(self, model):
        self.model = model
        self.flags = {}
        self.mode = torch.inference_mode()

    def __enter__(self):
        for name, module in self.model.named_modules():
            self.flags[name] = module.training
        self.model.eval()
        self.mode.__enter__()

    def __exit__(self, *error):
        self.mode.__exit__(*error)
        for name, module in self.model.named_modules():
            module.training = self.flags[name]


def predict_logits(model, x):
    flags = {}
    for name, module in model.named_modules():
        flags[name] = module.training
    model.eval()
    try:
        with torch.inference_mode():
            y = model(x)
    finally:
        for name, module in model.named_modules():
            module.training = flags[name]
    return y.clone()


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x * x

    @staticmethod
    def backward(ctx, grad_output):
        return torch.mul(grad_output, 3.0 * ctx.x * ctx.x)


def accumulate_gradients(model, loss_fn, batches):
    for p in model.parameters():
        p.grad = None
    count = 0
    for features, targets in batches:
        (loss_fn(model(features), targets) * len(features)).backward()
        count += len(features)
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= count
