"""Watches submitted code in a student process for the few events that honest code never raises. Prevents nothing.

In the process, before it imports the submission: ``audit.watch(descriptor, names_of_the_students_files)``. On the
judge's side, at any time: ``audit.read(data)`` with the bytes that have come through the descriptor.

The source says most (`grader.judge.scan`); an event shows a name that the source hides. A hook cannot be removed, and
each event is written before it takes effect. The hook holds nothing that leads to the grader: this module imports
nothing of it at its top. A submission can write to the descriptor itself, so the judge takes what it reads for bounded
data: if you forge a line, you report only yourself.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from grader.results import Flag

MOST_EVENTS: Final = 20
"""Events of one process that are written, each with its line once."""
MOST_BYTES: Final = 8192
"""Bytes of one process's events that are read."""
MEMORY_FILES: Final = r"/proc/[^/]+/(task/[^/]+/)?(mem|maps|smaps\w*|fd|fdinfo|map_files|pagemap|environ|root|cwd)\b"
"""A regular expression: files that lead into a process's memory or open files. ``/proc/cpuinfo`` is not one."""
_MOST_UP: Final = 6

_EVENTS: Final[Mapping[str, str]] = {
    "sys._getframe": "looked at the frames of its callers",
    "sys.settrace": "set a trace function",
    "gc.get_objects": "looked at all objects of the process",
    "gc.get_referrers": "looked for what refers to an object",
    "gc.get_referents": "looked for what an object refers to",
    "os.fork": "forked",
    "os.kill": "sent a signal",
    "import": "imported the grader",
    "open": "opened memory or open files of a process",
}
_CTYPES: Final = "called C functions by ctypes"
_FORGED: Final = "wrote into the grader's notes about it"
_PASSED_THROUGH: Final = ("inspect.py", "pathlib", "importlib", "codecs.py", "ctypes")
"""Modules of the standard library that only hand on the student's own call; others act for reasons of their own."""


def watch(descriptor: int, files: Collection[str]) -> None:
    """Begins to watch this process; there is no end to it.

    Args:
        descriptor: where to write; it stays open.
        files: the names of the student's own files, as they are in code objects.
    """
    own = frozenset(files)
    write, getframe = os.write, sys._getframe
    standard = os.path.dirname(os.__file__) + os.sep
    passed_through = ("<", *(standard + name for name in _PASSED_THROUGH))
    events = dict(_EVENTS)
    wanted = {"import": re.compile(r"grader(\.|\Z)").match, "open": re.compile(MEMORY_FILES).match}
    seen: set[tuple[str, str, int]] = set()
    busy: list[bool] = []

    def students_frame(frame: Any) -> Any:
        """The student's frame that raised an event itself, or by text that it ran; None if a library raised it."""
        for _ in range(_MOST_UP):
            if frame is None or frame.f_code.co_filename in own:
                return frame
            if not frame.f_code.co_filename.startswith(passed_through):
                return None
            frame = frame.f_back
        return None

    def note(text: str, frame: Any) -> None:
        key = (text, frame.f_code.co_filename, frame.f_lineno)
        if key not in seen and len(seen) < MOST_EVENTS:
            seen.add(key)
            line = f"{text}\t{key[1].rpartition('/')[2][:80]}\t{key[2]}\n"
            with contextlib.suppress(OSError):  # the submission has closed it, or nobody reads
                write(descriptor, line.encode("utf-8", "replace"))

    def hook(event: str, args: tuple[Any, ...]) -> None:
        text = events.get(event) or (_CTYPES if event.startswith("ctypes.") else "")
        if not text or busy:
            return
        if event in wanted and not (type(args[0]) is str and wanted[event](args[0])):
            return
        busy.append(True)
        try:
            if (frame := students_frame(getframe(1))) is not None:
                note(text, frame)
        finally:
            busy.clear()

    sys.addaudithook(hook)


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
