"""Which files of a submission a test may read: text and arrays of numbers, and nothing that runs code."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import pickle
import pickletools
import re
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import torch
from torch import nn

_ARRAY: Final = b"\x93NUMPY"
_EXTENSIONS: Final = frozenset({"EXT1", "EXT2", "EXT4"})
_CALLS: Final = frozenset({"INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "REDUCE", "BUILD"}) | _EXTENSIONS
_NEVER: Final = _CALLS - {"REDUCE", "BUILD"} | {"STACK_GLOBAL"}
_GLOBAL: Final = re.compile(r"[\w.]+ [\w.]+")
"""A module and a name in it, as opposed to lines of ordinary text."""
_PUTS: Final = frozenset({"PUT", "LONG_BINPUT"})
_MADE: Final = "made"
"""The result of a call, on the stack that is followed."""
_BINARY_PICKLE: Final = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_MOST_BYTES: Final = 64 << 20
_MOST_OWN: Final = 10_000
_OF_TORCH: Final = re.compile(r"data\.pkl|data/\d+|version|byteorder|\.format_version|\.storage_alignment|\.data/\w+")
_REBUILDING: Final = frozenset(
    {"collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter"}
    | {
        f"torch {kind}Storage"
        for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Byte", "Bool")
    }
)
"""All that a file of `torch.save` names if it holds tensors and plain values."""
_OTHERS: Final = frozenset(
    {f"datetime {name}" for name in ("date", "time", "datetime", "timedelta", "timezone")}
    | {f"numpy {name}" for name in ("dtype", "ndarray")}
    | {f"numpy.{core}.multiarray {name}" for core in ("core", "_core") for name in ("_reconstruct", "scalar")}
    | {f"numpy.{core}.numeric _frombuffer" for core in ("core", "_core")}
    | {f"builtins {name}" for name in ("set", "frozenset", "bytearray", "complex", "range", "slice")}
    | {f"collections {name}" for name in ("deque", "Counter", "defaultdict")}
    | {"decimal Decimal", "fractions Fraction", "pathlib Path", "pathlib PosixPath", "pathlib._local PosixPath"}
    | {"_codecs encode", "torch.storage _load_from_bytes", "torch Size", "torch device"}
)
"""Other names that a test may unpickle: values of the standard library and NumPy, whose making does no harm."""


_LAYERS: Final = "torch.nn.modules."


class _Reading(threading.local):
    """Whether this thread reads a file that is no submission's word."""

    is_own = False


_reading: Final = _Reading()


class _Careful(pickle.Unpickler):
    """Unpickles for a test bytes that may be the submission's."""

    def find_class(self, module: str, name: str) -> Any:
        """The object with a name in a pickle, if it does no harm.

        Raises:
            UnpicklingError: it may run code.
        """
        module = "builtins" if module == "__builtin__" else module
        if _reading.is_own:
            return super().find_class(module, name)
        if f"{module} {name}" in _REBUILDING | _OTHERS:
            return super().find_class(module, name)
        if module == "torch" and isinstance(dtype := vars(torch).get(name), torch.dtype):
            return dtype
        kind = vars(sys.modules[module]).get(name) if module.startswith(_LAYERS) and module in sys.modules else None
        if not isinstance(kind, type) or not issubclass(kind, nn.Module):
            raise pickle.UnpicklingError(f"`{module}.{name}` of a pickle is not made in the grader's process")
        return kind


@contextlib.contextmanager
def unpickling_carefully(*folders: Path) -> Iterator[None]:
    """A test's `pickle` and `torch.load` call meanwhile nothing that a submission chooses.

    Args:
        folders: of the suite, with files of its own; submissions may lie beside them. All below pytest's temporary
            folder is its own, too: only `harmless` files of a submission come there. So is all that a test has pickled.
    """
    dumps, load, loads, torch_load = pickle.dumps, pickle.load, pickle.loads, torch.load
    own: set[bytes] = set()

    def dumps_(*args: Any, **kwargs: Any) -> bytes:
        made = dumps(*args, **kwargs)
        if len(own) >= _MOST_OWN:
            own.clear()
        own.add(hashlib.sha256(made).digest())
        return made

    def loads_(data: Any, /, **kwargs: Any) -> Any:
        is_own = hashlib.sha256(data).digest() in own
        return loads(data, **kwargs) if is_own else _Careful(io.BytesIO(data), **kwargs).load()

    def load_(file: Any, /, **kwargs: Any) -> Any:
        return load(file, **kwargs) if _is_own(file, folders) else _Careful(file, **kwargs).load()

    @functools.wraps(torch_load)
    def torch_load_(f: Any, *args: Any, **kwargs: Any) -> Any:
        before, _reading.is_own = _reading.is_own, _is_own(f, folders)
        try:
            return torch_load(f, *args, **kwargs)
        finally:
            _reading.is_own = before

    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"dumps": dumps_, "loads": loads_, "load": load_, "Unpickler": _Careful}.items():
            patch.setattr(pickle, name, value)
        patch.setattr(torch, "load", torch_load_)
        yield


def _is_own(file: Any, folders: Sequence[Path]) -> bool:
    """Whether a file, or one at this path, is the suite's own."""
    name = file.name if type(file) is io.BufferedReader else file
    if not isinstance(name, str | Path):
        return False
    whole = Path(name).resolve()
    return any(whole.is_relative_to(one.resolve()) for one in folders) or any(
        one.name.startswith("pytest-of-") and one.parent == Path(tempfile.gettempdir()).resolve() and _is_mine(one)
        for one in whole.parents
    )


def _is_mine(folder: Path) -> bool:
    """Whether this user has made a folder: anybody may make one among the temporary ones."""
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


def harmless(content: bytes) -> bytes | None:
    """A file as a test may read it; None unless it is text, plain data or arrays of numbers, which run no code.

    An archive is packed anew: readers differ in which of its parts they read, and only those seen here are judged.
    """
    if content.startswith(b"PK"):
        return _archive_of_numbers(content)
    if content.startswith(_ARRAY):
        return content if _is_array_of_numbers(content) else None
    if content.startswith(_BINARY_PICKLE):
        return content if _is_data(content) else None
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if b"\0" in content or _runs_code(content) else content


def _archive_of_numbers(content: bytes) -> bytes | None:
    """An archive of arrays of numbers alone, as `numpy.savez` and `torch.save` write them; None if it is another."""
    with contextlib.suppress(Exception), zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(one.file_size for one in archive.infolist()) > _MOST_BYTES:
            return None
        parts = {name: archive.read(name) for name in archive.namelist()}
        names = {name: name.partition("/")[2] or name for name in parts}
        pickles = [name for name, inside in names.items() if inside == "data.pkl"]
        if pickles and not (
            len(pickles) == 1
            and all(map(_OF_TORCH.fullmatch, names.values()))
            and _is_data(parts[pickles[0]], _REBUILDING)
        ):
            return None
        if not pickles and not all(name.endswith(".npy") and _is_array_of_numbers(one) for name, one in parts.items()):
            return None
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as anew:
            for name, one in parts.items():
                anew.writestr(name, one)
        return packed.getvalue()
    return None


def _is_array_of_numbers(content: bytes) -> bool:
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        *_, dtype = read(file)
    except Exception:  # the reader raises any, of a header that is none
        return False
    return not dtype.hasobject


def _runs_code(text: bytes) -> bool:
    """Whether a text is a pickle that calls something: its operations are followed, and none is done.

    Ordinary text begins with letters of operations, too, but they find nothing on the stack.
    """
    stack: list[pickletools.StackObject] = []
    has_global = False
    with contextlib.suppress(Exception):  # from here on it is no pickle
        for operation, argument, _ in pickletools.genops(text):
            taken = _taken(operation, stack)
            name = operation.name
            is_named = name in ("GLOBAL", "INST") and _GLOBAL.fullmatch(str(argument))
            has_global |= bool(is_named or name == "STACK_GLOBAL" or name in _EXTENSIONS)
            if (has_global and name in (*_CALLS, "STOP")) or _fills_memory(name, argument, text):
                return True
            del stack[len(stack) - len(taken) :]
            stack += operation.stack_after
    return False


def _fills_memory(name: str, number: Any, content: bytes) -> bool:
    """Whether an operation keeps a value under a number for which the reader makes room, up to it."""
    return name in _PUTS and number > len(content)


def _taken(operation: pickletools.OpcodeInfo, stack: list[Any]) -> list[Any]:
    """What an operation takes from the stack.

    Raises:
        ValueError: the stack has not as much.
    """
    count, mark = len(operation.stack_before), pickletools.markobject
    if mark in operation.stack_before:
        count = len(stack) - next(at for at in reversed(range(len(stack))) if stack[at] is mark)
    is_short = operation.name == "OBJ" and count < 2  # as in a text that begins with "(o"
    is_put = operation.name in _PUTS and (not stack or stack[-1] is mark)
    if len(stack) < count or is_short or is_put:
        raise ValueError("no pickle")
    return stack[len(stack) - count :]


def _is_data(content: bytes, allowed: Set[str] = frozenset()) -> bool:
    """Whether bytes are one pickle to their end, and it names and calls nothing else."""
    stack: list[Any] = []
    with contextlib.suppress(Exception):
        for operation, argument, place in pickletools.genops(content):
            taken = _taken(operation, stack)
            name = operation.name
            if name == "STOP":
                return place == len(content) - 1
            if (
                (name == "GLOBAL" and argument not in allowed)
                or name in _NEVER
                or _fills_memory(name, argument, content)
            ):
                return False
            if name == "BUILD" and taken[0] not in (_MADE, pickletools.pydict):  # else it may change a function
                return False
            if name == "MEMOIZE":
                continue
            del stack[len(stack) - len(taken) :]
            stack += [_MADE] if name == "REDUCE" else operation.stack_after
    return False
