"""Recipes and probes for ranks: datasets, models and looks that a check uses through `grader.testkit.ranks`.

Recipes (`rows`, `watched`) may be called locally by a check too. Must never hold an expected answer, decide anything,
or import anything but torch and the standard library.
"""

from __future__ import annotations

import os
import platform
import random
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from grader.testkit import probes, ranks, recipes

SCALE: Final = 64.0
"""The first feature of row i of `rows` is i / SCALE: exact in float32."""
_is_recording: Final = torch.is_grad_enabled

# ---------------------------------------------------------------- data


def rows(count: int, seed: int = 0, start: int = 0) -> TensorDataset:
    """``count`` pairs ``(features (FEATURES,), label)``; the first feature holds the row's number."""
    features = recipes.normal((count, recipes.FEATURES), seed)
    features[:, 0] = torch.arange(start, start + count) / SCALE
    return TensorDataset(features, recipes.labels(count, recipes.CLASSES, seed + 1))


def points(count: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> TensorDataset:
    """``count`` pairs ``(features (FEATURES,), label)``."""
    features, labels = recipes.batches([count], seed=seed)[0]
    return TensorDataset(features.to(dtype), labels)


def loader(count: int, batch_size: int, seed: int = 0) -> DataLoader[Any]:
    """`points` in batches, in order: the first rows of a dataset that has more, as a rank's share of it."""
    more = points(5, seed + 1)
    dataset = TensorDataset(*map(torch.cat, zip(points(count, seed).tensors, more.tensors, strict=True)))
    return DataLoader(dataset, batch_size, sampler=range(count))


def numbers(features: Tensor) -> list[int]:
    """Which rows of `rows` these features ``(n, FEATURES)`` are."""
    return [round(value * SCALE) for value in features[:, 0].tolist()]


def read_only(environ: Mapping[str, str]) -> Mapping[str, str]:
    """The same mapping, which nothing can change."""
    return MappingProxyType(dict(environ))


def as_path(path: str) -> Path:
    """The path as an object."""
    return Path(path)


# ---------------------------------------------------------------- models

_trained_on: list[list[int]] = []
"""The rows of each batch that the latest `Watched` model was trained on in this process; every rank is one."""


class Watched(nn.Module):
    """A net that notes which rows of `rows` it is trained on, batch by batch."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net
        _trained_on.clear()

    def forward(self, features: Tensor) -> Tensor:
        """Logits."""
        if _is_recording() and ranks.is_rank():
            _trained_on.append(numbers(features.detach()))
        return self.net(features)  # type: ignore[no-any-return]


class Nested(nn.Module):
    """A net that has ``module`` in the middle of its parameters' names, and a buffer.

    Args:
        with_module: whether one of its parts is called ``module``, as the model inside DistributedDataParallel is.
    """

    zoom: Tensor

    def __init__(self, net: nn.Module, with_module: bool = False) -> None:
        super().__init__()
        self.part = nn.ModuleDict({"module": net})
        self.register_buffer("zoom", torch.tensor(1.5, dtype=next(net.parameters()).dtype))
        if with_module:
            with recipes.seeded(0):
                self.module = nn.Linear(recipes.CLASSES, recipes.CLASSES)

    def forward(self, features: Tensor) -> Tensor:
        """Logits."""
        return self.zoom * self.part["module"](features)  # type: ignore[no-any-return]


def nested(kind: str, seed: int = 0, dtype: torch.dtype = torch.float32, with_module: bool = False) -> Nested:
    """A `Nested` model of that kind of `recipes.model`."""
    return Nested(recipes.model(kind, seed).to(dtype), with_module)


def within(kind: str, seed: int = 0) -> nn.Module:
    """A model of that kind of `recipes.model` as a part of a part."""
    return nn.Sequential(nn.Sequential(recipes.model(kind, seed)))


def watched(kind: str, seed: int = 0) -> Watched:
    """A `Watched` model of that kind of `recipes.model`."""
    return Watched(recipes.model(kind, seed))


def with_grads(kind: str, seed: int, dtype: torch.dtype = torch.float32) -> nn.Module:
    """The same model for every seed, with gradients of this seed; frozen parameters have none.

    Its layers are parts of parts. The weights of a convolution, and their gradients, are in channels_last.
    """
    with recipes.seeded(0):
        filters = nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last)
    made = recipes.with_stale_grads(nn.ModuleDict({"net": within(kind), "filters": filters}).to(dtype), seed)
    if filters.weight.grad is not None:
        filters.weight.grad = filters.weight.grad.contiguous(memory_format=torch.channels_last)
    return made


class HeldWhenSaved(Nested):
    """A net whose ``state_dict()`` takes its time on the rank that is held: until the others have returned or wait.

    Whoever does not wait for that rank has returned by then, however long it slept.
    """

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The model's own, after the wait."""
        ranks.hold()
        return super().state_dict(*args, **kwargs)


class HeldWhileWritten(Nested):
    """A net whose weights take their time while they are written, when the file is there but not complete."""

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The model's own; its last entry is held."""
        state = super().state_dict(*args, **kwargs)
        last = next(reversed(state))
        state[last] = state[last].as_subclass(_HeldWhenPickled)
        return state


class _HeldWhenPickled(Tensor):
    def __reduce_ex__(self, protocol: Any) -> Any:
        ranks.hold()
        return self.as_subclass(Tensor).__reduce_ex__(protocol)


def held_while_written(kind: str, seed: int) -> HeldWhileWritten:
    """A `HeldWhileWritten` model of that kind of `recipes.model`."""
    return HeldWhileWritten(recipes.model(kind, seed))


def held_when_saved(kind: str, seed: int, with_module: bool = False) -> HeldWhenSaved:
    """A `HeldWhenSaved` model of that kind of `recipes.model`."""
    return HeldWhenSaved(recipes.model(kind, seed), with_module)


def in_ddp(model: nn.Module) -> nn.Module:
    """The model inside DistributedDataParallel, with the weights that it had; every rank must make it."""
    own = [param.detach().clone() for param in model.parameters()]
    net = nn.parallel.DistributedDataParallel(model)
    with torch.no_grad():
        for param, value in zip(model.parameters(), own, strict=True):
            param.copy_(value)
    return net


class Movable(nn.Module):
    """A net that notes where it is moved and stays where it is; so it can be sent to a GPU that is not there.

    Args:
        place: where it says that it is at first.
    """

    def __init__(self, net: nn.Module, place: str) -> None:
        super().__init__()
        self.net = net
        self.moves: list[tuple[str, bool]] = []
        for part in net.modules():
            for name, param in part.named_parameters(recurse=False):
                setattr(part, name, _Placed(param.detach()))
        self._say(place)

    def _say(self, place: str) -> None:
        for param in self.parameters():
            param.place = torch.device(place)  # type: ignore[attr-defined]

    def forward(self, features: Tensor) -> Tensor:
        """Logits."""
        return self.net(features)  # type: ignore[no-any-return]

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        target = _Target()
        fn(target)
        inside = any(getattr(net, "module", None) is self for net in ranks.here().wrapped)
        self.moves.append((target.place, inside))
        if target.place:
            self._say(target.place)
        return self


class _Placed(nn.Parameter):
    """Says that it is somewhere else than it is."""

    place: torch.device

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.place

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return self.place.type == "cuda"


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


def movable(kind: str, device: str = "cpu") -> Movable:
    """A `Movable` model of that kind of `recipes.model` that is on a device at first."""
    return Movable(recipes.model(kind), device)


# ---------------------------------------------------------------- looks


def group_facts(number: int) -> dict[str, Any]:
    """Whether there is a process group, and of which kind; ``sum`` adds up the number of each rank.

    It is None where the ranks cannot communicate.
    """
    if not dist.is_initialized():
        return {"initialized": False, "sum": None}
    total: torch.Tensor | None = torch.tensor(number)
    try:
        dist.all_reduce(total)
    except Exception:
        total = None
    return {
        "initialized": True,
        "backend": dist.get_backend(),
        "rank": dist.get_rank(),
        "world_size": dist.get_world_size(),
        "sum": None if total is None else int(total),
    }


def set_up(number: int, *names: str) -> tuple[dict[str, Any], list[str | None]]:
    """`group_facts`, and the values of some environment variables."""
    return group_facts(number), [os.environ.get(name) for name in names]


def joins_again(number: int) -> int | str:
    """Joins a new group, and adds up the number of each rank; in words, why it cannot join.

    It waits for the other ranks however late they come on a busy machine: the time of the run ends what hangs.
    """
    here = ranks.here()
    is_in_group = dist.is_initialized()
    store = torch._C._distributed_c10d.FileStore(".again", here.size)
    store.set(f"in the group {here.rank}", str(is_in_group))
    if is_in_group:
        return "is still in the process group"
    if any(store.get(f"in the group {rank}") == b"True" for rank in range(here.size)):
        return "cannot join a new one"
    try:
        dist.init_process_group("gloo", store=store, rank=here.rank, world_size=here.size)
    except Exception:
        return "cannot join a new one"
    total: int | None = group_facts(number)["sum"]
    return "joins a new one, and cannot communicate in it" if total is None else total


def again(function: Callable[..., Any], number: int) -> int | str:
    """Calls it once more, and joins a new group."""
    function()
    return joins_again(number)


def can_connect(port: int) -> bool:
    """Whether something listens at a port of this machine."""
    with socket.socket() as way:
        way.settimeout(2)
        return way.connect_ex(("127.0.0.1", port)) == 0


def trained(number: int) -> dict[str, Any]:
    """After training: the sum of the ``group`` now, and the row numbers of the ``batches``.

    These are the batches that `Watched` models were given on this rank while gradients were recorded.
    """
    return {"batches": list(_trained_on), "group": group_facts(number)["sum"]}


def saved(path: str) -> dict[str, Any] | None:
    """The content of the file now; None if there is no file, an empty dict if it is no whole state_dict."""
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
        "moved_to": model.moves[-1][0] if model.moves else "not moved at all",
        "moved_inside": any(inside for _, inside in model.moves),
    }


def step_grads(net: nn.Module, count: int, seed: int) -> dict[str, Tensor | None]:
    """Gradients by name, ``module.`` included, after cross-entropy of ``count`` `points` and backward."""
    features, labels = points(count, seed).tensors
    torch.autograd.backward(nn.functional.cross_entropy(net(features), labels))
    return probes.model_grads(net)


# ---------------------------------------------------------------- ranks that differ


def differ(seed: int, factor: float) -> None:
    """From now on this process has a SEED of its own, and every backward gives this many times the gradients."""
    os.environ["SEED"] = str(seed)
    patched: Any = torch.autograd
    run = patched._engine_run_backward

    def scaled(outputs: Any, grads: Any, *args: Any, **kwargs: Any) -> Any:
        return run(outputs, tuple(None if grad is None else grad * factor for grad in grads), *args, **kwargs)

    if factor != 1:
        patched._engine_run_backward = scaled


# ---------------------------------------------------------------- GPUs and systems that are not there


class _Pretence:
    def __init__(self) -> None:
        self.device: int | None = None
        self.backend: str | None = None


_pretence = _Pretence()


def own_random_numbers(rank: int) -> None:
    """From now on this process draws other random numbers than the other ranks, as processes do that start alone."""
    random.seed(rank)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(rank)


def pretend_gpus(count: int, local_rank: str | None = None) -> None:
    """From now on this process believes that it has GPUs: enough to pick one, join a group and wrap a model.

    A group is joined over gloo whatever backend is named; DistributedDataParallel only notes its arguments.

    Args:
        local_rank: the value of LOCAL_RANK; None leaves it as it is.
    """
    if local_rank is not None:
        os.environ["LOCAL_RANK"] = local_rank
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


def pretend_windows(gpus: int, libuv: str | None) -> None:
    """From now on this process believes that it runs on Windows, and perhaps has GPUs.

    Args:
        libuv: the value of USE_LIBUV; None leaves it out.
    """
    real = platform.uname()
    patched: Any = platform
    patched.uname = lambda: real._replace(system="Windows")
    if libuv is not None:
        os.environ["USE_LIBUV"] = libuv
    if gpus:
        pretend_gpus(gpus)


def pretended() -> dict[str, Any]:
    """Under `pretend_gpus`: the ``device`` that was chosen, and the ``backend`` that was asked for."""
    return {"device": _pretence.device, "backend": _pretence.backend, "libuv": os.environ.get("USE_LIBUV")}
