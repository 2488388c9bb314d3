"""What a test must not do here with what a submission has made: run it, or go to a place that it names.

An audit hook sees it, by whatever door: text that a test evaluates, a module or a program that it starts, a file that
it opens or changes. The suite's own files and texts may be run and opened. What the course's own solution makes is
refused, too, so that `verify` shows it, and no student loses points.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import torch

from grader.course.model import DATA
from grader.suites.bridge import Bridge, running
from grader.suites.passing import Crossing
from grader.suites.proxies import Class
from grader.suites.room import Room

_GRADER: Final = f"{Path(__file__).parent.parent}{os.sep}"
_OF_PYTHON: Final = frozenset({"shutil", "os", "pathlib", "pathlib._local", "tempfile", "subprocess", "io"})
"""Modules that do what a test says, and nothing on their own account."""
_IMPORTING: Final = frozenset({"importlib", "importlib._bootstrap", "importlib._bootstrap_external", "runpy", "ctypes"})
"""Modules that run a file because a test says so; other libraries load code that they have made themselves."""
_RUNNING_TEXTS: Final = frozenset({"doctest", "code", "codeop"})
"""Modules that run texts that they are given, such as a docstring of the submission's, and go on if one raises."""
_STARTING: Final = frozenset(
    {"torch", "triton", "numba", "matplotlib", "platform", "uuid", "multiprocessing", "joblib"}
)
"""Libraries that start programs, and end their own, on their own account."""
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_TEMPORARY: Final = Path(tempfile.gettempdir()).resolve()
_MOST_TEXT: Final = 10_000
_VALUES: Final = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, *np.sctypeDict.values())
_MAKERS: Final = frozenset(map(id, (*_VALUES, np.array, torch.tensor)))
"""Functions whose call makes a value of what it is given, and nothing else."""
_OF_EXPRESSIONS: Final = (
    ast.Expression, ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp, ast.Compare,
    ast.BoolOp, ast.IfExp, ast.Call, ast.keyword, ast.Name, ast.Attribute, ast.Load, ast.unaryop, ast.operator,
    ast.cmpop, ast.boolop,
)  # fmt: skip
_MOST_POWER: Final = 64
_NOTHING: Final = object()


class Harmful(PermissionError):
    """A test would do something in the grader's process that a submission could have chosen."""


def _harmful(words: str) -> Harmful:
    """The exception, which the test may catch: so it is kept, too."""
    running[-1].harmful = Harmful(words)
    return running[-1].harmful


class _Watched(NamedTuple):
    """A suite that runs.

    Attributes:
        root: the copy of the course in which it runs.
        folder: the suite's, with a separator at its end.
        texts: its files, and the texts in them, without blanks.
    """

    root: Path
    folder: str
    texts: frozenset[str]


_watched: Final[list[_Watched]] = []
"""The suites that run; the innermost is the last."""


@contextlib.contextmanager
def kept_from_harm(room: Room, folder: str) -> Iterator[None]:
    """Meanwhile the tests in this folder of a room do no harm that a submission could have chosen."""
    _add_hook()
    place = room.root / folder
    _watched.append(_Watched(room.root, f"{place}{os.sep}", frozenset(_texts_of(place))))
    try:
        yield
    finally:
        _watched.pop()


@functools.cache
def _add_hook() -> None:
    sys.addaudithook(_hook)  # it cannot be taken away


def _texts_of(folder: Path) -> Iterator[str]:
    """The files of a suite, and the texts in them, without blanks."""
    for file in folder.rglob("*.py"):
        content = file.read_text("utf-8", "replace")
        yield "".join(content.split())
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            for node in ast.walk(ast.parse(content)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield "".join(node.value.split())


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not running or not _watched:  # also at the end of the process, when these are None
        return
    if (look := _LOOKS.get(event)) is None:
        return
    frame, through = _of_test(sys._getframe(1))
    if frame is not None:
        look(args, frame, through)


def _of_test(frame: FrameType | None) -> tuple[FrameType | None, set[str]]:
    """The frame of the suite's that does something, and the modules by which; None if it is not the suite's doing."""
    through: set[str] = set()
    while frame is not None and not (file := frame.f_code.co_filename).startswith(_GRADER):
        if file.startswith(_watched[-1].folder):
            return frame, through
        through.add(str(frame.f_globals.get("__name__")))
        frame = frame.f_back
    return None, through


# ---------------------------------------------------------------- running


def _compiles(args: tuple[Any, ...], frame: FrameType, through: set[str]) -> None:
    source, name = args[0], os.fsdecode(args[1]) if isinstance(args[1], str | bytes) else ""
    text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
    if not through.isdisjoint(_RUNNING_TEXTS):
        words = "".join(text.split()) if isinstance(text, str) else ""
        may = any(words in one for one in _watched[-1].texts)
    elif not through <= _IMPORTING or (through and _is_installed(name)):
        may = True  # a library's own
    else:
        is_own = isinstance(text, str) and _is_of_suite(text) and not text.strip().isidentifier()
        may = is_own or (isinstance(text, str) and _is_harmless(text, frame))
    if not may:
        raise _harmful("it would run code in the grader's process that is not the suite's own")


def _loads(args: tuple[Any, ...], frame: FrameType, through: set[str]) -> None:
    """A library in machine code, or compiled code."""
    name = next((one for one in args[:2][::-1] if isinstance(one, str) and os.path.isfile(one)), "")
    if through <= _IMPORTING and name and not _is_installed(name):
        raise _harmful("it would load code into the grader's process that is not the suite's own")


def _unmarshals(args: tuple[Any, ...], frame: FrameType, through: set[str]) -> None:
    if not through:
        raise _harmful("it would load code into the grader's process that is not the suite's own")


def _starts(args: tuple[Any, ...], frame: FrameType, through: set[str]) -> None:
    if _STARTING.isdisjoint(one.partition(".")[0] for one in through):
        raise _harmful(
            "it would start or end a program beside the grader, and the submission could have a say in which"
        )


def _is_of_suite(text: str) -> bool:
    return "".join(text.split()) in _watched[-1].texts


def _is_installed(name: str) -> bool:
    """Whether a file is Python's or a package's, and none that a test or a submission may have written."""
    places = (sys.prefix, sys.base_prefix, *(one for one in sys.path if one.endswith("-packages")))
    return any(Path(name).resolve().is_relative_to(Path(one).resolve()) for one in places)


def _is_harmless(text: str, frame: FrameType) -> bool:
    """Whether it is an expression that calls nothing but the submission's code and makers of values."""
    try:
        tree = ast.parse(text.strip(), mode="eval") if len(text) <= _MOST_TEXT else None
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    nodes = [*ast.walk(tree)] if tree else [ast.Pass()]
    texts = any(isinstance(getattr(one, "value", one), str | bytes | ast.List | ast.Tuple) for one in nodes)
    grows = [one.right for one in nodes if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow | ast.LShift)]
    exponents = [getattr(one, "value", None) for one in grows]
    power = math.prod(max(one, 1) if isinstance(one, int | float) else _MOST_POWER + 1 for one in exponents)
    return (
        all(isinstance(one, _OF_EXPRESSIONS) for one in nodes)
        and power <= _MOST_POWER
        and not (texts and any(isinstance(one, ast.BinOp) for one in nodes))
        and all(_is_given(one, frame) for one in nodes if isinstance(one, ast.Name))
        and all(_is_theirs(one.func, frame) for one in nodes if isinstance(one, ast.Call))
        and all(_is_theirs(one, frame) for one in nodes if isinstance(one, ast.Attribute))
    )


def _named(name: str, frame: FrameType) -> Any:
    """What a name is where the test evaluates a text; `_NOTHING` if it is in no scope of its own."""
    scopes = frame.f_locals, frame.f_globals, vars(builtins)
    return next((scope[name] for scope in scopes if name in scope), _NOTHING)


def _is_given(node: ast.Name, frame: FrameType) -> bool:
    """Whether a name is no variable of the test's, or one that it has passed to the submission."""
    told = msgspec.msgpack.encode(node.id)
    is_told = any(told in one.request for one in running[-1].channel.record)
    return is_told or _named(node.id, frame) is _NOTHING or _is_theirs(node, frame)


def _is_theirs(node: ast.expr, frame: FrameType) -> bool:
    """Whether it is a name of the submission's code, or of a maker of values, as the test knows it."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or any(name.startswith("_") for name in names):
        return False
    found = _named(node.id, frame)
    if isinstance(found, Crossing | Class) or type(found).__name__ == "ProxyModule":
        return True
    for name in reversed(names):
        found = vars(found).get(name) if found is np or found is torch else None
    return id(found) in _MAKERS


# ---------------------------------------------------------------- files


def _opens(args: tuple[Any, ...], frame: FrameType, through: set[str]) -> None:
    path, mode, flags = args
    changes = bool(set("wax+").intersection(mode or "") or (isinstance(flags, int) and flags & _WRITES))
    is_import = bool(through) and through <= _IMPORTING
    if is_import and str(path).endswith(".pyc") and not Path(path).is_relative_to(_watched[-1].root):
        _loads((path,), frame, through)
    _touches(path, through, changes=changes)


def _changes(args: tuple[Any, ...], frame: FrameType, through: set[str]) -> None:
    if not isinstance(args[-1], int) or args[-1] == -1:  # else in a folder that is open
        for path in args[:2]:
            _touches(path, through, changes=True)


def _touches(path: Any, through: set[str], *, changes: bool) -> None:
    bridge = running[-1]
    if not isinstance(path, str | bytes | os.PathLike):
        return
    text = os.fsdecode(path)
    whole, root = Path(os.path.realpath(text)), _watched[-1].root
    if text == os.devnull or bridge.folder_of(whole):
        return
    is_said = not _is_of_suite(text) and _is_said(bridge, text)
    if whole.is_relative_to(root):
        may = changes or whole.is_relative_to(root / DATA)
    else:
        may = changes and (whole.is_relative_to(_TEMPORARY) or not through <= _OF_PYTHON) and not is_said
    is_passed = any(whole.is_relative_to(one.resolve()) for one in bridge.paths.values())
    if not may and (changes or (is_said and not is_passed)):
        does = "change" if changes else "open"
        raise _harmful(f"it would {does} a file in the grader's process that the submission could have chosen")


def _is_said(bridge: Bridge, path: str) -> bool:
    """Whether a path, or its first parts (its last, if it leads up), is a text in an answer of the submission."""
    parts = path.split(os.sep)
    runs = [path, *(os.sep.join(parts[:at]) for at in range(1, len(parts)))]
    runs += [os.sep.join(parts[at:]) for at in range(1, len(parts)) if os.pardir in parts]
    return any(one in bridge.said for one in runs if one == path or os.sep in one.strip(os.sep))


_LOOKS: Final[dict[str, Callable[[tuple[Any, ...], FrameType, set[str]], None]]] = {
    "compile": _compiles,
    "import": _loads,
    "ctypes.dlopen": _loads,
    "marshal.loads": _unmarshals,
    **dict.fromkeys(
        ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.kill", "os.killpg"), _starts
    ),
    "open": _opens,
    **dict.fromkeys(("os.remove", "os.rmdir", "os.rename", "shutil.rmtree", "shutil.move"), _changes),
    **dict.fromkeys(("os.link", "os.symlink"), lambda args, *more: _changes((args[1], args[-1]), *more)),
    **dict.fromkeys(
        ("sqlite3.connect", "os.truncate", "os.mkdir", "os.chmod", "os.chown"),
        lambda args, *more: _changes(args[:1], *more),
    ),
}
