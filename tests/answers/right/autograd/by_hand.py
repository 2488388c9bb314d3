import torch


def logistic_loss(x, y, w, b):
    z = x * w + b
    return (torch.relu(z) - z * y + torch.log1p(torch.exp(-torch.abs(z)))).mean()


def gradients(loss, params):
    params = list(params)
    result = []
    for p in params:
        (g,) = torch.autograd.grad([loss], [p], retain_graph=True, allow_unused=True)
        result.append(g if g is not None else torch.zeros_like(p))
    return result


def numerical_gradient(f, x, eps=1e-4):
    work = x.detach().clone(memory_format=torch.contiguous_format)
    result = torch.empty_like(work)
    for i in range(work.numel()):
        saved = work.view(-1)[i].item()
        values = []
        for sign in (1, -1):
            work.view(-1)[i] = saved + sign * eps
            values.append(float(f(work)))
        work.view(-1)[i] = saved
        result.view(-1)[i] = (values[0] - values[1]) / (2 * eps)
    return result


def sgd_step(params, lr):
    for p in params:
        if p.grad is None:
            continue
        p.data.add_(p.grad, alpha=-lr)


def clear_gradients(params):
    for p in params:
        del p.grad


class evaluating:
    """Flags of what was in training mode; no recording by set_grad_enabled."""

    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.training = [m for m in self.model.modules() if m.training]
        self.recording = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        for m in self.training:
            m.training = False

    def __exit__(self, kind, error, trace):
        for m in self.training:
            m.training = True
        torch.set_grad_enabled(self.recording)
        return False


def predict_logits(model, x):
    training = [m for m in model.modules() if m.training]
    for m in training:
        m.training = False
    try:
        with torch.inference_mode():
            return model(x)
    finally:
        for m in training:
            m.training = True


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(square)
        return square * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0] * 3.0


def accumulate_gradients(model, loss_fn, batches):
    for p in model.parameters():
        p.grad = None
    n = 0
    for features, targets in batches:
        n += features.shape[0]
        (loss_fn(model(features), targets) * features.shape[0]).backward()
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= n
