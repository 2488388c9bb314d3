"""Recipes and probes for ranks: datasets, models and looks that a check uses through `grader.testkit.ranks`.

Recipes (`rows`, `watched`) may be called locally by a check too. Must never hold an expected answer, decide anything,
or import anything but torch and the standard library.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from grader.testkit import probes, ranks, recipes

SCALE: Final = 64.0
"""The first feature of row i of `rows` is i / SCALE: exact in float32."""

# ---------------------------------------------------------------- data


def rows(count: int, seed: int = 0, start: int = 0) -> TensorDataset:
    """``count`` pairs ``(features (FEATURES,), label)``; the first feature holds the row's number."""
    features = recipes.normal((count, recipes.FEATURES), seed)
    features[:, 0] = torch.arange(start, start + count) / SCALE
    return TensorDataset(features, recipes.labels(count, recipes.CLASSES, seed + 1))


def loader(count: int, batch_size: int, seed: int = 0, start: int = 0) -> DataLoader[Any]:
    """`rows` in batches, in order."""
    return DataLoader(rows(count, seed, start), batch_size=batch_size)


def numbers(features: Tensor) -> list[int]:
    """Which rows of `rows` these features ``(n, FEATURES)`` are."""
    return [round(value * SCALE) for value in features[:, 0].tolist()]


def dealt(loader: Any, epochs: Sequence[int]) -> list[list[list[int]]]:
    """For each epoch, after ``loader.sampler.set_epoch``: the row numbers of each batch."""
    found = []
    for epoch in epochs:
        loader.sampler.set_epoch(epoch)
        found.append([numbers(features) for features, _ in loader])
    return found


# ---------------------------------------------------------------- models

_trained_on: list[list[int]] = []
"""The rows of each batch that `Watched` models were trained on in this process; every rank is a process of its own."""


class Watched(nn.Module):
    """A net that notes which rows of `rows` it is trained on, batch by batch."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, features: Tensor) -> Tensor:
        """Logits."""
        if torch.is_grad_enabled() and ranks.is_rank():
            _trained_on.append(numbers(features.detach()))
        return self.net(features)  # type: ignore[no-any-return]


def watched(kind: str, seed: int = 0) -> Watched:
    """A `Watched` model of that kind of `recipes.model`."""
    return Watched(recipes.model(kind, seed))


class Scorer(nn.Module):
    """Predicts class 0 for the rows of `rows` whose number is in ``right``, if that is their label, and so on: exactly
    these rows are predicted right."""

    def __init__(self, labels: Sequence[int], right: Sequence[int]) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self._choice = [
            label if row in set(right) else (label + 1) % recipes.CLASSES for row, label in enumerate(labels)
        ]

    def forward(self, features: Tensor) -> Tensor:
        """Logits."""
        choice = torch.tensor([self._choice[row] for row in numbers(features.detach())], dtype=torch.int64)
        return self.scale * nn.functional.one_hot(choice, recipes.CLASSES).to(features.dtype)


def scorer(labels: Sequence[int], right: Sequence[int]) -> Scorer:
    """A `Scorer`."""
    return Scorer(labels, right)


def with_grads(kind: str, rank: int) -> nn.Module:
    """The same model on all ranks, with gradients that differ from rank to rank; frozen parameters have none."""
    return recipes.with_stale_grads(recipes.model(kind), 100 * rank + 1)


class LateToSave(nn.Module):
    """A net whose ``state_dict()`` waits on rank 0 until another rank has finished, or for a moment.

    A rank that does not wait for rank 0 is then sure to look before the file is there.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, features: Tensor) -> Tensor:
        """Logits."""
        return self.net(features)  # type: ignore[no-any-return]

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The model's own, after the wait."""
        if ranks.here().rank == 0:
            ranks.wait_for_others(0.15)
        return super().state_dict(*args, **kwargs)


def late_to_save(kind: str, seed: int = 0) -> LateToSave:
    """A `LateToSave` model of that kind of `recipes.model`."""
    return LateToSave(recipes.model(kind, seed))


def in_ddp(model: nn.Module) -> nn.Module:
    """The model inside DistributedDataParallel; every rank must make it."""
    return nn.parallel.DistributedDataParallel(model)


class Movable(nn.Module):
    """A net that notes where it is moved and stays where it is; so it can be sent to a GPU that is not there."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net
        self.moves: list[tuple[str, bool]] = []

    def forward(self, features: Tensor) -> Tensor:
        """Logits."""
        return self.net(features)  # type: ignore[no-any-return]

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        target = _Target()
        fn(target)
        inside = any(getattr(net, "module", None) is self for net in ranks.here().wrapped)
        self.moves.append((target.place, inside))
        return self


class _Target:
    """Takes the place of a parameter, and notes where it is sent."""

    place = ""

    def to(self, device: Any = None, *args: Any, **kwargs: Any) -> _Target:
        self.place = str(device)
        return self

    def cuda(self, device: Any = None, *args: Any, **kwargs: Any) -> _Target:
        return self.to(torch.device("cuda", device) if type(device) is int else device)

    def cpu(self) -> _Target:
        return self.to("cpu")

    def is_floating_point(self) -> bool:
        return True

    def is_complex(self) -> bool:
        return False

    def dim(self) -> int:
        return 1


def movable(kind: str, seed: int = 0) -> Movable:
    """A `Movable` model of that kind of `recipes.model`."""
    return Movable(recipes.model(kind, seed))


# ---------------------------------------------------------------- looks


def group_facts() -> dict[str, Any]:
    """Whether there is a process group, and of which kind; ``sum`` is what a sum of (rank + 1) over it gives."""
    if not dist.is_initialized():
        return {"initialized": False}
    total = torch.tensor(float(ranks.here().rank + 1))
    dist.all_reduce(total)
    return {
        "initialized": True,
        "backend": dist.get_backend(),
        "rank": dist.get_rank(),
        "world_size": dist.get_world_size(),
        "sum": total.item(),
    }


_address: dict[str, str | None] = {}


def note_address() -> None:
    """Remembers where the ranks are to meet, for `address_kept`."""
    _address.update({name: os.environ.get(name) for name in ("MASTER_ADDR", "MASTER_PORT")})


def address_kept() -> tuple[bool, bool]:
    """Whether MASTER_ADDR and MASTER_PORT are as they were."""
    return os.environ.get("MASTER_ADDR") == _address["MASTER_ADDR"], (
        os.environ.get("MASTER_PORT") == _address["MASTER_PORT"]
    )


def address_is_set() -> tuple[bool, bool]:
    """Whether MASTER_ADDR and MASTER_PORT have a value."""
    return bool(os.environ.get("MASTER_ADDR")), bool(os.environ.get("MASTER_PORT"))


def again(function: Callable[..., Any]) -> bool:
    """Calls it once more; whether there is a process group afterwards."""
    function()
    return probes.has_group()


def trained() -> dict[str, Any]:
    """After training: whether there is still a ``group``, and the row numbers of the ``batches``.

    These are the batches that `Watched` models were given on this rank while gradients were recorded.
    """
    return {"batches": _trained_on, "group": probes.has_group()}


def saved(path: str) -> dict[str, Any] | None:
    """What is in the file now; None when it is not there, an empty dict when it is no whole state_dict."""
    if not os.path.exists(path):
        return None
    try:
        state = torch.load(path, weights_only=True)
        return {str(name): value for name, value in state.items()}
    except Exception:
        return {}


def wrap_facts(net: Any, model: Movable) -> dict[str, Any]:
    """Of a wrapped `Movable`: ``kind``; ``device_ids`` as indices; ``moved_to``, the last place; ``moved_inside``."""
    ids = getattr(net, "device_ids", None)
    return {
        "kind": type(net).__name__ if isinstance(net, nn.parallel.DistributedDataParallel) else "no DDP",
        "device_ids": [device if type(device) is int else torch.device(device).index for device in ids or ()],
        "moved_to": model.moves[-1][0] if model.moves else None,
        "moved_inside": any(inside for _, inside in model.moves),
    }


def step_grads(net: nn.Module, count: int, seed: int) -> dict[str, Tensor | None]:
    """Gradients by name, ``module.`` included, after cross-entropy of ``count`` `rows` and backward."""
    features, labels = rows(count, seed).tensors
    torch.autograd.backward(nn.functional.cross_entropy(net(features), labels))
    return {name: None if p.grad is None else p.grad.clone() for name, p in net.named_parameters()}


# ---------------------------------------------------------------- GPUs that are not there


class _Pretence:
    def __init__(self) -> None:
        self.device: int | None = None
        self.backend: str | None = None


_pretence = _Pretence()


def pretend_gpus(count: int) -> None:
    """From now on this process believes that it has GPUs: enough to pick one, join a group and wrap a model.

    A group is joined over gloo whatever backend is named; DistributedDataParallel only notes its arguments.
    """
    from torch.distributed import distributed_c10d
    from torch.nn.parallel import DistributedDataParallel

    make_group: Any = distributed_c10d._new_process_group_helper

    def make(size: int, rank: int, members: Any, backend: Any, *args: Any, **kwargs: Any) -> Any:
        _pretence.backend = str(backend)
        kwargs["device_id"] = None
        return make_group(size, rank, members, distributed_c10d.Backend("gloo"), *args, **kwargs)

    def note(self: Any, module: nn.Module, device_ids: Any = None, *args: Any, **kwargs: Any) -> None:
        nn.Module.__init__(self)
        self.module, self.device_ids = module, device_ids
        ranks.here().wrapped.append(self)

    def choose(device: int) -> None:
        _pretence.device = device

    patched: Any = torch
    patched._C._cuda_setDevice = choose
    patched._C._cuda_getDevice = lambda: _pretence.device or 0
    patched._C._cuda_getDeviceCount = lambda: count
    patched.cuda._lazy_init = lambda: None
    patched.cuda.is_available = lambda: True
    patched.cuda.device_count = lambda: count
    patched.distributed.distributed_c10d._new_process_group_helper = make
    DistributedDataParallel.__init__ = note  # type: ignore[method-assign]


def pretended() -> dict[str, Any]:
    """Under `pretend_gpus`: the ``device`` that was chosen, and the ``backend`` that was asked for."""
    return {"device": _pretence.device, "backend": _pretence.backend}
