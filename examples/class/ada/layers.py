import math

import torch


def layer_norm(x, weight, bias, eps=1e-5):
    mean = x.sum(-1) / x.shape[-1]
    variance = ((x - mean.unsqueeze(-1)) ** 2).sum(-1) / x.shape[-1]
    return torch.addcmul(bias, (x - mean.unsqueeze(-1)) * (variance + eps).rsqrt().unsqueeze(-1), weight)


def embed(ids, table):
    return table.index_select(0, ids.reshape(-1)).reshape(*ids.shape, table.shape[1])


def dropout(x, p, training, generator):
    if p < 0 or p >= 1:
        raise ValueError("p")
    if not (training and p):
        return x
    stays = torch.empty_like(x).bernoulli_(1 - p, generator=generator)
    return x * (stays / (1 - p))


def conv2d(x, weight, bias=None, stride=1, padding=0):
    """By strided windows and einsum."""
    x = torch.nn.functional.pad(x, (padding,) * 4)
    windows = x.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    found = torch.einsum("ncijrs,ocrs->noij", windows, weight)
    return found if bias is None else found + bias.view(1, -1, 1, 1)


def attention(q, k, v, mask=None):
    """Softmax by hand over what is seen."""
    scores = torch.einsum("...id,...jd->...ij", q / math.sqrt(q.size(-1)), k)
    if mask is None:
        mask = scores.new_ones(()).bool()
    low = torch.where(mask, scores, torch.tensor(-1e30, dtype=scores.dtype))
    top = low.amax(-1, keepdim=True).detach()
    weights = torch.where(mask, (low - top).exp(), torch.zeros_like(scores))
    return torch.einsum("...ij,...jd->...id", weights / weights.sum(-1, keepdim=True).clamp(min=1e-30), v)


class Adam:
    """State in a dict by parameter, changed in place."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.params, self.lr, self.betas, self.eps, self.state = params, lr, betas, eps, {}

    @torch.no_grad()
    def step(self):
        b1, b2 = self.betas
        for p in self.params:
            if p.grad is None:
                continue
            s = self.state.setdefault(p, {"t": 0, "m": torch.zeros_like(p), "v": torch.zeros_like(p)})
            s["t"] += 1
            s["m"].mul_(b1).add_(p.grad, alpha=1 - b1)
            s["v"].mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
            size = self.lr * math.sqrt(1 - b2 ** s["t"]) / (1 - b1 ** s["t"])
            p.addcdiv_(s["m"], s["v"].sqrt() + self.eps * math.sqrt(1 - b2 ** s["t"]), value=-size)

    def zero_grad(self, set_to_none=False):
        for p in self.params:
            if p.grad is not None:
                p.grad = torch.zeros_like(p)
