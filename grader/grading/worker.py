"""A worker: one judge and its warm host, grading the submissions that arrive on standard input.

The host is forked before anything of the course is read, because submitted code runs in its children, which must hold
no answer.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NoReturn

from grader.grading.protocol import AtPlace, Done, ExerciseDone, Fault, Sender, Work, WorkerOptions, receive
from grader.judge.marks import Place
from grader.judge.time_limit import TimeLimit

if TYPE_CHECKING:
    from grader.course import Course, Topic
    from grader.judge.judge import Judge
    from grader.machine import Devices
    from grader.results import ExerciseResult
    from grader.student.student_process import Host

JUDGE_BYTES: Final = 2 << 30
"""Memory that the judge may take beyond what it has when it is ready (bytes)."""
STACK_SIGNAL: Final = getattr(signal, "SIGUSR1", None)
"""Makes a worker write its stack to standard error, also deep in C."""


def main() -> int:
    """Serves until standard input ends; exit code 3 when the worker cannot go on."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # stray prints of a check must not reach the protocol
    requests = sys.stdin.buffer

    gc.disable()  # the collector takes a tenth of the time of the imports below, and frees nothing
    from grader.student import engine

    make_host = engine.start()
    import torch

    torch.set_num_threads(1)
    # Only now: the host and its children must not have these.
    faulthandler.enable(sys.stderr, all_threads=False)
    if STACK_SIGNAL is not None and hasattr(faulthandler, "register"):
        faulthandler.register(STACK_SIGNAL, sys.stderr, all_threads=False)
    options: WorkerOptions | None = receive(requests, WorkerOptions)
    if options is None:
        return 0
    from grader.errors import UserError

    sender = Sender(answers)
    try:
        return _serve(requests, sender, make_host(options.limits), options)
    except UserError as error:  # nothing can be graded
        while receive(requests, Work) is not None:
            sender.send(Fault(str(error)))
        return 3


def _serve(requests: IO[bytes], sender: Sender, host: Host, options: WorkerOptions) -> int:
    """Grades the submissions that arrive, one after the other, and reports on each meanwhile; the exit code."""
    from grader.course import Course
    from grader.errors import UserError

    # The main process has loaded the course whole; here its files are read when they are needed.
    course = Course.load(Path(options.course) if options.course else None, complete=False)
    # The modules that the graded topics want to be loaded before their submissions run.
    preload = course.preload({name.partition(".")[0] for name in course.with_needs(options.exercises)})
    host.prepare(hidden_paths(course), preload, options.devices, course.kit)
    from grader.judge.judge import with_judge  # takes a while, in which the host gets ready
    from grader.student.student_process import HostGone

    # The reference solution runs in this process: on the same devices, with the same modules.
    if options.devices != "simulated":
        from grader.testkit import devices

        devices.choose(options.devices)
    for module in preload:
        with contextlib.suppress(ImportError):  # the host says so
            importlib.import_module(module)
    limit = TimeLimit(options.judge_seconds, sender.send_alive)
    place = Place("")

    def began(now: Place) -> None:
        nonlocal place
        place = now
        sender.send(AtPlace(place))

    def known(result: ExerciseResult) -> None:
        sender.send(ExerciseDone(result))

    def serve(judge: Judge) -> int:
        gc.freeze()
        gc.enable()
        _limit_memory()
        while (work := receive(requests, Work)) is not None:
            try:
                with limit.ticking():
                    result = judge.grade(work.submission, work.exercises, marks=work.marks, known=known)
                sender.send(Done(result, _resident_bytes(), judge.checks.not_to_run()))
            except UserError as error:  # a fault of the course that shows only while grading
                sender.send(Fault(str(error)))
            except HostGone as error:
                sender.send(Fault(f"the warm host has ended: {error}", place))
                return 3
        host.close()
        return 0

    return with_judge(
        course,
        host,
        serve,
        exercises=options.exercises,
        seed=options.seed,
        names_misconceptions=options.misconceptions,
        pictured=options.pictures,
        limit=limit,
        began=began,
    )


@contextlib.contextmanager
def host_for_author(course: Course, topics: Iterable[Topic], devices: Devices) -> Iterator[Host]:
    """A host with the default limits that gets ready for these topics of a course, and ends with the context.

    It is for a process that grades the course's own modules, and that holds no answers yet.
    """
    import grader.testkit.probes
    import grader.testkit.recipes  # noqa: F401 - before the fork
    from grader.sandbox.limits import Limits
    from grader.student import engine
    from grader.testkit import devices as devices_kit

    host = engine.start()(Limits())
    try:
        host.prepare(hidden_paths(course), course.preload(topic.name for topic in topics), devices, course.kit)
        devices_kit.choose(devices)
        yield host
    finally:
        host.close()


def hidden_paths(course: Course) -> list[str]:
    """The folders that no submission may see: those of all courses, and the grader's own, even if installed twice."""
    from grader.course.home import installed_courses

    courses = [one.folder for one in installed_courses() if one.folder is not None]
    package = Path(__file__).resolve().parent.parent
    prefixes = {Path(one) for one in (sys.prefix, sys.base_prefix, "/usr", "/usr/local")}
    folders = {*map(Path, sys.path), *(found for one in prefixes for found in one.glob("lib*/python*/*-packages"))}
    copies = {(folder / package.name).resolve() for folder in folders} - {package}
    graders = [package, *sorted(one for one in copies if (one / "grading" / "worker.py").is_file())]
    return [str(path) for path in (*graders, course.root, course.checks_dir, course.solutions_dir, *courses)]


def _limit_memory() -> None:
    """Lets this process take `JUDGE_BYTES` more than it has; then allocating fails, and with it the check at hand."""
    try:
        import resource
    except ImportError:
        return  # then a worker that has grown is only replaced
    with contextlib.suppress(OSError, ValueError, StopIteration):  # if it is not offered, workers are only replaced
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        data = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = data + JUDGE_BYTES
        if most != resource.RLIM_INFINITY:
            wanted = min(wanted, most)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


def _resident_bytes() -> int:
    """The memory that this process holds; 0 if that is not known."""
    with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def run() -> NoReturn:
    """Serves, and ends the process without Python's own clean-up, which takes half a second with torch."""
    code = main()
    sys.stderr.flush()
    os._exit(code)
