"""Which files of a submission a test may read: text and arrays of numbers, and nothing that runs code."""

from __future__ import annotations

import contextlib
import io
import pickletools
from typing import Final

import numpy as np

_ARRAY: Final = b"\x93NUMPY"
_CALLS: Final = frozenset({"INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "REDUCE", "BUILD", "EXT1", "EXT2", "EXT4"})


def is_harmless(content: bytes) -> bool:
    """Whether a file is text, or an array of numbers: nothing that runs code if a test unpickles it."""
    if content.startswith(_ARRAY):
        return _is_array_of_numbers(content)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not (content.startswith(b"PK") or b"\0" in content or _runs_code(content))


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
            taken, mark = list(operation.stack_before), pickletools.markobject
            if mark in taken:
                taken = stack[next(at for at in reversed(range(len(stack))) if stack[at] is mark) :]
            if len(stack) < len(taken):
                break
            has_global |= operation.name == "GLOBAL"
            if operation.name in _CALLS or (has_global and operation.name == "STOP"):
                return True
            del stack[len(stack) - len(taken) :]
            stack += operation.stack_after
    return False
