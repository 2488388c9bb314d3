"""The work of a rank, request by request: the student side. It runs submitted code.

The judge drives all ranks of a world at once (`world.py`): each is a student process like any other, and gets its own
arguments only. Must never end by itself: torch can deadlock when it takes process groups apart, so everything is kept
until the judge has the process killed.
"""

import contextlib
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import torch
import torch.distributed as dist

from grader.sandbox import process_tree

try:
    import resource

    CAN_FORBID_WRITING = True
except ImportError:
    CAN_FORBID_WRITING = False
"""Whether this system has a limit on the size of files, by which a rank cannot write to any."""

Spec = tuple[Any, ...]
"""An argument as it is sent to one rank: ``("value", x)``, ``("call", f, args, kwargs)``, ``("result",)`` or
``("argument", place)``."""

_GATE: Final = ".gate"
_HELD: Final = ".held"
_LOOK_SECONDS: Final = 0.005
"""How often a rank that is held looks at the gate (s): not every system can wait for a file."""


class Here(msgspec.Struct):
    """The rank that a process is.

    Attributes:
        wrapped: the DDP modules that were made here in this run.
    """

    rank: int
    size: int
    wrapped: list[Any]


class Scene(msgspec.Struct):
    """The arguments and the result of one run on this rank so far."""

    folder: str = ""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    result: Any = None
    is_held: bool = False


this: list[Here] = []
"""The rank that this process is, if it is one."""
_scene = Scene()
_first_environment: dict[str, str] = {}
_joined: list[object] = []
"""The process group that `prepare` has set up, if it has."""
_kept: list[object] = []
"""All process groups and DDP modules that were made here."""


def hold() -> None:
    """Returns when the gate is open, on the rank that is held; on others at once."""
    if _scene.is_held:
        Path(_scene.folder, _HELD).touch()
        while os.path.exists(os.path.join(_scene.folder, _GATE)):
            time.sleep(_LOOK_SECONDS)


# ---------------------------------------------------------------- the parts of a run, in their order


def prepare(
    rank: int, size: int, env: Mapping[str, str | None], folder: str, group: str | None, seconds: float
) -> None:
    """Makes this process a rank, or resets the rank that it is.

    Args:
        env: environment variables to set, or with None to remove, over those that the process began with.
        folder: the current folder of all ranks of this run.
        group: the file by which the ranks find each other; None leaves the process group as it is.
        seconds: how long to wait for them.
    """
    if not this:
        _first_environment.update(os.environ)
        this.append(Here(rank, size, []))
        keep_what_deadlocks(this[0].wrapped)
    this[0].wrapped.clear()
    variables = {**_first_environment, "CUDA_VISIBLE_DEVICES": "", **env}
    os.environ.clear()
    os.environ.update({name: value for name, value in variables.items() if value is not None})
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    _scene.folder = folder
    torch.set_num_threads(1)
    torch.default_generator.manual_seed(0)
    random.seed(0)
    if group is not None:
        _join(rank, size, group, seconds)


def _join(rank: int, size: int, file: str, seconds: float) -> None:
    # A store in a file: one on a port asks the name service for the name of everybody who connects, which may be slow.
    store = torch._C._distributed_c10d.FileStore(file, size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=seconds))
    _joined[:] = [dist.group.WORLD]


def make(before: Spec | None, args: list[Spec], kwargs: Mapping[str, Spec]) -> None:
    """Makes the arguments of the function that is called next."""
    if before is not None:
        _made(before)
    _scene.args = [_made(spec) for spec in args]
    _scene.kwargs = {name: _made(spec) for name, spec in kwargs.items()}


def perform(function: Callable[..., object], may_exit: bool, read_only: bool, is_held: bool) -> object:
    """Calls the submission's function; `make` has made its arguments.

    Args:
        may_exit: whether ``sys.exit(0)`` counts as returning.
        read_only: whether no file may be written to, from now on.
        is_held: whether `hold` holds this rank.
    """
    _scene.is_held, _scene.result = is_held, None
    if read_only:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        _scene.result = function(*_scene.args, **_scene.kwargs)
    except SystemExit as end:
        if not may_exit or end.code not in (None, 0):
            raise
    return _scene.result


def look(spec: Spec | None) -> list[object]:
    """The result of a check's look after `perform`, and whether this process is as before: fit for another run.

    The second value only decides whether the process is used again.
    """
    seen = None if spec is None else _made(spec)
    same_group = not _joined or (dist.is_initialized() and dist.group.WORLD is _joined[0])
    return [seen, same_group and not process_tree.descendants(os.getpid())]


def _made(spec: Spec) -> Any:
    match spec:
        case ("value", value):
            return value
        case ("call", function, list(args), dict(kwargs)):
            return function(*map(_made, args), **{name: _made(part) for name, part in kwargs.items()})
        case ("result",):
            return _scene.result
        case ("argument", str(name)):
            return _scene.kwargs[name]
        case ("argument", int(place)):
            return _scene.args[place]
    raise ValueError("not an argument for a rank")


# ---------------------------------------------------------------- what deadlocks


def keep_what_deadlocks(modules: list[Any]) -> None:
    """Keeps every process group and DDP module made from now on, because destroying one can deadlock.

    Its thread wants the interpreter's lock to drop a reference while the destructor holds that lock. A process that
    made one keeps it until it ends by ``os._exit``.

    Args:
        modules: the list to which each module is added as well.
    """
    from torch.distributed import distributed_c10d
    from torch.nn.parallel import DistributedDataParallel

    make_group: Any = distributed_c10d._new_process_group_helper
    wrap = DistributedDataParallel.__init__

    def keeping_group(*args: Any, **kwargs: Any) -> Any:
        made = make_group(*args, **kwargs)
        _kept.append(made)
        return made

    def keeping_module(self: Any, *args: Any, **kwargs: Any) -> None:
        wrap(self, *args, **kwargs)
        _kept.append(self)
        modules.append(self)

    distributed_c10d._new_process_group_helper = keeping_group
    DistributedDataParallel.__init__ = keeping_module  # type: ignore[method-assign]


# ---------------------------------------------------------------- in the process beside the submission


def make_folder() -> str:
    """A new, empty folder beside the submission's files."""
    return tempfile.mkdtemp(prefix="ranks-")


def remove_folder(folder: str) -> None:
    """Removes a folder of `make_folder`, with all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)


def close_gate(folder: str) -> None:
    """From now on a rank that calls `hold` in this folder is held there."""
    os.makedirs(folder, exist_ok=True)
    Path(folder, _GATE).touch()


def open_gate(folder: str) -> bool:
    """Lets the rank go on; whether one has been held."""
    was_held = os.path.exists(os.path.join(folder, _HELD))
    with contextlib.suppress(OSError):  # a rank can have removed it
        os.unlink(os.path.join(folder, _GATE))
    return was_held
