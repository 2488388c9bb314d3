"""A student process: imports the topic and answers the judge's calls. The only place where submitted code runs.

From the import on nothing that it sends is trusted. It holds no check and no expected answer. A leader forks it, or it
is a new Python; it can take part in an exercise, be one of several ranks, or stand beside the submission without
importing it. Here is also the part of its life before that: it, or the warm host that it is forked from, is sent orders
by the judge, and loads modules, so that no submission pays for it.
"""

import contextlib
import faulthandler
import importlib
import itertools
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple, NoReturn, TypeAlias

import msgspec
import torch

from grader import machine
from grader.border import frames, wire
from grader.border.arena import Arena
from grader.border.frames import FrameReader
from grader.border.messages import Bindings, Imported, LoadOrder, Raised, SetUp, Start, StatementPlace
from grader.border.output import flush_output, use_output
from grader.border.service import WRONG_ANSWERS, Service
from grader.errors import CourseError
from grader.kit import Kit, load
from grader.machine import Devices
from grader.sandbox import kernel
from grader.sandbox.limits import Limits
from grader.student import audit, late_dynamo
from grader.student.statements import NothingLoaded, import_file, load_topic
from grader.testkit._ranks import launch
from grader.testkit.decorators import misconception

DUMP_SIGNAL: Final = getattr(signal, "SIGUSR1", None)
"""Makes a forked student process write where it is, to a descriptor of its own."""
_noted: tuple[int, list[str]] = (0, [])
"""How many modules were loaded, and which of them are the grader's."""


# ---------------------------------------------------------------- orders to the warm host, or to a spawned process


class Prepare(msgspec.Struct, frozen=True, tag=True):
    """The first order: the settings of all student processes. Answers: `Ready`, `Refused`.

    Attributes:
        hidden: files and folders that no student process may see.
        preload: modules to import before the first fork.
        kit: name and folder of the course's own recipes and probes, loaded before the first fork too.
    """

    limits: Limits
    hidden: list[str]
    preload: list[str]
    devices: Devices
    kit: tuple[str, str] | None = None


class Spawn(msgspec.Struct, frozen=True, tag=True):
    """Starts a topic's leader, whose socket comes with the order. Answers: `Ready`, `Refused`."""


HostOrder: TypeAlias = Prepare | Spawn


class Ready(msgspec.Struct, frozen=True, tag=True):
    """All is loaded, or the leader has been started.

    Attributes:
        layers: those of the sandbox, which all processes get that the host forks; none for a spawned process.
        process: the id of the leader, or of a spawned process, which on Windows is not that of the program started.
    """

    layers: tuple[str, ...] = ()
    process: int = 0


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The course's ``preload`` or kit cannot be loaded, or no process can be started."""

    reason: str


class Loading(msgspec.Struct, frozen=True, tag=True):
    """Sent before an answer to `Prepare`: what of the course is being loaded; empty when it has been."""

    what: str = ""


Answer: TypeAlias = Ready | Refused


class Connect(msgspec.Struct, frozen=True, tag=True):
    """First message, on standard input: the port where the judge waits, a token by which it knows this process, and
    the settings."""

    port: int
    token: bytes
    order: Prepare


class Hello(msgspec.Struct, frozen=True, tag=True):
    """First message to the judge on a new connection."""

    token: bytes
    answer: Answer


class Begin(msgspec.Struct, frozen=True, tag=True):
    """The task of this process: to be a student process of a topic, or one that never imports the submission.

    Attributes:
        folder: the work folder, where the submission's files are; in ``setup`` they have no content.
        files: for standard output, standard error, its stack when it is asked, notes on its actions, and the arena.
    """

    setup: SetUp
    start: Start
    folder: str
    files: list[str]


# ---------------------------------------------------------------- before submitted code may run


class CannotLoad(Exception):
    """The course's ``preload`` or kit cannot be loaded; its text is for the author of the course."""


def load_modules(
    order: Prepare, loading: Callable[[str], AbstractContextManager[None]]
) -> tuple[Mapping[str, ModuleType], Mapping[str, ModuleType]]:
    """Imports the modules whose functions checks may run here, by name: all of them, and those of the course's kit.

    Args:
        loading: returns a context in which one setting of the course is loaded, which may end this process.

    Raises:
        CannotLoad: a module of ``preload`` or the kit cannot be loaded.
    """
    os.environ.update(machine.gpu_environment(order.devices))  # before anything asks for a GPU
    from grader.testkit import devices, in_student_process

    for module in order.preload:
        with loading(setting := f"`preload = [{module!r}]`"):
            try:
                importlib.import_module(module)
            except BaseException as error:  # also one that wants to end the process
                text = " ".join([f"{type(error).__name__}:", *str(error).split()]).removesuffix(":")
                raise CannotLoad(f"{setting}: {text}") from error
    late_dynamo.install()
    kit: Mapping[str, ModuleType] = {}
    if order.kit:
        name, folder = order.kit
        with loading(f"`kit = {name!r}`"):
            try:
                kit = load(Kit(name=name, folder=Path(folder)))
            except (CourseError, KeyboardInterrupt) as error:
                raise CannotLoad(str(error) or f"`kit = {name!r}`: KeyboardInterrupt") from error
    devices.choose(order.devices)
    _warm_up(backward=order.devices == "simulated")
    return {**in_student_process.MODULES, **kit}, kit


def _warm_up(backward: bool) -> None:
    """Uses torch and the message format once, because both are slow at first.

    Args:
        backward: whether autograd's engine may start: where it sees a GPU it starts threads, and forbids forks.
    """
    x = torch.ones(2, 2, requires_grad=True)
    y = (x @ x).sum()
    if backward:
        torch.autograd.grad(y, x)
    torch.random.get_rng_state()
    kinds: list[type] = [msgspec.Struct]
    for kind in kinds:
        kinds += kind.__subclasses__()
        with contextlib.suppress(NameError, TypeError):
            msgspec.msgpack.Decoder(kind)  # looks up its types, in modules that student processes hide


def note_modules() -> None:
    """Remembers which modules are loaded, so that processes forked from now on need not look through them all.

    To look at a name writes to its memory, which the fork then copies: 4 MB for two thousand names.
    """
    global _noted
    _noted = len(sys.modules), [name for name in [*sys.modules] if _is_graders(name)]


def _is_graders(name: str) -> bool:
    return name == "grader" or name.startswith("grader.")


def _hide_grader(kit: Mapping[str, ModuleType]) -> None:
    """Takes the grader and the course's kit out of ``sys.modules``: patches there have no effect on them.

    Where a module defines classes, one with these alone takes its place: pickling an object looks its class up there.
    So does one for ``grader.testkit`` with the mark of wrong answers, which does nothing.
    """
    count, names = _noted
    newer = [*itertools.islice(reversed(sys.modules), max(len(sys.modules) - count, 0))]
    names = [*names, *filter(_is_graders, newer), *kit]
    hidden = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    for name in {*kit, "grader", "grader.testkit", "grader.testkit.models", "grader.testkit.recipes"} & hidden.keys():
        own = {key: value for key, value in [*vars(hidden[name]).items()] if getattr(value, "__module__", "") == name}
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = []
        vars(sys.modules[name]).update({key: value for key, value in own.items() if isinstance(value, type)})
    if "grader.testkit" in hidden:
        vars(sys.modules["grader.testkit"])["misconception"] = misconception


# ---------------------------------------------------------------- with submitted code


class StudentTask(NamedTuple):
    """All that a student process is given for its life.

    Attributes:
        folder: the work folder, with the submission's files.
        modules: the modules whose functions a check may run here, by name.
        kit: those of them that are the course's own.
    """

    order: Start
    setup: SetUp
    folder: Path
    modules: Mapping[str, ModuleType]
    kit: Mapping[str, ModuleType]


def live(task: StudentTask, descriptors: Sequence[int]) -> NoReturn:
    """The whole life of a student process, from its fork on.

    Args:
        descriptors: for calls, prints, errors, its stack, notes on the actions of submitted code, and the arena.
    """
    try:
        kernel.die_with_parent()
        kernel.close_all_but({0, 1, 2, *descriptors})
        calls, prints, errors, dumps, events, arena = descriptors
        use_output(prints, errors)
        if DUMP_SIGNAL is not None:
            faulthandler.register(DUMP_SIGNAL, file=dumps, all_threads=False)
        import_and_serve(task, socket.socket(fileno=calls), Arena.attach(arena), events)
    except BaseException:
        os._exit(70)
    os._exit(0)


def import_and_serve(task: StudentTask, calls: socket.socket, arena: Arena, events: int) -> None:
    """Imports the submission, if the order says so, and answers calls until the judge closes the socket.

    Args:
        events: a descriptor for notes on the actions of submitted code.
    """
    for name in ("SIGALRM", "SIGVTALRM", "SIGPROF"):
        if hasattr(signal, name):
            # A timer that a module sets, and does not handle, ends nothing.
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    service, imported = Service(ModuleType("outside"), frozenset(), modules=task.modules), Imported()
    files = frozenset(str(task.folder / name) for name in task.setup.files)
    look: Callable[[], object] = bool  # does nothing
    if not task.order.imports and task.order.bindings is None:
        launch.watch_scripts(events, lambda: audit.watch(events, files))
    elif task.order.imports:
        reporter = Service(ModuleType(task.setup.topic), files, modules=task.modules)
        if task.order.bindings is None:  # not the course's own
            look = audit.watch(events, files, [calls.fileno()])
        try:
            module, imported, overlay = _import(task, reporter, arena)
        except BaseException as error:
            flush_output()
            raised = error.raised if isinstance(error, NothingLoaded) else reporter.describe(error)
            frames.send(calls, wire.pack(raised))
            return
        for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF"):
            if hasattr(signal, name):
                signal.setitimer(getattr(signal, name), 0)  # one set at import would end some exercise, by chance
        service = Service(module, files, overlay, task.modules, arena if task.order.afresh else None)
    flush_output()
    frames.send(calls, wire.pack(imported))
    serve(calls, service, look)


def serve(calls: socket.socket, service: Service, look: Callable[[], object] = bool) -> None:
    """Answers calls until the judge closes the socket.

    Args:
        look: called after each call, before its reply is sent.
    """
    requests = FrameReader()
    while data := frames.receive_some(calls, 1 << 18):
        requests.feed(data)
        while (request := requests.next()) is not None:
            reply = service.answer(request)
            look()
            flush_output()
            # One by one: a crash in the next call must not lose this reply.
            frames.send(calls, reply)


def _import(task: StudentTask, reporter: Service, arena: Arena) -> tuple[ModuleType, Imported, dict[str, object]]:
    """Imports the submission: its module, the parts left out, and what takes the place of its own names."""
    order, setup, folder, _, kit = task
    # Here only: a process that never imports the submission must not find its files by a late import of its own either.
    sys.path.insert(0, str(folder))
    sys.argv = [f"{setup.topic}.py"]
    if order.bindings is None:
        _hide_grader(kit)
    # Where a student's own file has the kit's name, their `import` finds their file.
    taken = {name.partition(".")[0] for name in kit} & {name.split("/")[0].removesuffix(".py") for name in setup.files}
    for name in list(sys.modules) if taken else ():
        if name.partition(".")[0] in taken:
            del sys.modules[name]

    def note(place: StatementPlace) -> None:
        arena.note(f"{place[1]} {place[0]}")

    found = load_submission(folder, setup.topic, order.load, order.bindings, reporter.describe, note)
    if order.bindings is not None:
        _hide_grader(kit)
    return found


def load_submission(
    folder: Path,
    topic: str,
    order: LoadOrder | None,
    bindings: Bindings,
    describe: Callable[[BaseException], Raised],
    note: Callable[[StatementPlace], None] = lambda place: None,
) -> tuple[ModuleType, Imported, dict[str, object]]:
    """A topic's module, the parts left out of it, and what takes the place of its own names.

    Args:
        order: how it is loaded; None to import it as a whole.
        describe, note: see `load_topic`.
    """
    file, imported = folder / f"{topic}.py", Imported()
    if not file.is_file():
        file = folder / topic / "__init__.py"
    if order is None:
        module = import_file(topic, file)
    else:
        module, imported = load_topic(topic, file, order, describe, note)
    if bindings is None or not (file := folder / f"{WRONG_ANSWERS}.py").is_file():
        return module, imported, {}
    wrong = import_file(WRONG_ANSWERS, file)
    return module, imported, {name: getattr(wrong, other) for name, other in bindings}
