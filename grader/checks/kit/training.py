"""Tools for the checks of training: a published training run, shuffled data, models that show how they run.

Runs in the student process, and locally when a check works out the expected value. Must never hold an expected answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Sampler

from grader.testkit import probes, recipes

_is_recording = torch.is_grad_enabled


class _Orders(Sampler[int]):
    """Gives one recorded order per epoch, from the first again after the last."""

    def __init__(self, orders: Sequence[Sequence[int]]) -> None:
        self._orders = orders
        self._epoch = 0

    def __iter__(self) -> Iterator[int]:
        self._epoch += 1
        return iter(self._orders[(self._epoch - 1) % len(self._orders)])

    def __len__(self) -> int:
        return len(self._orders[0])


def appendix_a() -> tuple[nn.Module, DataLoader[Any]]:
    """The network, first weights and shuffled batches of the toy training run in Raschka's appendix A (3 epochs)."""
    x = torch.tensor([[-1.2, 3.1], [-0.9, 2.9], [-0.5, 2.6], [2.3, -1.1], [2.7, -1.5]])
    rows = recipes.Rows(list(zip(x, torch.tensor([0, 0, 0, 1, 1]), strict=True)))
    with recipes.seeded(123):
        net = nn.Sequential(nn.Linear(2, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 2))
        shuffled = DataLoader(recipes.numbered(5, "numbers"), batch_size=5, shuffle=True)
        orders = [next(iter(shuffled)).tolist() for _ in range(3)]
    generator = torch.Generator().manual_seed(0)
    return net, DataLoader(rows, batch_size=2, sampler=_Orders(orders), drop_last=True, generator=generator)


class _Reshuffled(Sampler[int]):
    """A new random order in each epoch, whatever other code draws; the same orders for the same seed."""

    def __init__(self, count: int, seed: int) -> None:
        self._count = count
        self._generator = torch.Generator().manual_seed(seed)

    def __iter__(self) -> Iterator[int]:
        return iter(torch.randperm(self._count, generator=self._generator).tolist())

    def __len__(self) -> int:
        return self._count


@recipes.in_words(recipes.loader_in_words)
def shuffled(
    count: int, batch_size: int, seed: int = 0, *, drop_last: bool = False, scale: float = 1.0
) -> DataLoader[Any]:
    """A loader of ``[features (b, FEATURES), labels (b,)]`` whose rows come in another order in each epoch.

    Args:
        drop_last: whether it leaves out a last batch that is short.
        scale: the factor of the features, to make gradients large.
    """
    x = scale * recipes.normal((count, recipes.FEATURES), seed)
    rows = recipes.Rows(list(zip(x, recipes.labels(count, recipes.CLASSES, seed + 1), strict=True)))
    order = _Reshuffled(count, seed)
    return DataLoader(rows, batch_size, sampler=order, drop_last=drop_last, generator=torch.Generator())


class _ModeDependent(nn.Module):
    """Adds one vector in training mode, and another one while gradients are recorded: its output says how it ran."""

    def __init__(self, width: int, seed: int) -> None:
        super().__init__()
        self.in_training, self.recording = 5 * recipes.normal((2, width), seed)

    def forward(self, x: Tensor) -> Tensor:
        """``x``, plus the number to be added."""
        if self.training:
            x = x + self.in_training
        return x + self.recording if x.requires_grad else x


class _ModeDependentNet(_ModeDependent):
    """A net that shows how it ran, with a submodule that does as well."""

    def __init__(self, seed: int) -> None:
        super().__init__(recipes.CLASSES, seed)
        self.first = nn.Linear(recipes.FEATURES, 5)
        self.inner = _ModeDependent(5, seed + 1)
        self.last = nn.Linear(5, recipes.CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return super().forward(self.last(self.inner(self.first(x))))


def _reverse(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
    return output.flip(1)


@recipes.in_words(lambda seed, flags=None: {"with a part of the model in eval mode": flags})
def mode_dependent_model(seed: int, flags: Mapping[str, bool] | None = None) -> nn.Module:
    """A model of ``(n, FEATURES)`` whose logits say in which mode it ran, whether gradients were recorded, and whether
    its hook ran.

    Args:
        flags: training flags by module name (``""``, ``first``, ``inner``, ``last``), True for all others.
    """
    with recipes.seeded(seed):
        made = _ModeDependentNet(seed)
    made.register_forward_hook(_reverse)
    for name, module in made.named_modules():
        module.training = (flags or {}).get(name, True)
    return made


class _IdleNet(nn.Module):
    """A net with parameters that the loss does not depend on: one has gradients of zero, the other has none."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(recipes.FEATURES, recipes.CLASSES)
        self.idle = nn.Parameter(1000 * torch.randn(3))
        self.unused = nn.Parameter(1000 * torch.randn(2))

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.head(x) + 0 * self.idle  # type: ignore[no-any-return]


@recipes.in_words(lambda seed=0: {"with a weight on which the loss does not depend": True})
def with_idle_parameters(seed: int = 0) -> nn.Module:
    """A linear model, and parameters that gradient descent leaves as they are, however large they are."""
    with recipes.seeded(seed):
        return _IdleNet()


class _SequenceNet(nn.Module):
    """Logits of ``(n, steps, FEATURES)``: of each step, and their mean."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.step = recipes.mlp((recipes.FEATURES, 5, recipes.CLASSES), seed)

    def forward(self, x: Tensor) -> Tensor:
        """Logits ``(n, CLASSES)``."""
        return self.step(x).mean(dim=1)  # type: ignore[no-any-return]


@recipes.in_words(lambda seed=0: {"for features of three dims": True})
def of_sequences(seed: int = 0) -> nn.Module:
    """A model whose input has three dimensions."""
    return _SequenceNet(seed)


@recipes.in_words(lambda model: {"with an optimizer with several groups": True})
def grouped_sgd(model: nn.Module) -> Optimizer:
    """SGD with momentum, and for each parameter a group with a rate of its own."""
    groups = [{"params": [param], "lr": 0.3 / (1 + i)} for i, param in enumerate(model.parameters())]
    return torch.optim.SGD(groups, lr=0.1, momentum=0.5)


@recipes.in_words(lambda seed=0: {"with epochs of equal validation loss": True})
def unbiased(seed: int = 0) -> nn.Module:
    """Linear layers without biases: zeros give logits of 0, whatever the weights are."""
    return recipes.mlp((recipes.FEATURES, 5, recipes.CLASSES), seed, bias=False)


def clipped_steps(
    step: Callable[..., Any],
    model: nn.Module,
    optimizer: Optimizer,
    batches: Sequence[tuple[Tensor, Tensor]],
    max_norm: float,
    scale: float = 1.0,
) -> list[Any]:
    """The results of ``step(model, loss, optimizer, max_norm)`` for each batch, gradients cleared before each.

    Args:
        scale: the factor of the mean cross-entropy, to make gradients large or small.
    """
    found = []
    for features, targets in batches:
        model.zero_grad()
        found.append(step(model, scale * F.cross_entropy(model(features), targets), optimizer, max_norm))
    return found


def grad_enabled() -> bool:
    """Whether gradients are being recorded at this moment."""
    return _is_recording()


def with_data(experiment: Callable[..., Any], data: Mapping[str, Any], *args: Any) -> Any:
    """The result of ``experiment(*args)`` while the lists of the student's module hold these data."""
    module = vars(sys.modules["training"])
    at_first = {name: module.get(name) for name in data}
    module.update(data)
    try:
        return experiment(*args)
    finally:
        module.update(at_first)


# ---------------------------------------------------------------- weights and groups of parameters


def generator(seed: int) -> torch.Generator:
    """A generator of that seed."""
    return torch.Generator().manual_seed(seed)


def linear_layers(sizes: Sequence[int], bias: bool, seed: int) -> nn.Module:
    """Linear layers of these sizes, with ReLU between them."""
    return recipes.mlp(sizes, seed, bias=bias)


def many_layers(seed: int) -> nn.Module:
    """Layers of many kinds, linear ones at several depths, and a parameter without dims."""
    with recipes.seeded(seed):
        made = nn.ModuleDict(
            {
                "embedding": nn.Embedding(5, 4),
                "block": nn.Sequential(nn.Linear(4, 3, bias=False), nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 5))),
                "conv": nn.Conv1d(2, 3, 2),
                "image": nn.Conv2d(1, 2, 2),
                "bilinear": nn.Bilinear(2, 3, 2),
                "norm": nn.BatchNorm1d(4),
                "last": nn.Linear(5, 2),
            }
        )
        made.register_parameter("scale", nn.Parameter(torch.randn(())))
    return made


def kept_parameters(init_weights: Callable[..., Any], model: nn.Module, generator: torch.Generator) -> bool:
    """Whether the parameters are the same leaves after a call, all of them trainable and without a gradient."""
    before = list(probes.parameters(model).values())
    init_weights(model, generator)
    after = list(map(probes.exact, probes.parameters(model).values()))
    return len(before) == len(after) and all(
        one is other and one.is_leaf and one.requires_grad and one.grad is None
        for one, other in zip(after, before, strict=True)
    )


def groups(parameter_groups: Callable[..., Any], model: nn.Module, weight_decay: float) -> list[list[Any]]:
    """For each group of an optimizer that was made from ``parameter_groups(model, weight_decay)``: its weight_decay,
    the names of its parameters, sorted, and its learning rate; "?" for a parameter that is not the model's; "no list"
    for the decay if they are in none. The optimizer's own learning rate is 0.5."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    made = parameter_groups(model, weight_decay)
    if not all(isinstance(group["params"], (list, tuple)) for group in made):
        return [["no list", [], 0.5] for group in made]
    optimizer = torch.optim.SGD(made, lr=0.5, weight_decay=777.0)
    return [
        [float(group["weight_decay"]), sorted(names.get(id(one), "?") for one in group["params"]), group["lr"]]
        for group in optimizer.param_groups
    ]
