"""Watches submitted code in a student process for the few events that honest code never raises. Prevents nothing.

In the process, before it imports the submission: ``audit.watch(descriptor, names_of_the_students_files)``. On the
judge's side, at any time: ``audit.read(data)`` with the bytes that have come through the descriptor.

The source says most (`grader.judge.scan`); an event shows a name that the source hides. A hook cannot be removed, and
each event is written before it takes effect. The hook holds nothing that leads to the grader: this module imports
nothing of it at its top. It must never run submitted code: it calls no method of an object that it is given, and no
function by a name that can be replaced. A submission can write to the descriptor itself, so the judge takes what it
reads for bounded data: if you forge a line, you report only yourself.
"""

from __future__ import annotations

import dis
import linecache
import os
import pathlib
import re
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from grader.results import Flag

MOST_EVENTS: Final = 20
"""Events of one process that are written, each with its line once."""
MOST_BYTES: Final = 8192
"""Bytes of one process's events that are read."""
MEMORY_FILES: Final = (
    r"/proc/[^/]+/(task/[^/]+/)?(mem|maps|smaps\w*|fd|fdinfo|map_files|pagemap|auxv|environ|root|cwd)\b|/dev/fd\b"
)
"""A regular expression: files that lead into a process's memory or open files. ``/proc/cpuinfo`` is not one."""
_FOLDERS: Final = r"/proc(/(self|thread-self|\d+)(/task(/\d+)?)?)?$"
"""Folders from which such a file can be opened by a short name."""
_MOST_UP: Final = 12

_OPENED: Final = "opened memory or open files of a process"
_FRAMES: Final = "looked at the frames of its callers"
_EVENTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("sys._getframe", "sys._current_frames", "sys._current_exceptions", "object.__getattr__"), _FRAMES),
    "object.__setattr__": "replaced the code of a function",
    "sys.settrace": "set a trace function",
    "gc.get_objects": "looked at all objects of the process",
    "gc.get_referrers": "looked for what refers to an object",
    "gc.get_referents": "looked for what an object refers to",
    "os.fork": "forked",
    "os.kill": "sent a signal",
    "import": "imported the grader",
    **dict.fromkeys(("open", "os.listdir", "os.scandir", "os.symlink", "fcntl.fcntl"), _OPENED),
}
_CTYPES: Final = "called C functions by ctypes"
_FORGED: Final = "wrote into the grader's notes about it"
_CLOSED: Final = "closed the grader's notes about it"
_PASSED_THROUGH: Final = ("inspect.py", "pathlib", "importlib", "codecs.py", "ctypes")
"""Modules of the standard library that only hand on the student's own call; others act for reasons of their own."""
_FRAME_GETTERS: Final = (
    *(("logging/__init__.py", name) for name in ("currentframe", "<lambda>")),
    *(("traceback.py", name) for name in ("walk_stack", "extract_stack")),
)
"""Functions of other such modules that hand on frames."""


def watch(descriptor: int, files: Collection[str], others: Collection[int] = ()) -> Callable[[], None]:
    """Begins to watch this process; there is no end to it.

    Returns:
        A function that notes which of the functions that the grader uses here have been replaced.

    Args:
        descriptor: where to write; it stays open.
        files: the names of the student's own files, as they are in code objects.
        others: more descriptors that no submission needs to open.
    """
    own, descriptors = frozenset(files), frozenset((descriptor, *others))
    write, getframe, getcwd, fspath, failure = os.write, sys._getframe, os.getcwd, os.fspath, OSError
    kind_of, is_kind, text_kind, byte_kind, number_kind = type, issubclass, str, bytes, int
    plain_text, decoded, plus, size, this_thread = str.__str__, bytes.decode, int.__add__, len, threading.get_ident
    path_kind = type(pathlib.Path())
    steps_up = range(_MOST_UP)
    standard = os.path.dirname(os.__file__) + os.sep
    installed = standard + "site-packages"
    passed_through = ("<", *(standard + name for name in _PASSED_THROUGH))
    getters = frozenset((standard + file, function) for file, function in _FRAME_GETTERS)
    of_tracebacks = (*passed_through, standard + "traceback.py")
    events = dict(_EVENTS)
    is_graders = re.compile(r"grader(\.|\Z)").match
    is_memory, leads_there = re.compile(MEMORY_FILES).match, re.compile(f"{MEMORY_FILES}|{_FOLDERS}").match
    leading_to_frames = frozenset(("tb_frame", "gi_frame", "cr_frame", "ag_frame"))
    seen: set[tuple[str, str, int]] = set()
    busy: set[int] = set()

    def path_text(path: Any) -> str:
        """A path of any kind, from the root on; one of the grader's own descriptors is an open file as others are."""
        kind = kind_of(path)  # `isinstance` would ask the object
        if is_kind(kind, number_kind):
            return "/dev/fd" if plus(path, 0) in descriptors else ""
        if is_kind(kind, text_kind):
            text = plain_text(path)
        elif is_kind(kind, byte_kind):
            text = decoded(path, "utf-8", "replace")
        elif kind is path_kind:
            text = fspath(path)
        else:
            return "/dev/fd"  # only the object knows; any other call than that of `io.FileIO` has asked it before
        if not text.startswith("/"):
            try:
                text = f"{getcwd()}/{text}"
            except failure:
                text = f"/{text}"
        parts: list[str] = []
        for part in text.split("/"):
            if part == "..":
                del parts[-1:]
            elif part not in ("", "."):
                parts.append(part)
        return "/" + "/".join(parts)

    wanted: dict[str, Callable[[tuple[Any, ...]], object]] = {
        "import": lambda args: is_kind(kind_of(args[0]), text_kind) and is_graders(plain_text(args[0])),
        "open": lambda args: leads_there(path_text(args[0])),
        "os.listdir": lambda args: args[0] is not None and is_memory(path_text(args[0])),
        "os.scandir": lambda args: args[0] is not None and is_memory(path_text(args[0])),
        "os.symlink": lambda args: leads_there(path_text(args[0])),
        "fcntl.fcntl": lambda args: args[0] in descriptors,
        "object.__getattr__": lambda args: args[1] in leading_to_frames,
        "object.__setattr__": lambda args: args[1] == "__code__",
    }

    def students_frame(frame: Any, text: str) -> Any:
        """The student's frame that raised an event itself, or by text that it ran; None if a library raised it."""
        is_open, through = text == _OPENED, passed_through
        if (frame.f_code.co_filename, frame.f_code.co_name) in getters:
            frame, through = frame.f_back, of_tracebacks
        for _ in steps_up:
            if frame is None or frame.f_code.co_filename in own:
                return frame
            file = frame.f_code.co_filename
            # Nothing that the standard library does by itself opens such a file.
            is_standard = is_open and file.startswith(standard) and not file.startswith(installed)
            if not is_standard and not file.startswith(through):
                return None
            frame = frame.f_back
        return None

    def note(text: str, frame: Any) -> None:
        key = (text, frame.f_code.co_filename, frame.f_lineno)
        if key not in seen and size(seen) < MOST_EVENTS:
            seen.add(key)
            write_line(f"{text}\t{key[1].rpartition('/')[2][:80]}\t{key[2]}\n")

    def write_line(line: str) -> None:
        try:  # noqa: SIM105 - submitted code can replace a part of `contextlib`
            write(descriptor, line.encode("utf-8", "replace"))
        except failure:  # the submission has closed it, or nobody reads
            pass

    def hook(event: str, args: tuple[Any, ...]) -> None:
        text = events.get(event) or (_CTYPES if event.startswith("ctypes.") else "")
        if not text or (thread := this_thread()) in busy:
            return
        busy.add(thread)
        try:
            is_wanted = wanted.get(event)
            if (is_wanted is None or is_wanted(args)) and (frame := students_frame(getframe(1), text)) is not None:
                note(text, frame)
        finally:
            busy.discard(thread)

    # A name in a class that it does not have yet would take the place of one that it inherits.
    functions = tuple(
        (vars(owner), f"{path}.{name}", name, vars(owner).get(name)) for owner, path, name in _used_here()
    )

    def look() -> None:
        for names, path, name, value in functions:
            if names.get(name) is not value and path not in replaced and size(replaced) < MOST_EVENTS:
                replaced.add(path)
                write_line(f"replaced {path}\t\t0\n")

    replaced: set[str] = set()
    sys.addaudithook(hook)
    return look


def _used_here() -> Iterator[tuple[Any, str, str]]:
    """Functions that the grader uses in this process, which no exercise needs to replace: where, and their names."""
    for owner, path, names in (
        (os, "os", "write"),
        (socket, "socket", "socket"),
        (socket.socket, "socket.socket", "send sendall recv"),
        (msgspec, "msgspec", "convert"),
        (msgspec.msgpack, "msgspec.msgpack", "encode decode Encoder Decoder"),
        (traceback, "traceback", "walk_tb"),
        (linecache, "linecache", "getline"),
        (dis, "dis", "opname"),
        (sys, "sys", "_getframe"),
    ):
        yield from ((owner, path, name) for name in names.split())


def closed() -> Flag:
    """The flag of a process that cannot be watched any more: it has closed its notes, and goes on."""
    from grader.results import Flag

    return Flag("event", _CLOSED)


def read(data: bytes) -> list[Flag]:
    """The flags in the bytes that a process wrote; the submission itself wrote any line that this module does not."""
    from grader.border.failures import one_line
    from grader.results import Flag

    flags: dict[Flag, None] = {}
    for line in filter(None, data[:MOST_BYTES].decode("utf-8", "replace").split("\n")[: 2 * MOST_EVENTS]):
        match line.split("\t"):
            case [text, file, number] if number.isascii() and number.isdecimal():
                flags.setdefault(Flag("event", one_line(text), one_line(file), min(int(number[:8]), 10_000_000)))
            case _:
                flags.setdefault(Flag("event", _FORGED))
    if len(data) > MOST_BYTES:
        flags.setdefault(Flag("event", _FORGED))
    return list(flags)[:MOST_EVENTS]
