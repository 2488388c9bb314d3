import math

import torch
from torch import nn


def pick_rate():
    return 10**-1


class WithHiddenLayer(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.w1 = nn.Parameter(torch.empty(2, hidden).uniform_(-math.sqrt(0.5), math.sqrt(0.5)))
        self.b1 = nn.Parameter(torch.empty(hidden).uniform_(-math.sqrt(0.5), math.sqrt(0.5)))
        self.w2 = nn.Parameter(torch.randn(hidden, 3) / math.sqrt(3 * hidden))
        self.b2 = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return (x @ self.w1 + self.b1).clamp(min=0) @ self.w2 + self.b2


def with_hidden_layer(hidden):
    return WithHiddenLayer(hidden)


def predict(model, points):
    classes = []
    for point in points:
        scores = model(point[None])[0].tolist()
        classes.append(max(range(len(scores)), key=scores.__getitem__))
    return torch.tensor(classes, dtype=torch.int64)
