"""Recipes: named constructors of the tensors, models, losses and batches that a check hands to a submission.

They run in the student process through ``submission.there(recipe, ...)``; a check calls the very same recipe locally to
work out the expected values. The same arguments give the same bits. Must never hold an expected answer, use torch's
global generator, or import anything that the student process must not hold.
"""

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from itertools import pairwise
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset

from grader.border.situations import in_words as in_words
from grader.errors import suggest_names
from grader.testkit import models
from grader.testkit.models import CountedDropout as CountedDropout
from grader.testkit.models import seeded as seeded

FEATURES: Final = 4
"""Width of the input of every model that `model` makes."""
CLASSES: Final = 3
"""Number of logits of every model that `model` makes."""


# ---------------------------------------------------------------- tensors


def normal(shape: Sequence[int], seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(tuple(shape), generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def labels(count: int, classes: int = CLASSES, seed: int = 0) -> Tensor:
    """``count`` int64 class indices in ``[0, classes)``."""
    return torch.randint(0, classes, (count,), generator=torch.Generator().manual_seed(seed))


def batches(
    sizes: Sequence[int], features: int = FEATURES, classes: int = CLASSES, seed: int = 0
) -> list[tuple[Tensor, Tensor]]:
    """One ``(features (size, features), labels (size,))`` per size; no two rows are alike."""
    x, y = normal((sum(sizes), features), seed), labels(sum(sizes), classes, seed + 1)
    parts = zip(torch.split(x, [*sizes]), torch.split(y, [*sizes]), strict=True)
    return [(rows.clone(), classes_of_rows.clone()) for rows, classes_of_rows in parts]


# ---------------------------------------------------------------- models


def mlp(
    sizes: Sequence[int],
    seed: int = 0,
    *,
    bias: bool = True,
    batch_norm: bool = False,
    dropout: float = 0.0,
    device: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> nn.Sequential:
    """Linear layers of these sizes with ReLU between them, and BatchNorm and Dropout there if asked for.

    BatchNorm has running statistics as after some training, so that train and eval mode differ in every row.

    Args:
        device: the device to make it on; ``"meta"`` makes shapes without numbers.
    """
    layers: list[nn.Module] = []
    with seeded(seed), nullcontext() if device is None else torch.device(device):
        for index, (inputs, outputs) in enumerate(pairwise(sizes)):
            if index:
                if batch_norm:
                    layers.append(models.used_batch_norm(inputs, seed + index, dtype))
                layers.append(nn.ReLU())
                if dropout:
                    layers.append(nn.Dropout(dropout))
            layers.append(nn.Linear(inputs, outputs, bias=bias, dtype=dtype))
    return nn.Sequential(*layers)


_MODELS: Final[dict[str, Callable[[int], nn.Module]]] = {
    "linear": lambda seed: nn.Linear(FEATURES, CLASSES),
    "mlp": lambda seed: mlp((FEATURES, 6, 5, CLASSES), seed),
    "norm": lambda seed: mlp((FEATURES, 6, 5, CLASSES), seed, batch_norm=True),
    "dropout": lambda seed: mlp((FEATURES, 6, 5, CLASSES), seed, batch_norm=True, dropout=0.5),
    "counted": lambda seed: models.counted(mlp((FEATURES, 6, 5, CLASSES), seed, batch_norm=True, dropout=0.5)),
    "functional": lambda seed: models.FunctionalNet(FEATURES, CLASSES),
    "tied": lambda seed: models.TiedNet(FEATURES, CLASSES),
    "frozen": lambda seed: models.first_frozen(mlp((FEATURES, 5, CLASSES), seed)),
    "hooked": lambda seed: models.hooked(mlp((FEATURES, 5, CLASSES), seed)),
    "buffers": lambda seed: models.BufferedNet(FEATURES, CLASSES),
    "names": lambda seed: models.NamesNet(FEATURES, CLASSES),
    "empty": lambda seed: nn.Sequential(nn.Flatten(), nn.ReLU()),
}


@in_words(models.in_words)
def model(kind: str, seed: int = 0, flags: Mapping[str, bool] | None = None) -> nn.Module:
    """A small model, ``(n, FEATURES)`` to ``(n, CLASSES)`` (but "empty", which has no parameters and keeps the width).

    Args:
        kind: "linear"; "mlp"; "norm" (BatchNorm); "dropout" (BatchNorm and Dropout); "counted" (with masks by count);
            "functional" (BatchNorm, and a dropout without a module of its own); "tied" (a shared weight);
            "frozen" (the first layer is); "hooked" (a forward hook changes the output); "buffers" (see
            `models.BufferedNet`); "names" (see `models.NamesNet`); "empty".
        flags: training flags by module name (``""`` is the model itself alone); True for all others.
    """
    with seeded(seed):
        made = _MODELS[kind](seed)
    for name, module in made.named_modules():
        module.training = (flags or {}).get(name, True)
    return made


def with_stale_grads(made: nn.Module, seed: int = 0) -> nn.Module:
    """The same model, with a gradient left over in every trainable parameter."""
    for index, param in enumerate(made.parameters()):
        if param.requires_grad:
            param.grad = normal(param.shape, seed + index, param.dtype)
    return made


# ---------------------------------------------------------------- datasets, loaders and optimizers


class Rows(Dataset[Any]):
    """A dataset in memory of which nothing is known but ``len`` and ``[i]``.

    Args:
        rows: the items.
    """

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = list(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        return self._rows[operator.index(index)]  # no slice, no list of indices


_ITEMS: Final[dict[str, Callable[[int], Any]]] = {
    "pairs": lambda i: (torch.tensor([float(i), 0.5 - i]), torch.tensor(i)),
    "dicts": lambda i: {"x": torch.tensor([float(i)]), "name": torch.tensor(-i)},
    "numbers": lambda i: i,
}


def numbered(count: int, kind: str = "pairs") -> Rows:
    """A dataset whose items hold their index.

    Args:
        kind: "pairs" (features ``(2,)``, a label without dims); "dicts" (of tensors); "numbers".
    """
    return Rows([_ITEMS[kind](index) for index in range(count)])


def loader_in_words(
    count: int, batch_size: int, seed: int = 0, *, drop_last: bool = False, **_: Any
) -> dict[str, object]:
    """The situation of a loader, for kits that make one in another way."""
    is_short = bool(count % batch_size) and count > batch_size
    return {
        "with a last batch that is shorter": is_short and not drop_last,
        "with a short last batch that the loader leaves out": is_short and drop_last,
        "with a batch of one row": batch_size == 1 or (count % batch_size == 1 and not drop_last),
        "with a single batch": 0 < count <= batch_size,
        "with more than one batch": count > batch_size + batch_size * drop_last - drop_last,
    }


@in_words(loader_in_words)
def loader(
    count: int, batch_size: int, seed: int = 0, *, drop_last: bool = False, zeros: bool = False
) -> DataLoader[Any]:
    """A loader of ``[features (b, FEATURES), labels (b,)]`` in the order of its dataset.

    Args:
        drop_last: whether it leaves out a last batch that is short.
        zeros: whether all features are 0.
    """
    x = torch.zeros(count, FEATURES) if zeros else normal((count, FEATURES), seed)
    rows = Rows(list(zip(x, labels(count, CLASSES, seed + 1), strict=True)))
    return DataLoader(rows, batch_size, drop_last=drop_last, generator=torch.Generator().manual_seed(seed))


@in_words(lambda model, momentum=0.0, lr=0.1: {"with an optimizer with momentum": momentum > 0})
def optimizer(model: nn.Module, momentum: float = 0.0, lr: float = 0.1) -> Optimizer:
    """SGD over the model's parameters; with momentum it remembers earlier steps."""
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)


suggest_names(sys.modules[__name__])
