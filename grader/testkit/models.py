"""The module classes behind `grader.testkit.recipes.model`: small nets with the traps that real models have.

Must never hold an expected answer, or import anything but torch and the standard library.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_IN_WORDS: Final = {
    "linear": "with a single linear layer",
    "norm": "with a model with BatchNorm",
    "dropout": "with a model with Dropout and BatchNorm",
    "counted": "with a model with Dropout and BatchNorm",
    "functional": "with a model that asks for its own training flag",
    "tied": "with layers that share a weight",
    "frozen": "with a frozen layer",
    "hooked": "with a model that has a forward hook",
    "buffers": "with buffers and parameters of several dtypes",
    "names": "with modules whose names begin alike",
    "empty": "with a model without parameters",
}


def in_words(kind: str, seed: int = 0, flags: Mapping[str, bool] | None = None) -> dict[str, object]:
    """The situation of a model of `grader.testkit.recipes.model`."""
    flags = flags or {}
    return {
        "with a model that is in eval mode": len(flags) > 1 and not any(flags.values()),
        "with a part of the model in eval mode": len(flags) == 1 and not any(flags.values()),
        _IN_WORDS.get(kind, ""): kind in _IN_WORDS,
        "with a model in which training and evaluation differ": kind in ("norm", "dropout", "counted", "functional"),
        "with Dropout": kind in ("dropout", "counted", "functional"),
    }


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """First weights come from this seed, and torch's global CPU generator does not move."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


class TiedNet(nn.Module):
    """Two layers that share one weight matrix (the very same Parameter), each with a bias of its own."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(features, features)
        self.second = nn.Linear(features, features)
        self.second.weight = self.first.weight
        self.head = nn.Linear(features, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.head(self.second(self.first(x).tanh()).tanh())  # type: ignore[no-any-return]


class FunctionalNet(nn.Module):
    """A net that looks at its own training flag, beside a submodule that has one too."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(features, 6)
        self.norm = used_batch_norm(6, 1, torch.float32)
        self.second = nn.Linear(6, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        x = F.dropout(self.norm(self.first(x)).relu(), 0.5, self.training)
        return self.second(x)  # type: ignore[no-any-return]


class BufferedNet(nn.Module):
    """Parameters and buffers of many kinds: of several dtypes, 0-d, bare, shared, not in the state_dict."""

    mask: Tensor

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, features))
        self.zoom = nn.Parameter(torch.randn(()))
        self.short = nn.Parameter(torch.randn(5).half())
        self.extra = nn.ParameterList([nn.Parameter(torch.randn(2, 3, dtype=torch.float64))])
        self.norm = nn.BatchNorm1d(features)
        self.inner = nn.Module()
        self.register_buffer("mask", torch.ones(7, dtype=torch.bool))
        self.inner.register_buffer("mask", self.mask)
        self.register_buffer("cache", torch.zeros(11), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.zoom * F.linear(self.norm(x), self.weight)


class NamesNet(nn.Module):
    """Modules whose dotted names begin with, contain, or nearly are, one another's."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, features)
        self.header = nn.Linear(features, features, bias=False)
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(11))
        self.block = nn.ModuleDict({"head": nn.Linear(features, 2), "norm": nn.LayerNorm(2)})
        self.head_scale = nn.Parameter(torch.ones(2))
        self.out = nn.Linear(2, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        x = self.header(self.head(x))
        for layer in self.layers:
            x = layer(x).relu()
        return self.out(self.head_scale * self.block["norm"](self.block["head"](x)))  # type: ignore[no-any-return]


def used_batch_norm(width: int, seed: int, dtype: torch.dtype) -> nn.BatchNorm1d:
    """A BatchNorm as after some training: its numbers are not the trivial ones that it begins with."""
    layer = nn.BatchNorm1d(width, dtype=dtype)
    if layer.weight.is_meta:
        return layer
    with seeded(seed):
        weight, bias, mean, variance, _ = layer.state_dict().values()
        for tensor in (weight, bias, mean, variance):
            tensor.normal_()
        for positive in (weight, variance):
            positive.abs_().add_(0.5)
    return layer


class CountedDropout(nn.Module):
    """Dropout of one half whose masks follow from how often it was called in training: no global random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        """Half of the numbers doubled, the others 0; in eval mode x as it is."""
        if not self.training:
            return x
        self.calls += 1
        kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(self.calls)) < 0.5
        return 2 * x * kept.to(x.device)


def counted(net: nn.Sequential) -> nn.Sequential:
    """The same net, with `CountedDropout` in place of each Dropout."""
    for name, module in net.named_children():
        if isinstance(module, nn.Dropout):
            setattr(net, name, CountedDropout())
    return net


def first_frozen(net: nn.Sequential) -> nn.Sequential:
    """The same net, its first layer frozen."""
    net[0].requires_grad_(False)
    return net


def hooked(net: nn.Sequential) -> nn.Sequential:
    """The same net, with a forward hook that changes its output."""
    net.register_forward_hook(_double_and_add)
    return net


def _double_and_add(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
    return 2 * output + 1
