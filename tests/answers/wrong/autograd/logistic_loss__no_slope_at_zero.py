# verdict: failed
# message: wrong only at logits of exactly 0, where training begins: the gradients: wrong for w and b
import torch


def logistic_loss(x, y, w, b):
    z = x * w + b
    return (z.relu() - y * z + torch.log1p(torch.exp(-z.abs()))).mean()
