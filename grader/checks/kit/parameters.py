"""What the checks of parameters need: functions that use torch's global generator, models without numbers, layers.

Runs in the student process, and locally where a check works out what to expect. Must never hold an expected answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from grader.testkit import recipes


def build_linear() -> nn.Module:
    """A Linear whose numbers come from torch's global generator (use under a seed)."""
    return nn.Linear(recipes.FEATURES, recipes.CLASSES)


def build_mlp() -> nn.Module:
    """Two Linear layers from torch's global generator (use under a seed)."""
    return nn.Sequential(nn.Linear(recipes.FEATURES, 5), nn.ReLU(), nn.Linear(5, recipes.CLASSES))


def draw_numbers() -> Tensor:
    """Five numbers, the next ones of torch's global generator (use under a seed)."""
    return torch.randn(5)


def on_meta(kind: str) -> nn.Module:
    """The model of that kind on the meta device: shapes and sharing, but no numbers."""
    with torch.device("meta"):
        return recipes.model(kind)


def layer_kinds(layers: Sequence[nn.Module]) -> list[str]:
    """For each layer ``"Linear(4, 3)"`` (``"Linear(4, 3, no bias)"``), or its class name."""
    return [
        f"Linear({layer.in_features}, {layer.out_features}{'' if layer.bias is not None else ', no bias'})"
        if isinstance(layer, nn.Linear)
        else next((base.__name__ for base in type(layer).__mro__ if base.__module__.startswith("torch.nn.")), "other")
        for layer in layers
    ]
