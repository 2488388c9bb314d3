"""Watches what submitted code does in a student process, and writes down what no exercise needs. Prevents nothing.

In the process, before it imports the submission::

    finish = audit.watch(descriptor, names_of_the_students_files)
    ...  # import the submission
    finish()

On the judge's side, at any time: ``audit.read(data)`` with what has come through the descriptor.

The hook cannot be removed, and writes each event before what it is about happens. What it holds leads to nothing of
the grader: this module imports nothing of it at its top but `namespaces`, which imports nothing of it. A submission can
still write to the descriptor itself, so the judge takes what it reads for data, bounded: whoever forges a line reports
only himself.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from grader.student import namespaces

if TYPE_CHECKING:
    from grader.results import Flag

MOST_EVENTS: Final = 20
"""Events of one process that are written, each with its line once."""
MOST_BYTES: Final = 8192
"""Bytes of one process's events that are read."""
_MOST_UP: Final = 6

_EVENTS: Final[Mapping[str, str]] = {
    "sys._getframe": "looked at the frames of its callers",
    "sys._current_frames": "looked at the frames of all threads",
    "sys.settrace": "set a trace function",
    "sys.setprofile": "set a profile function",
    "sys.addaudithook": "added an audit hook",
    "gc.get_objects": "looked at all objects of the process",
    "gc.get_referrers": "looked for what refers to an object",
    "gc.get_referents": "looked for what an object refers to",
    "code.__new__": "made a code object",
    "marshal.loads": "read marshalled code",
    "compile": "compiled text",
    "exec": "ran text as code",
    "os.fork": "forked",
    "os.forkpty": "forked",
    "os.kill": "sent a signal",
    "os.killpg": "sent a signal",
    "os.exec": "replaced its process",
    "os.posix_spawn": "started a program",
    "os.system": "started a program",
    "subprocess.Popen": "started a program",
    "object.__getattr__": "looked inside a function or frame",
    "object.__setattr__": "changed a function's inside",
    "import": "imported what no exercise needs",
    "open": "opened a file of the system",
}
_FORGED: Final = "wrote into the grader's notes about it"
_CTYPES: Final = "called C functions by ctypes"
_UNNEEDED: Final = ("grader", "ctypes", "_ctypes", "faulthandler", "solutions", "checks")
_PLACES: Final = ("/proc/", "/dev/shm")


def watch(descriptor: int, files: Collection[str]) -> Callable[[], None]:
    """Begins to watch this process; call what it returns when the submission has been imported.

    Args:
        descriptor: where to write; it stays open.
        files: the names of the student's own files, as they are in code objects.
    """
    own = frozenset(files)
    write, getframe = os.write, sys._getframe
    standard = os.path.dirname(os.__file__) + os.sep
    packages = os.sep + "site-packages" + os.sep
    inspecting = standard + "inspect.py"
    events, places, unneeded = dict(_EVENTS), _PLACES, _UNNEEDED
    seen: set[tuple[str, str, int]] = set()
    busy: list[bool] = []

    def report(kind: str, what: str, file: str, line: int) -> None:
        key = (what, file, line)
        if key in seen or len(seen) >= MOST_EVENTS:
            return
        seen.add(key)
        name = file.rpartition("/")[2][:80]
        text = f"{kind}\t{what[:80]}\t{name}\t{line}\n".encode("utf-8", "replace")
        with contextlib.suppress(OSError):  # the submission has closed it, or nobody reads
            write(descriptor, text)

    def students_frame(frame: Any) -> Any:
        """The student's frame that did it: the caller, or above what it calls of the standard library or runs as text.

        What torch or another package does on its own is nobody's fault.
        """
        for _ in range(_MOST_UP):
            if frame is None:
                return None
            name = frame.f_code.co_filename
            if name in own:
                return frame
            is_text = name.startswith("<") and not name.startswith("<frozen")
            if not is_text and (packages in name or not name.startswith(standard) or "importlib" in name):
                return None
            frame = frame.f_back
        return None

    def hook(event: str, args: tuple[Any, ...]) -> None:
        what = events.get(event)
        if what is None and not event.startswith("ctypes."):
            return
        if busy:
            return
        busy.append(True)
        try:
            if event == "import":
                name = args[0]
                if type(name) is not str or name.partition(".")[0] not in unneeded:
                    return
                what = f"imported {name[:40]}"
            elif event == "open":
                name = args[0]
                if type(name) is not str or not name.startswith(places):
                    return
                what = f"opened {name[:40]}"
            frame = getframe(1)
            direct = event in ("exec", "compile", "sys._getframe", "object.__getattr__", "object.__setattr__")
            name = frame.f_code.co_filename
            is_text = name.startswith("<") and not name.startswith("<frozen")
            if direct and name not in own and name != inspecting and not is_text:
                return
            found = students_frame(frame)
            if found is not None:
                report("event", what or _CTYPES, found.f_code.co_filename, found.f_lineno)
        finally:
            busy.clear()

    before = namespaces.now()
    sys.addaudithook(hook)

    def finish() -> None:
        # While all is still noted: what stands for a module now may run code of the submission when it is looked at.
        replaced = [f"replaced {namespace.name}.{name}" for namespace in before for name in namespace.replaced()]
        busy.append(True)
        try:
            for what in replaced:
                report("replaced", what, "", 0)
        finally:
            busy.clear()
            before.clear()

    return finish


def read(data: bytes) -> list[Flag]:
    """The flags in what a process wrote; what is none of this module's lines was written by the submission itself."""
    from grader.border.failures import one_line
    from grader.results import Flag

    flags: dict[Flag, None] = {}
    for line in data[:MOST_BYTES].decode("utf-8", "replace").split("\n")[: 2 * MOST_EVENTS]:
        match line.split("\t"):
            case [""]:
                pass
            case ["event" | "replaced" as kind, what, file, number] if number.isascii() and number.isdecimal():
                place = min(int(number[:8]), 10_000_000)
                flag = Flag("event" if kind == "event" else "replaced", one_line(what), one_line(file), place)
                flags.setdefault(flag)
            case _:
                flags.setdefault(Flag("event", _FORGED))
    if len(data) > MOST_BYTES:
        flags.setdefault(Flag("event", _FORGED))
    return list(flags)[:MOST_EVENTS]
