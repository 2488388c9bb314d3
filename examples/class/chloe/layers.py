"""Week 9, every step of the formulas on a line of its own."""

import math

import torch


def layer_norm(x, weight, bias, eps=1e-5):
    width = x.shape[-1]
    mean = x.sum(dim=-1, keepdim=True) / width
    distance = x - mean
    variance = (distance * distance).sum(dim=-1, keepdim=True) / width
    deviation = torch.sqrt(variance + eps)
    normalized = distance / deviation
    return normalized * weight + bias


def embed(ids, table):
    flat_ids = ids.reshape(-1)
    flat_rows = table[flat_ids]
    shape = tuple(ids.shape) + (table.shape[1],)
    return flat_rows.reshape(shape)


def dropout(x, p, training, generator):
    if p < 0:
        raise ValueError("p is negative")
    if p >= 1:
        raise ValueError("p is 1 or more")
    if not training:
        return x
    if p == 0:
        return x
    drawn = torch.rand(x.shape, generator=generator)
    is_dropped = drawn < p
    larger = x / (1 - p)
    return torch.where(is_dropped, torch.zeros_like(x), larger)


def conv2d(x, weight, bias=None, stride=1, padding=0):
    outputs, channels, kernel_height, kernel_width = weight.shape
    padded = torch.nn.functional.pad(x, (padding, padding, padding, padding))
    windows = padded.unfold(2, kernel_height, stride)
    windows = windows.unfold(3, kernel_width, stride)
    images, _, rows, columns, _, _ = windows.shape
    windows = windows.permute(0, 2, 3, 1, 4, 5)
    matrix = windows.reshape(images * rows * columns, channels * kernel_height * kernel_width)
    weights = weight.reshape(outputs, channels * kernel_height * kernel_width)
    result = matrix @ weights.T
    if bias is not None:
        result = result + bias
    result = result.reshape(images, rows, columns, outputs)
    return result.permute(0, 3, 1, 2)


def attention(q, k, v, mask=None):
    width = q.shape[-1]
    scores = q @ k.transpose(-2, -1)
    scores = scores / math.sqrt(width)
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
        return weights @ v
    hidden = torch.logical_not(mask)
    scores = scores.masked_fill(hidden, -1e30)
    weights = torch.softmax(scores, dim=-1)
    weights = weights.masked_fill(hidden, 0.0)
    return weights @ v


class Adam:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.params = list(params)
        self.lr = lr
        self.beta_of_mean = betas[0]
        self.beta_of_square = betas[1]
        self.eps = eps
        self.mean_of_each = [torch.zeros_like(p) for p in self.params]
        self.square_of_each = [torch.zeros_like(p) for p in self.params]
        self.steps_of_each = [0 for _ in self.params]

    def step(self):
        for place, p in enumerate(self.params):
            gradient = p.grad
            if gradient is None:
                continue
            self.steps_of_each[place] = self.steps_of_each[place] + 1
            t = self.steps_of_each[place]
            mean = self.mean_of_each[place]
            square = self.square_of_each[place]
            mean = self.beta_of_mean * mean + (1 - self.beta_of_mean) * gradient
            square = self.beta_of_square * square + (1 - self.beta_of_square) * gradient * gradient
            self.mean_of_each[place] = mean
            self.square_of_each[place] = square
            corrected_mean = mean / (1 - self.beta_of_mean**t)
            corrected_square = square / (1 - self.beta_of_square**t)
            step = self.lr * corrected_mean / (torch.sqrt(corrected_square) + self.eps)
            with torch.no_grad():
                p.sub_(step)

    def zero_grad(self):
        for p in self.params:
            p.grad = None
