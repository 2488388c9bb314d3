"""Memory that the judge and a student process share: there lie the tensors that a check passes to submitted code.

When a call has returned, the judge reads the memory itself and sees whether the arguments changed. The bytes are
data of a student process: they are compared with the tensors that were sent, and never used for anything else. No
message says which place a tensor has: both sides count it from the request alone.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from grader.border.messages import Request

ARENA_BYTES: Final = 32 << 20
"""Tensors beyond are in plain memory, and are not watched. Only memory that has held a tensor is really used."""
ALIGNMENT: Final = 64
_PASSING: Final = frozenset(
    {
        ("grader.testkit.watching", "watch"),
        ("grader.testkit.watching", "backpropagate"),
        ("grader.testkit.probes", "forward_modes"),
    }
)
"""Functions of the test kit that pass their arguments on to the submission."""


class Arena:
    """A piece of memory, as one of its two sides has it.

    Attributes:
        memory: the memory; None on the judge's side, which must not map memory that another process could cut short.
        descriptor: of the file behind the memory, on the judge's side; -1 elsewhere.
    """

    def __init__(self, memory: mmap.mmap | bytearray | None, descriptor: int = -1) -> None:
        self.memory = memory
        self.descriptor = descriptor

    @classmethod
    def create(cls, path: Path | None = None) -> Arena:
        """The judge's side of new memory, which `close` gives back.

        Args:
            path: a file that does not exist yet, if a student process cannot be given the descriptor.
        """
        if path is not None:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        elif hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("arguments", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        else:
            descriptor, name = tempfile.mkstemp()
            os.unlink(name)
        os.ftruncate(descriptor, ARENA_BYTES)
        with suppress(ImportError, AttributeError, OSError):
            import fcntl

            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        return cls(None, descriptor)

    @classmethod
    def attach(cls, file: int | Path) -> Arena:
        """The student process's side: maps the memory. A descriptor is closed, mapped or not."""
        descriptor = file if isinstance(file, int) else os.open(file, os.O_RDWR | getattr(os, "O_BINARY", 0))
        try:
            return cls(mmap.mmap(descriptor, ARENA_BYTES))
        finally:
            os.close(descriptor)

    @classmethod
    def local(cls) -> Arena:
        """Memory for both sides in one process."""
        return cls(bytearray(ARENA_BYTES))

    def read(self, offset: int, size: int) -> bytes:
        """The bytes that are there now; fewer if there is no such memory."""
        if self.memory is not None:
            return bytes(self.memory[offset : offset + size])
        read = b""
        with suppress(OSError):
            if hasattr(os, "pread"):
                read = os.pread(self.descriptor, size, offset)
            else:
                os.lseek(self.descriptor, offset, os.SEEK_SET)
                read = os.read(self.descriptor, size)
        return read

    def close(self) -> None:
        """Gives the judge's side back."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class Slots:
    """Counts the places of the tensors of watched requests, one after the other; equal on both sides.

    Attributes:
        next: the place of the next one.
    """

    def __init__(self) -> None:
        self.next = 0

    def take(self, size: int) -> int:
        """The offset of the next tensor, which may lie beyond the arena. One byte more is for `Marks`."""
        offset = self.next
        self.next += -(-(size + 1) // ALIGNMENT) * ALIGNMENT
        return offset

    @staticmethod
    def fits(offset: int, size: int) -> bool:
        """Whether a tensor lies in the arena; else it is in plain memory."""
        return offset + size < ARENA_BYTES


class Marks:
    """The byte behind a tensor: a change that its memory cannot show. The student process writes it after the call."""

    SAME: Final = 0
    SHAPE: Final = 1
    REQUIRES_GRAD: Final = 2
    UNREADABLE: Final = 3
    WORDS: Final = {
        SHAPE: "its shape, strides or dtype",
        REQUIRES_GRAD: "its `requires_grad`",
        UNREADABLE: "it can no longer be read",
    }


class Sent(NamedTuple):
    """One tensor that a check passed: its place, its name in messages, and the tree that it was sent as."""

    offset: int
    name: str
    tree: list[Any]

    @property
    def data(self) -> bytes:
        """The tensor's bytes."""
        data: bytes = self.tree[4]
        return data

    def is_kept(self, arena: Arena, start: int = 0) -> bool:
        """Whether the memory still holds the very bytes. Tensors that are not in the arena count as kept."""
        offset, size = start + self.offset, len(self.data)
        if not Slots.fits(offset, size):
            return True
        now = arena.read(offset, size + 1)
        return len(now) == size + 1 and now.startswith(self.data) and now[-1] == Marks.SAME


def is_watched(call: Request) -> bool:
    """Whether the tensors among a request's arguments lie in the arena: if it calls an object of submitted code."""
    if call.operation != "call" or not call.args:
        return False
    match call.args[0]:
        case ["f" | "h", *_]:
            return True
        case ["r", str(module), str(name)]:
            return (module, name) in _PASSING
    return False


def tensors_of(call: Request, slots: Slots) -> list[Sent]:
    """The tensors of a watched request, in the order in which they are decoded."""
    return [
        Sent(slots.take(len(tensor[4])), f"the tensor at {place} of {name}" if place else name, tensor)
        for name, tree in _arguments(call)
        for place, tensor in _inside("", tree)
    ]


def _arguments(call: Request) -> Iterator[tuple[str, Any]]:
    """The trees of a watched call's arguments, each with its name in messages; none for other calls."""
    if not is_watched(call):
        return
    positional: list[Any] = call.args[1:]
    named: list[tuple[str, Any]] = list(call.kwargs)
    if call.args[0][0] == "r":
        positional = call.args[2:]
        if call.args[0][1].endswith(".watching"):  # (function, [arguments], {named arguments}, ...)
            positional = call.args[2][1:]
            flat = call.args[3][1:]
            named = list(zip(flat[::2], flat[1::2], strict=True))
    for number, tree in enumerate(positional):
        yield f"its {_ORDINALS[number]} argument" if number < len(_ORDINALS) else f"its argument {number + 1}", tree
    for name, tree in named:
        yield f"its argument `{name}`", tree


_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth")


def _inside(place: str, tree: Any) -> Iterator[tuple[str, list[Any]]]:
    """The tensors of a tree, each with its place in it."""
    if type(tree) is not list or not tree:
        return
    if tree[0] == "T":
        yield place, tree
    elif tree[0] == "d":
        for key, item in zip(tree[1::2], tree[2::2], strict=True):
            yield from _inside(place, key)
            yield from _inside(f"{place}[{key!r}]", item)
    elif tree[0] in ("l", "t"):
        for number, item in enumerate(tree[1:]):
            yield from _inside(f"{place}[{number}]", item)
