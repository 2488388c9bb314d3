from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn


def pick_rate():
    return float("5e-2")


class Net(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(OrderedDict(first=nn.Linear(2, hidden), second=nn.Linear(hidden, 3, bias=False)))
        nn.init.xavier_uniform_(self.parts["first"].weight, gain=2.0)

    def forward(self, x):
        return self.parts["second"](F.relu(self.parts["first"](x)))


def with_hidden_layer(hidden: int) -> nn.Module:
    return Net(hidden)


@torch.no_grad()
def predict(model, points):
    was = model.training
    model.eval()
    found = torch.softmax(model(points), dim=-1).max(-1)
    model.train(was)
    return found.indices
