"""Which files of a submission a test may read: text and arrays of numbers, and nothing that runs code."""

from __future__ import annotations

import contextlib
import io
import pickletools
import re
import zipfile
from collections.abc import Set
from typing import Any, Final

import numpy as np

_ARRAY: Final = b"\x93NUMPY"
_CALLS: Final = frozenset({"INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "REDUCE", "BUILD", "EXT1", "EXT2", "EXT4"})
_NEVER: Final = _CALLS - {"REDUCE", "BUILD"} | {"STACK_GLOBAL"}
_MADE: Final = "made"
"""What a call gives, on the stack that is followed."""
_BINARY_PICKLE: Final = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_MOST_BYTES: Final = 64 << 20
_OF_TORCH: Final = re.compile(r"data\.pkl|data/\d+|version|byteorder|\.format_version|\.storage_alignment|\.data/\w+")
_REBUILDING: Final = frozenset(
    {"collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter"}
    | {
        f"torch {kind}Storage"
        for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Byte", "Bool")
    }
)
"""All that a file of `torch.save` names if it holds tensors and plain values."""


def is_harmless(content: bytes) -> bool:
    """Whether a file is text, plain data, or arrays of numbers: nothing that runs code if a test unpickles it."""
    if content.startswith(_ARRAY):
        return _is_array_of_numbers(content)
    if content.startswith(b"PK"):
        return _is_archive_of_numbers(content)
    if content.startswith(_BINARY_PICKLE):
        return _is_data(content)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in content and not _runs_code(content)


def _is_archive_of_numbers(content: bytes) -> bool:
    """Whether an archive holds arrays of numbers alone, as `numpy.savez` and `torch.save` write them."""
    with contextlib.suppress(Exception), zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(one.file_size for one in archive.infolist()) > _MOST_BYTES:
            return False
        names = [one.partition("/")[2] or one for one in archive.namelist()]
        if all(name.endswith(".npy") for name in names):
            return all(_is_array_of_numbers(archive.read(one)) for one in archive.namelist())
        if names.count("data.pkl") == 1 and all(_OF_TORCH.fullmatch(name) for name in names):
            return _is_data(archive.read(archive.namelist()[names.index("data.pkl")]), _REBUILDING)
    return False


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
        for operation, _, _ in pickletools.genops(text):
            taken = _taken(operation, stack)
            has_global |= operation.name == "GLOBAL"
            if operation.name in _CALLS or (has_global and operation.name == "STOP"):
                return True
            del stack[len(stack) - len(taken) :]
            stack += operation.stack_after
    return False


def _taken(operation: pickletools.OpcodeInfo, stack: list[Any]) -> list[Any]:
    """What an operation takes from the stack.

    Raises:
        ValueError: the stack has not as much.
    """
    count, mark = len(operation.stack_before), pickletools.markobject
    if mark in operation.stack_before:
        count = len(stack) - next(at for at in reversed(range(len(stack))) if stack[at] is mark)
    if len(stack) < count:
        raise ValueError("no pickle")
    return stack[len(stack) - count :]


def _is_data(pickle: bytes, allowed: Set[str] = frozenset()) -> bool:
    """Whether bytes are one pickle to their end, and it names and calls nothing else."""
    stack: list[Any] = []
    with contextlib.suppress(Exception):
        for operation, argument, place in pickletools.genops(pickle):
            taken = _taken(operation, stack)
            name = operation.name
            if name == "STOP":
                return place == len(pickle) - 1
            if (name == "GLOBAL" and argument not in allowed) or name in _NEVER:
                return False
            if name == "BUILD" and taken[0] not in (_MADE, pickletools.pydict):  # else it may change a function
                return False
            if name == "MEMOIZE":
                continue
            del stack[len(stack) - len(taken) :]
            stack += [_MADE] if name == "REDUCE" else operation.stack_after
    return False
