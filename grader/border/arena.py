"""Memory that the judge and a student process share: there lie the tensors that a check passes to submitted code.

When a call has returned, the judge reads the memory itself and sees whether the arguments changed. The bytes are
data of a student process: they are compared with the tensors that were sent, and never used for anything else. No
message says which place a tensor has: both sides count it from the request alone. The student process (`Placing`) only
does the rest: a tensor that is no longer in its place is copied back, and a code says if its shape changed. A tensor
that cannot be read any more counts as changed.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch

from grader.border import tensor_facts
from grader.border.messages import Request

ARENA_BYTES: Final = 32 << 20
"""Tensors beyond are in plain memory, and are not watched. Only memory that has held a tensor is really used."""
ALIGNMENT: Final = 64
SAME, SHAPE, REQUIRES_GRAD, UNREADABLE = range(4)
"""The byte behind a tensor: a change that its memory cannot show. The student process writes it after the call."""
WORDS: Final = ("", "its shape, strides or dtype", "its `requires_grad`", "it can no longer be read")
"""These changes in words."""
_NOTE_BYTES: Final = 1024
_CROWDED: Final = ARENA_BYTES // 4
"""Beyond this place, garbage is collected before it is decided which tensors are still in use."""
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth")
_PASSING: Final = (
    ("grader.testkit.watching", "watch"),
    ("grader.testkit.watching", "backpropagate"),
    ("grader.testkit.watching", "record_prints"),
    ("grader.testkit.probes", "forward_modes"),
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
        with contextlib.suppress(ImportError, AttributeError, OSError):  # where a system or a file has no seals
            import fcntl

            # A student process has the memory's file too: it could fill a machine by making it longer.
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
        with contextlib.suppress(OSError):
            if hasattr(os, "pread"):
                return os.pread(self.descriptor, size, offset)
            os.lseek(self.descriptor, offset, os.SEEK_SET)
            return os.read(self.descriptor, size)
        return b""

    def note(self, text: str) -> None:
        """On the student's side, before there are tensors: leaves a line for the judge, who reads it if this ends."""
        assert self.memory is not None
        line = text.encode("utf-8", "backslashreplace")[: _NOTE_BYTES - 1] + b"\n"
        self.memory[: len(line)] = line

    def noted(self) -> str:
        """On the judge's side: the line that the student process has left; untrusted."""
        return self.read(0, _NOTE_BYTES).partition(b"\n")[0].decode("utf-8", "replace")

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

    def take(self, size: int) -> int | None:
        """The offset of the next tensor and its code, one byte; None if it lies beyond the arena, in plain memory."""
        offset = self.next
        self.next += -(-(size + 1) // ALIGNMENT) * ALIGNMENT
        return offset if offset + size < ARENA_BYTES else None


# ---------------------------------------------------------------- the tensors of a request


class Sent(NamedTuple):
    """One tensor that a check passed: its place, if it has one, its name in messages, and its tree in the request."""

    offset: int | None
    name: str
    tree: list[Any]


def is_watched(call: Request) -> bool:
    """Whether the tensors among a request's arguments lie in the arena: if it calls an object of submitted code."""
    if call.operation != "call" or not call.args:
        return False
    tag, *place = call.args[0] if type(call.args[0]) is list and call.args[0] else [None]
    return tag in ("f", "h") or (tag == "r" and tuple(place) in _PASSING)


def tensors_of(call: Request, slots: Slots) -> list[Sent]:
    """The tensors of a request in the order in which they are decoded; none if it is not a watched one."""
    return [
        Sent(slots.take(len(tensor[4])), f"the tensor at {place} of {name}" if place else name, tensor)
        for name, tree in (_arguments(call) if is_watched(call) else ())
        for place, tensor in _inside("", tree)
    ]


def _arguments(call: Request) -> Iterator[tuple[str, Any]]:
    """The trees of a watched call's arguments, each with its name in messages."""
    function, *positional = call.args
    named = list(call.kwargs)
    if function[0] == "r":
        positional = positional[1:]
        if function[1].endswith(".watching"):  # (function, [arguments], {named arguments}, ...)
            flat = positional[1][1:]
            positional, named = positional[0][1:], list(zip(flat[::2], flat[1::2], strict=True))
    for number, tree in enumerate(positional):
        yield f"its {_ORDINALS[number]} argument" if number < len(_ORDINALS) else f"its argument {number + 1}", tree
    for name, tree in named:
        yield f"its argument `{name}`", tree


def _inside(place: str, tree: Any) -> Iterator[tuple[str, list[Any]]]:
    """The tensors and arrays of a tree, each with its place in it."""
    match tree:
        case ["T" | "n", *_]:
            yield place, tree
        case ["d", *parts]:
            for key, item in zip(parts[::2], parts[1::2], strict=True):
                yield from _inside(place, key)
                yield from _inside(f"{place}[{key!r}]", item)
        case ["l" | "t" | "g", *items]:
            for number, item in enumerate(items):
                yield from _inside(f"{place}[{number}]", item)


# ---------------------------------------------------------------- the student process's side


class _Placed(NamedTuple):
    """A tensor, its memory as a tensor of the first shape, the place of its code, and its form."""

    tensor: torch.Tensor
    view: torch.Tensor
    code: int
    form: tuple[object, ...]


class Placing:
    """Puts the tensors of a service's calls into an arena, which must have been attached, or be local."""

    def __init__(self, arena: Arena) -> None:
        assert arena.memory is not None
        self._memory = arena.memory
        self._slots = Slots()
        self._last_code: int | None = None
        self._placed: list[_Placed] = []
        self._alive: list[tuple[weakref.ref[memoryview], int]] = []

    def put(self, data: bytes, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor] | tuple[None, None]:
        """Two flat tensors in the same memory, of these bytes; None for one that is in plain memory.

        Each has a storage of its own: ``share_memory_`` moves the storage of one that submitted code gets, and with it
        all tensors of that storage. Called once for each tensor.
        """
        self._last_code = None
        if (offset := self._slots.take(len(data))) is None:
            return None, None
        self._last_code = end = offset + len(data)
        self._memory[offset : end + 1] = data + bytes([SAME])
        if not data:
            return None, None
        piece = memoryview(self._memory)[offset:end]
        self._alive.append((weakref.ref(piece), self._slots.next))
        return torch.frombuffer(piece, dtype=dtype), torch.frombuffer(piece, dtype=dtype)

    def keep(self, tensor: torch.Tensor, view: torch.Tensor) -> None:
        """Remembers the tensor made of the bytes that were put last, and its place as a tensor of the same shape."""
        if self._last_code is not None:
            self._placed.append(_Placed(tensor, view, self._last_code, tensor_facts.form(tensor)))

    def finish_call(self) -> None:
        """Makes the memory show how the call changed the tensors that were passed to it."""
        placed, self._placed = self._placed, []
        for one in placed:  # before a look runs code of a subclass, which may raise anything, or end the loop
            self._memory[one.code] = UNREADABLE
        for one in placed:
            with contextlib.suppress(Exception):
                self._memory[one.code] = _looked_at(one)

    def restart(self) -> int:
        """The place of the next tensor, once nothing of the last check is needed any more.

        Memory is used again only if no tensor is left in it: submitted code may keep its arguments.
        """
        self._placed.clear()
        if self._end() > _CROWDED:
            gc.collect()
        self._slots.next = self._end()
        return self._slots.next

    def _end(self) -> int:
        self._alive = [(piece, end) for piece, end in self._alive if piece() is not None]
        return max((end for _, end in self._alive), default=0)


def _looked_at(one: _Placed) -> int:
    """The code of a tensor; copies it back if it is no longer in its place."""
    requires_grad, *form = tensor_facts.form(one.tensor)
    if form != list(one.form[1:]):
        return SHAPE
    if requires_grad != one.form[0]:
        return REQUIRES_GRAD
    if tensor_facts.start(one.tensor) != tensor_facts.start(one.view):
        tensor_facts.copy(one.view, tensor_facts.plain(one.tensor))
    return SAME
