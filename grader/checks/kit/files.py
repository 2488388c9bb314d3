"""Files that a submission saves and loads: places for them, their content, and the changes of them meanwhile.

`path` and `crash` run in the student process; everything else runs beside it, through ``submission.outside``, so that
submitted code has no say in the content that is found on disk. Must never hold an expected answer, write outside the
temporary folder, or import anything but torch and the standard library.
"""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import shutil
import signal
import stat
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from grader.testkit import probes, recipes

CAN_CRASH: Final = hasattr(os, "fork") and hasattr(signal, "SIGXFSZ")
"""Whether this system can stop a process in the middle of writing a file."""
MAX_BYTES: Final = 4 << 20
"""Bytes of a file, or of the tensors in it, that are looked at: no file of a check comes near."""
_SECOND_NAME: Final = "the first one.second name"


# ---------------------------------------------------------------- places


class FilePath(str):
    """A path. It crosses the border as a handle, so that its folder, which is another one in each run, stays there."""


def path(place: str, name: str) -> FilePath:
    """The path of a file at a place that `empty` has made; where nobody has, as in a pasted line, it is made now."""
    os.makedirs(_folder(place), exist_ok=True)
    return FilePath(_at(place, name))


def empty(place: str) -> None:
    """Makes the folder of a place, with nothing in it."""
    shutil.rmtree(_folder(place), ignore_errors=True)
    os.mkdir(_folder(place))


def _at(place: str, name: str) -> str:
    return os.path.join(_folder(place), name)


def _folder(place: str) -> str:
    return os.path.join(_root(os.getpid()), f"saved-{place}")


@functools.cache
def _root(process: int) -> str:
    """The work folder, which all processes of a sandbox share; if there is none, a folder of this process."""
    shared = os.path.realpath(tempfile.gettempdir())
    if os.path.realpath(os.getcwd()) == shared:
        return shared
    made = tempfile.mkdtemp(prefix="torchkata-files-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


# ---------------------------------------------------------------- what is there


def contents(place: str, name: str) -> tuple[str, Any]:
    """The content at a path: ``("nothing", None)``; ``("weights", content)`` if torch can load it with
    ``weights_only=True``, dicts of any kind as plain ones; ``("objects", None)`` if it can be loaded in another way
    only; ``("broken", None)`` if it is neither."""
    file = _at(place, name)
    if not os.path.lexists(file):
        return "nothing", None
    try:
        found = os.stat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
            return "broken", None
        content = torch.load(file, map_location="cpu", weights_only=True)
        return ("weights", _plain(content)) if _bytes_in(content) <= MAX_BYTES else ("broken", None)
    except pickle.UnpicklingError:
        return ("objects" if zipfile.is_zipfile(file) else "broken"), None
    except Exception:
        return "broken", None


def kind(place: str, name: str) -> str:
    """The kind of file at a path: "nothing", "broken", or "a file" that can be loaded in one way or another."""
    found = contents(place, name)[0]
    return "a file" if found in ("weights", "objects") else found


def _bytes_in(value: Any) -> int:
    """The bytes of the tensors in it if all were written out."""
    if isinstance(value, Mapping):
        return sum(map(_bytes_in, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_bytes_in, value))
    return value.numel() * value.element_size() if isinstance(value, Tensor) else 0


def _plain(value: Any) -> Any:
    """The same with plain dicts, and tensors that are not views of larger ones; other objects as they are."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value)) if type(value) in (list, tuple) else list(map(_plain, value))
    return probes.copied(value)


def link(place: str, name: str) -> bool:
    """Gives a file a second name, under which it can be seen when the first one is another file.

    Returns:
        Whether there is such a file.
    """
    if not os.path.isfile(_at(place, name)):
        return False
    os.link(_at(place, name), _at(place, _SECOND_NAME))
    _linked[place] = Path(_at(place, _SECOND_NAME)).read_bytes()
    return True


def link_untouched(place: str) -> bool:
    """Whether the file that `link` gave a second name has the bytes that it had then."""
    return _linked.pop(place) == Path(_at(place, _SECOND_NAME)).read_bytes()


_linked: Final[dict[str, bytes]] = {}


def swap(place: str, one: str, other: str) -> bool:
    """Exchanges two files; whether both are there."""
    if not (os.path.isfile(_at(place, one)) and os.path.isfile(_at(place, other))):
        return False
    os.replace(_at(place, one), _at(place, "between"))
    os.replace(_at(place, other), _at(place, one))
    os.replace(_at(place, "between"), _at(place, other))
    return True


# ---------------------------------------------------------------- files to load


def weights_file(
    place: str,
    kind: str,
    seed: int = 0,
    *,
    location: str = "cpu",
    leave_out: str = "",
    extra: str = "",
    shorten: str = "",
) -> None:
    """Writes "weights.pt" with the ``state_dict`` of ``recipes.model(kind, seed)`` at a place that it empties.

    Args:
        location: the device that its tensors are said to have been on; it need not be here.
        leave_out: the name of an entry that the file lacks.
        extra: the name of an entry, of one number, that the model does not have.
        shorten: the name of an entry of which only the first row, or number, is there.
    """
    empty(place)
    state = dict(recipes.model(kind, seed).state_dict())
    if leave_out:
        del state[leave_out]
    if extra:
        state[extra] = torch.zeros(1)
    if shorten:
        state[shorten] = state[shorten][:1].clone()
    truthful = torch.serialization.location_tag
    try:
        if location != "cpu":
            torch.serialization.location_tag = lambda storage: location
        torch.save(state, _at(place, "weights.pt"))
    finally:
        torch.serialization.location_tag = truthful


class Trap:
    """Its pickle makes a folder if it is loaded by a loader that runs code."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (self.folder,)


def trapped_file(place: str, kind: str, seed: int = 0) -> None:
    """Writes "weights.pt", whose loading runs code (which makes a folder beside it), if the loader lets it."""
    empty(place)
    state = {**recipes.model(kind, seed).state_dict(), "0.weight": Trap(_at(place, "sprung"))}
    torch.save(state, _at(place, "weights.pt"))


def sprung(place: str) -> bool:
    """Whether code from a trapped file was run."""
    return os.path.lexists(_at(place, "sprung"))


# ---------------------------------------------------------------- a crash half-way


def crash(room: int, path: str, save: Callable[..., Any], *args: Any) -> str:
    """Calls ``save(*args, path)`` in a process that dies as soon as a file grows beyond a size.

    Args:
        room: how many bytes a file may have (bytes).

    Returns:
        "killed", "finished" or "raised".
    """
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
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))  # the hard one too, or `save` could raise it again
        save()
        status = 0
    finally:
        os._exit(status)
