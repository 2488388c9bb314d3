import torch
from torch import nn


def pick_rate():
    return 0.1 + 0.1


class _Hidden(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.inside = nn.Linear(2, hidden)
        self.outside = nn.Linear(hidden, 3)

    def forward(self, points):
        return self.outside(torch.tanh(self.inside(points)))


def with_hidden_layer(hidden):
    return _Hidden(hidden)


def predict(model, points):
    with torch.no_grad():
        scores = model(points)
    return torch.tensor([row.index(max(row)) for row in scores.tolist()], dtype=torch.long)
