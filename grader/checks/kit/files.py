"""Files that a submission saves and loads: places for them, what is in them, and a crash while one is written.

Everything runs in the student process, through ``submission.there``. Must never hold an expected answer, write outside
a temporary folder of its own, or import anything but torch and the standard library.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import tempfile
import warnings
import weakref
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.testkit import recipes

CAN_CRASH = hasattr(os, "fork") and hasattr(signal, "SIGXFSZ")
"""Whether this system can stop a process in the middle of writing a file."""


class FilePath(str):
    """A path in a fresh, empty folder that goes when the path goes. It crosses the border as a handle, so that
    its folder's name, which is another one each time, stays where it was made."""

    second_name: str
    linked: bytes


def new_path(name: str = "weights.pt") -> FilePath:
    """A path at which there is no file yet, in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="saved-")
    path = FilePath(os.path.join(folder, name))
    weakref.finalize(path, shutil.rmtree, folder, ignore_errors=True)
    return path


# ---------------------------------------------------------------- what is there


def contents(path: str) -> tuple[str, Any]:
    """What is at a path: ``("nothing", None)``; ``("weights", content)`` if torch can load it with
    ``weights_only=True``, dicts of any kind as plain ones; ``("objects", None)`` if it can be loaded in another way
    only; ``("broken", None)`` if it is neither."""
    if not os.path.lexists(path):
        return "nothing", None
    try:
        return "weights", plain(torch.load(path, map_location="cpu", weights_only=True))
    except pickle.UnpicklingError:
        return ("objects" if zipfile.is_zipfile(path) else "broken"), None
    except Exception:
        return "broken", None


def plain(value: Any) -> Any:
    """The same with plain dicts, and tensors that are not views of larger ones; other objects as they are."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value)) if type(value) in (list, tuple) else list(map(plain, value))
    return value.detach().clone() if isinstance(value, Tensor) else value


def standing(path: str) -> str:
    """What is at a path: "nothing", "broken", or "a file" that can be loaded in one way or another."""
    kind = contents(path)[0]
    return "a file" if kind in ("weights", "objects") else kind


def link(path: FilePath) -> None:
    """Gives the file at a path a second name, under which it can be seen when the first one is another file."""
    path.second_name = path + ".first"
    os.link(path, path.second_name)
    path.linked = Path(path.second_name).read_bytes()


def link_untouched(path: FilePath) -> bool:
    """Whether the file that `link` gave a second name has the bytes that it had then."""
    return Path(path.second_name).read_bytes() == path.linked


# ---------------------------------------------------------------- files to load


def weights_file(kind: str, seed: int = 0, location: str = "cpu", leave_out: str = "", extra: str = "") -> FilePath:
    """The path of a file with the ``state_dict`` of ``recipes.model(kind, seed)``.

    Args:
        location: the device that its tensors are said to have been on; it need not be here.
        leave_out: the name of an entry that the file lacks.
        extra: the name of an entry, of one number, that the model does not have.
    """
    state = dict(recipes.model(kind, seed).state_dict())
    if leave_out:
        del state[leave_out]
    if extra:
        state[extra] = torch.zeros(1)
    path = new_path()
    truthful = torch.serialization.location_tag
    try:
        if location != "cpu":
            torch.serialization.location_tag = lambda storage: location
        torch.save(state, path)
    finally:
        torch.serialization.location_tag = truthful
    return path


class Trap:
    """Its pickle runs code where it is loaded by a loader that runs code."""

    sprung = 0

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return spring, ()


def spring() -> dict[str, Any]:
    """Notes that code from a file was run."""
    Trap.sprung += 1
    return {}


def sprung() -> int:
    """How often code from a file was run."""
    return Trap.sprung


def trapped_file(kind: str, seed: int = 0) -> FilePath:
    """The path of a file whose loading runs code (which does no more than `spring`), if the loader lets it."""
    path = new_path()
    Trap.sprung = 0
    torch.save({**recipes.model(kind, seed).state_dict(), "0.weight": Trap()}, path)
    return path


# ---------------------------------------------------------------- a crash half-way


def crash(room: int, path: str, save: Callable[..., Any], *args: Any) -> str | None:
    """Calls ``save(*args, path)`` in a process that dies as soon as a file grows beyond a size.

    Args:
        room: how many bytes a file may have (bytes).

    Returns:
        "killed", "finished" or "raised"; None where the system has no such limit.
    """
    if not CAN_CRASH:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which this process has when it is not a student process
        process = os.fork()
    if not process:
        _save_in_little_room(room, lambda: save(*args, path))
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return "killed" if status < 0 else "raised" if status else "finished"


def _save_in_little_room(room: int, save: Callable[[], Any]) -> None:
    import resource

    status = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        save()
        status = 0
    finally:
        os._exit(status)


# ---------------------------------------------------------------- training that goes on


def optimizer(model: nn.Module, kind: str = "sgd", lr: float = 0.1) -> Optimizer:
    """An optimizer with a memory: "sgd" (momentum), "adam", or "groups" (AdamW; biases have a group of their own)."""
    params = list(model.parameters())
    if kind == "sgd":
        return torch.optim.SGD(params, lr=lr, momentum=0.9)
    if kind == "adam":
        return torch.optim.Adam(params, lr=lr)
    biases = [param for param in params if param.dim() == 1]
    others = [param for param in params if param.dim() != 1]
    groups: list[dict[str, Any]] = [{"params": others}, {"params": biases, "lr": lr / 2, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)


def placed(kind: str, seed: int, device: str) -> nn.Module:
    """``recipes.model(kind, seed)``, on a device."""
    return recipes.model(kind, seed).to(device)


def set_lr(optimizer: Optimizer, lr: float) -> None:
    """Changes the learning rate, as a schedule does."""
    for group in optimizer.param_groups:
        group["lr"] = lr


def train(model: nn.Module, optimizer: Optimizer, steps: int) -> None:
    """Steps of cross-entropy whose batches, like the dropout, come from torch's global generator."""
    model.train()
    where = next(model.parameters()).device
    for _ in range(steps):
        x = torch.randn(6, recipes.FEATURES).to(where)
        y = torch.randint(0, recipes.CLASSES, (6,)).to(where)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def optimizer_numbers(optimizer: Optimizer) -> Any:
    """The optimizer's ``state_dict``, as plain data."""
    return plain(optimizer.state_dict())


# ---------------------------------------------------------------- state dicts


class Kept:
    """What a function returned, kept where it is."""

    def __init__(self, value: Any) -> None:
        self.value = value


def keep(function: Callable[..., Any], *args: Any) -> Kept:
    """Calls a function, and keeps what it returns over there."""
    return Kept(function(*args))


def load_kept(model: nn.Module, kept: Kept) -> None:
    """Loads a kept ``state_dict`` into a model."""
    model.load_state_dict(kept.value)


def as_dict(function: Callable[..., Any], *args: Any) -> Any:
    """What a function returns; a dict of any kind as a plain one."""
    found = function(*args)
    return dict(found) if isinstance(found, dict) else found


def dict_afterwards(function: Callable[..., Any], state: dict[str, Any], *args: Any) -> tuple[dict[str, Any], bool]:
    """Calls ``function(state, *args)``: the dict afterwards, and whether it is what was returned."""
    found = function(state, *args)
    return state, found is state
