"""A worker: one judge and its warm host, grading what arrives on standard input.

The host is forked before anything of the course is read: submitted code runs in its children, where no answer may be.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn

from grader.grading.protocol import Began, Done, Fault, Known, Sender, Work, WorkerOptions, read_frame, write_frame
from grader.judge.marks import Place
from grader.judge.time_limit import TimeLimit

if TYPE_CHECKING:
    from grader.judge.judge import Judge
    from grader.results import ExerciseResult
    from grader.student.interfaces import Host

JUDGE_BYTES: Final = 2 << 30
"""Memory that the judge may take beyond what it has when it is ready (bytes)."""
STACK_SIGNAL: Final = getattr(signal, "SIGUSR1", None)
"""Makes a worker write to its standard error where it is, also deep in C."""


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
    options: WorkerOptions | None = read_frame(requests, WorkerOptions)
    if options is None:
        return 0
    from grader.errors import UserError
    from grader.student.client import HostGone

    host = make_host(options.limits)

    def serve(judge: Judge) -> int:
        gc.freeze()
        gc.enable()
        limit_memory()
        sender = Sender(answers)
        limit = TimeLimit(options.judge_seconds, sender.send_alive)
        at: Place | None = None

        def began(place: Place) -> None:
            nonlocal at
            at = place
            sender.send(Began(place))

        def send_known(result: ExerciseResult) -> None:
            sender.send(Known(result))

        judge.checks.limit_time(limit)
        judge.checks.began = began
        while (work := read_frame(requests, Work)) is not None:
            try:
                judge.checks.marks = work.marks
                judge.known = send_known if work.streams else lambda result: None
                with limit.ticking():
                    result = judge.grade(work.submission, work.exercises)
                write_frame(answers, Done(result, resident_bytes()))
            except UserError as error:  # a fault of the course that shows only while grading
                write_frame(answers, Fault(str(error)))
            except HostGone as error:
                write_frame(answers, Fault(f"the warm host has ended: {error}", at or Place("")))
                return 3
        host.close()
        return 0

    try:
        return _with_judge(host, options, serve)
    except UserError as error:
        return _give_up(requests, answers, str(error))


def _with_judge(host: Host, options: WorkerOptions, serve: Callable[[Judge], int]) -> int:
    from grader.course import Course

    # The main process has loaded it whole; here its files are read when they are needed.
    course = Course.load(Path(options.course) if options.course else None, complete=False)
    topics = {name.partition(".")[0] for name in course.with_needs(options.exercises)}
    preload = course.preload(topics)
    host.prepare(hidden_paths(course), preload, options.devices, course.kit)

    from grader.judge.judge import with_judge  # takes a while, in which the host gets ready

    if options.devices != "simulated":
        from grader.testkit import devices

        devices.choose(options.devices)  # the reference solution runs in this process
    for module in preload:  # the reference solution needs them too
        with contextlib.suppress(ImportError):  # the host says so
            importlib.import_module(module)

    def ready(judge: Judge) -> int:
        host.finish_preparing()
        return serve(judge)

    return with_judge(
        course,
        host,
        ready,
        exercises=options.exercises,
        seed=options.seed,
        names_misconceptions=options.misconceptions,
    )


def hidden_paths(course: Any) -> list[str]:
    """The folders that no submission may see: the course's and the grader's own, also where it is installed twice."""
    package = Path(__file__).resolve().parent.parent
    return [str(path) for path in (*_installed(package), course.root, course.checks_dir, course.solutions_dir)]


def _installed(package: Path) -> list[Path]:
    """The grader's package, and what else of it is in folders of packages that submissions may see: it has answers."""
    prefixes = {Path(one) for one in (sys.prefix, sys.base_prefix, "/usr", "/usr/local")}
    folders = {*map(Path, sys.path), *(found for one in prefixes for found in one.glob("lib*/python*/*-packages"))}
    beside = {(folder / package.name).resolve() for folder in folders}
    return [package, *sorted(one for one in beside - {package} if (one / "grading" / "worker.py").is_file())]


def _give_up(requests: IO[bytes], answers: IO[bytes], reason: str) -> int:
    """Answers every submission with the reason why nothing can be graded; the exit code."""
    while read_frame(requests, Work) is not None:
        write_frame(answers, Fault(reason))
    return 3


def limit_memory(more: int = JUDGE_BYTES) -> None:
    """Lets this process take that many bytes more than it has; then allocating fails, and with it the check at hand."""
    try:
        import resource
    except ImportError:
        return  # then a worker that has grown is only replaced
    with contextlib.suppress(OSError, ValueError, StopIteration):  # where it is not offered, workers are only replaced
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        data = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = data + more
        resource.setrlimit(
            resource.RLIMIT_DATA, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most)
        )


def resident_bytes() -> int:
    """The memory that this process holds; 0 where that is not known."""
    with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def run() -> NoReturn:
    """Serves, and ends the process without Python's own clean-up, which takes half a second with torch."""
    code = main()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
