"""A student process: imports the topic and answers the judge's calls. The only place where submitted code runs.

From the import on nothing that it sends is trusted. It holds no check and no expected answer. A leader forks it; it
can take part in an exercise, be one of several ranks, or stand beside the submission without importing it.
"""

import faulthandler
import importlib.util
import itertools
import os
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Final, NamedTuple, NoReturn

from grader.border import frames, wire
from grader.border.arena import Arena
from grader.border.frames import FrameReader
from grader.border.messages import Imported, SetUp, Start
from grader.border.output import flush_output, use_output
from grader.border.service import WRONG_ANSWERS, Service
from grader.sandbox import kernel
from grader.student import audit
from grader.student.definitions import load_definitions
from grader.student.work_folder import forget_listing
from grader.testkit.marking import misconception

DUMP_SIGNAL: Final = getattr(signal, "SIGUSR1", None)
"""Makes a forked student process write where it is, to a descriptor of its own."""
_noted: tuple[int, list[str]] = (0, [])
"""How many modules were loaded, and which of them are the grader's."""
_TIMERS: Final = ("SIGALRM", "SIGVTALRM", "SIGPROF")


class StudentTask(NamedTuple):
    """All that a student process is given for its life.

    Attributes:
        folder: the work folder, with the submission's files.
        modules: the modules whose functions a check may run here, by name.
        kit: those of them that are the course's own.
        hidden: the modules that `hide_grader` took out of ``sys.modules`` before the fork; none if it did not run.
    """

    order: Start
    setup: SetUp
    folder: Path
    modules: Mapping[str, ModuleType]
    kit: Mapping[str, ModuleType]
    hidden: Mapping[str, ModuleType] = MappingProxyType({})


def live(task: StudentTask, descriptors: Mapping[str, int]) -> NoReturn:
    """The whole life of a student process, from its fork on.

    Args:
        descriptors: ``calls``, ``prints``, ``errors`` and ``dumps``; ``arena``, where tensors are watched, and
            ``events``, where submitted code is.
    """
    try:
        if not task.order.imports:
            sys.modules.update(task.hidden)
        kernel.die_with_parent()
        kernel.close_all_but({0, 1, 2, *descriptors.values()})
        use_output(descriptors["prints"], descriptors["errors"])
        if DUMP_SIGNAL is not None:
            faulthandler.register(DUMP_SIGNAL, file=descriptors["dumps"], all_threads=False)
        calls = socket.socket(fileno=descriptors["calls"])
        arena = Arena.attach(descriptors["arena"]) if "arena" in descriptors else None
        import_and_serve(task, calls, arena, descriptors.get("events", -1))
    except BaseException:
        os._exit(70)
    os._exit(0)


def import_and_serve(task: StudentTask, calls: socket.socket, arena: Arena | None, events: int) -> None:
    """Imports the submission, if the order says so, and answers calls until the judge hangs up.

    Args:
        events: a descriptor for notes on the actions of submitted code; -1 for none.
    """
    for name in _TIMERS:
        if hasattr(signal, name):
            # A timer that a module sets, and does not handle, ends nothing.
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    imported = Imported()
    if task.order.imports:
        service, imported = _import(task, calls, arena, events)
    else:
        service = Service(ModuleType("outside"), frozenset(), modules=task.modules)
    flush_output()
    if service is not None:
        frames.send(calls, wire.pack(imported))
        serve(calls, service)


def serve(calls: socket.socket, service: Service) -> None:
    """Answers calls until the judge hangs up."""
    requests = FrameReader()
    while data := calls.recv(1 << 18):
        requests.feed(data)
        while (request := requests.next()) is not None:
            reply = service.answer(request)
            flush_output()
            # One by one: a crash in the next call must not lose this reply.
            frames.send(calls, reply)


def _import(
    task: StudentTask, calls: socket.socket, arena: Arena | None, events: int
) -> tuple[Service | None, Imported]:
    """Imports the submission; also the parts left out. No service if that raised: then the exception was sent."""
    order, setup, folder, modules, kit, hidden = task
    files = frozenset(str(folder / name) for name in setup.files)
    if events >= 0 and order.bindings is None:  # not the course's own
        audit.watch(events, files)
    reporter = Service(ModuleType(setup.topic), files, modules=modules)
    overlay: dict[str, object] = {}
    # Here only: a process that never imports the submission must not find its files by a late import of its own either.
    sys.path.insert(0, str(folder))
    sys.argv = [f"{setup.topic}.py"]
    if order.bindings is None and not hidden:
        hide_grader(kit)
    _uncover_own_files(kit, set(setup.files))
    imported = Imported()
    file = folder / f"{setup.topic}.py"
    try:
        if order.definitions is None:
            module = import_file(setup.topic, file)
        else:
            module, imported = load_definitions(setup.topic, file, order.definitions, reporter.describe)
        if order.bindings is not None:
            wrong = import_file(WRONG_ANSWERS, folder / f"{WRONG_ANSWERS}.py")
            overlay = {name: getattr(wrong, other) for name, other in order.bindings}
            hide_grader(kit)
    except BaseException as error:
        flush_output()
        frames.send(calls, wire.pack(reporter.describe(error)))
        return None, imported
    if hasattr(signal, "setitimer"):
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)  # one that was set at import would end some exercise, by chance
    return Service(module, files, overlay, modules, arena), imported


def note_modules() -> None:
    """Remembers which modules are loaded, so that processes forked from now on need not look through them all.

    To look at a name writes to its memory, which the fork then copies: 4 MB for two thousand names.
    """
    global _noted
    _noted = len(sys.modules), [name for name in [*sys.modules] if _is_graders(name)]


def _is_graders(name: str) -> bool:
    return name == "grader" or name.startswith("grader.")


def _graders_modules() -> list[str]:
    count, names = _noted
    newer = itertools.islice(reversed(sys.modules), max(len(sys.modules) - count, 0))
    return [name for name in (*names, *filter(_is_graders, list(newer))) if name in sys.modules]


def hide_grader(kit: Mapping[str, ModuleType]) -> dict[str, ModuleType]:
    """Takes the grader and the course's kit out of ``sys.modules``: patches there have no effect on them.

    Where a module defines classes, one with these alone takes its place: pickling an object looks its class up there.
    So does one for ``grader.testkit`` with the mark of wrong answers, which does nothing.

    Returns:
        the modules that it has taken out, by name.
    """
    hidden = {name: sys.modules.pop(name) for name in {*_graders_modules(), *kit} if name in sys.modules}
    for name in {*kit, "grader", "grader.testkit", "grader.testkit.models", "grader.testkit.recipes"} & hidden.keys():
        own = {key: value for key, value in [*vars(hidden[name]).items()] if getattr(value, "__module__", "") == name}
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = []
        vars(sys.modules[name]).update({key: value for key, value in own.items() if isinstance(value, type)})
    if "grader.testkit" in hidden:
        vars(sys.modules["grader.testkit"])["misconception"] = misconception
    return hidden


def _uncover_own_files(kit: Mapping[str, ModuleType], files: set[str]) -> None:
    """Where a student's own file has the kit's name, their ``import`` finds their file."""
    taken = {name.partition(".")[0] for name in kit} & {name.split("/")[0].removesuffix(".py") for name in files}
    for name in list(sys.modules) if taken else ():
        if name.partition(".")[0] in taken:
            del sys.modules[name]


def import_file(name: str, path: Path) -> ModuleType:
    """Imports a file under a name."""
    forget_listing(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # An import alone would accept bytes in comments that no script may have.
    importlib.util.decode_source(path.read_bytes())
    spec.loader.exec_module(module)
    return module
