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
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn

from grader.grading.protocol import AtPlace, Done, ExerciseDone, Fault, Sender, Work, WorkerOptions, read_frame
from grader.judge.marks import Place
from grader.judge.time_limit import TimeLimit

if TYPE_CHECKING:
    from grader.course import Course
    from grader.judge.judge import Judge
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
    options: WorkerOptions | None = read_frame(requests, WorkerOptions)
    if options is None:
        return 0
    from grader.errors import UserError

    host = make_host(options.limits)
    sender = Sender(answers)
    server = _Server(requests, sender, host, TimeLimit(options.judge_seconds, sender.send_alive))
    try:
        course = _prepare(host, options)
        from grader.judge.judge import with_judge  # takes a while, in which the host gets ready

        _load_for_reference(course, options)
        return with_judge(
            course,
            host,
            server.serve,
            exercises=options.exercises,
            seed=options.seed,
            names_misconceptions=options.misconceptions,
            pictured=options.pictures,
            limit=server.limit,
            began=server.began,
        )
    except UserError as error:
        return _give_up(requests, sender, str(error))


class _Server:
    """Grades the submissions that arrive, one after the other, and reports on each while it is graded."""

    def __init__(self, requests: IO[bytes], sender: Sender, host: Host, limit: TimeLimit) -> None:
        self.limit = limit
        self._requests = requests
        self._sender = sender
        self._host = host
        self._place = Place("")

    def began(self, place: Place) -> None:
        """Reports the place that is run from now on."""
        self._place = place
        self._sender.send(AtPlace(place))

    def serve(self, judge: Judge) -> int:
        """Serves until standard input ends; the worker's exit code."""
        from grader.errors import UserError
        from grader.student.student_process import HostGone

        gc.freeze()
        gc.enable()
        limit_memory()
        while (work := read_frame(self._requests, Work)) is not None:
            known = self._send_known if work.streams else None
            try:
                with self.limit.ticking():
                    result = judge.grade(work.submission, work.exercises, marks=work.marks, known=known)
                self._sender.send(Done(result, resident_bytes(), judge.checks.not_to_run()))
            except UserError as error:  # a fault of the course that shows only while grading
                self._sender.send(Fault(str(error)))
            except HostGone as error:
                self._sender.send(Fault(f"the warm host has ended: {error}", self._place))
                return 3
        self._host.close()
        return 0

    def _send_known(self, result: ExerciseResult) -> None:
        self._sender.send(ExerciseDone(result))


def _prepare(host: Host, options: WorkerOptions) -> Course:
    """Loads the course, and has the host get ready for it without waiting."""
    from grader.course import Course

    # The main process has loaded it whole; here its files are read when they are needed.
    course = Course.load(Path(options.course) if options.course else None, complete=False)
    host.prepare(hidden_paths(course), _preload(course, options), options.devices, course.kit)
    return course


def _preload(course: Course, options: WorkerOptions) -> list[str]:
    """The modules that the graded topics want to be loaded before their submissions run."""
    return course.preload({name.partition(".")[0] for name in course.with_needs(options.exercises)})


def _load_for_reference(course: Course, options: WorkerOptions) -> None:
    """Chooses devices and loads modules for the reference solution, which runs in this process."""
    if options.devices != "simulated":
        from grader.testkit import devices

        devices.choose(options.devices)
    for module in _preload(course, options):
        with contextlib.suppress(ImportError):  # the host says so
            importlib.import_module(module)


def hidden_paths(course: Any) -> list[str]:
    """The folders that no submission may see: those of all courses, and the grader's own, even if installed twice."""
    from grader.course.installed import installed_courses

    package = Path(__file__).resolve().parent.parent
    others = [one.folder for one in installed_courses() if one.folder is not None]
    return [str(path) for path in (*_installed(package), course.root, course.checks_dir, course.solutions_dir, *others)]


def _installed(package: Path) -> list[Path]:
    """The grader's package, which holds answers, and its copies in folders of packages that submissions may see."""
    prefixes = {Path(one) for one in (sys.prefix, sys.base_prefix, "/usr", "/usr/local")}
    folders = {*map(Path, sys.path), *(found for one in prefixes for found in one.glob("lib*/python*/*-packages"))}
    beside = {(folder / package.name).resolve() for folder in folders}
    return [package, *sorted(one for one in beside - {package} if (one / "grading" / "worker.py").is_file())]


def _give_up(requests: IO[bytes], sender: Sender, reason: str) -> int:
    """Answers every submission with the reason why nothing can be graded; the exit code."""
    while read_frame(requests, Work) is not None:
        sender.send(Fault(reason))
    return 3


def limit_memory(more: int = JUDGE_BYTES) -> None:
    """Lets this process take that many bytes more than it has; then allocating fails, and with it the check at hand."""
    try:
        import resource
    except ImportError:
        return  # then a worker that has grown is only replaced
    with contextlib.suppress(OSError, ValueError, StopIteration):  # if it is not offered, workers are only replaced
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        data = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = data + more
        resource.setrlimit(
            resource.RLIMIT_DATA, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most)
        )


def resident_bytes() -> int:
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


if __name__ == "__main__":
    run()
