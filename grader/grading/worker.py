"""A worker: one judge and its warm host, grading the submissions that arrive on standard input.

The host has been forked off the zygote, or is made of new Pythons: submitted code runs in its children, which must hold
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
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NoReturn

from grader import machine
from grader.grading.protocol import Done, Fault, Sender, Work, WorkerOptions, receive
from grader.judge.time_limit import TimeLimit

if TYPE_CHECKING:
    from grader.course import Course, Topic
    from grader.machine import Devices
    from grader.sandbox.limits import Limits
    from grader.student.student_process import Host

JUDGE_BYTES: Final = 2 << 30
"""Memory that the judge may take beyond what it has when it is ready (bytes)."""
STACK_SIGNAL: Final = getattr(signal, "SIGUSR1", None)
"""Makes a worker write its stack to standard error, also deep in C."""


def run(make_host: Callable[[Limits], Host]) -> NoReturn:
    """The life of a worker: serves, and ends without Python's own clean-up, which takes half a second with torch."""
    code = _main(make_host)
    sys.stderr.flush()
    os._exit(code)


def run_portable() -> NoReturn:
    """The life of a worker whose process is a new Python, as those are in which submitted code runs."""
    gc.disable()  # the collector takes a tenth of the time of the imports below, and frees nothing
    from grader.student.portable import PortableHost, SpawnedPython

    first = SpawnedPython()
    import torch

    torch.set_num_threads(1)
    run(lambda limits: PortableHost(first, limits))


def _main(make_host: Callable[[Limits], Host]) -> int:
    """Serves until standard input ends; exit code 3 when the worker cannot go on."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # stray prints of a check must not reach the protocol
    requests = sys.stdin.buffer
    faulthandler.enable(sys.stderr, all_threads=False)
    if STACK_SIGNAL is not None and hasattr(faulthandler, "register"):
        faulthandler.register(STACK_SIGNAL, sys.stderr, all_threads=False)
    options: WorkerOptions | None = receive(requests, WorkerOptions)
    if options is None:
        return 0
    from grader.errors import UserError
    from grader.student.student_process import HostGone

    sender = Sender(answers)
    try:
        _serve(requests, sender, make_host(options.limits), options)
    except HostGone as error:
        sender.send(Fault(f"the warm host has ended: {error}", retry_may_help=True))
        return 3
    except UserError as error:  # nothing can be graded
        while receive(requests, Work) is not None:
            sender.send(Fault(str(error), retry_may_help=False))
        return 3
    return 0


def _serve(requests: IO[bytes], sender: Sender, host: Host, options: WorkerOptions) -> None:
    """Grades the submissions that arrive, one after the other, and reports on each meanwhile."""
    from grader.course import Course
    from grader.errors import UserError

    # The main process has loaded the course whole; here its files are read when they are needed.
    course = Course.load(Path(options.course) if options.course else None, complete=False)
    # The modules that the graded topics want to be loaded before their submissions run.
    preload = course.preload({name.partition(".")[0] for name in course.with_needs(options.exercises)})
    host.prepare(hidden_paths(course), preload, options.devices, course.kit)
    from grader.judge.judge import open_judge  # takes a while, in which the host gets ready

    os.environ.update(machine.gpu_environment(options.devices))  # a suite's tests see the GPUs that submissions see
    # The reference solution runs in this process: on the same devices, with the same modules.
    if options.devices != "simulated":
        from grader.testkit import devices

        devices.choose(options.devices)
    _import([name for name in preload if name.partition(".")[0] == "torch"])
    host.finish_preparing()  # what ends the process that loads it has ended the host by now, and is named
    _import(preload)
    limit = TimeLimit(options.judge_seconds, sender.send_alive)
    with open_judge(
        course,
        host,
        exercises=options.exercises,
        seed=options.seed,
        names_misconceptions=options.misconceptions,
        pictured=options.pictures,
        limit=limit,
        listener=sender,
    ) as judge:
        gc.freeze()
        gc.enable()
        _limit_memory()
        while (work := receive(requests, Work)) is not None:
            try:
                with limit.ticking():
                    result = judge.grade(
                        work.submission, work.exercises, not_run=work.not_run, elsewhere=work.elsewhere
                    )
                sender.send(Done(result, _resident_bytes(), judge.checks.not_to_run()))
            except UserError as error:  # a fault of the course that shows only while grading
                sender.send(Fault(str(error), retry_may_help=False))
    host.close()


def _import(modules: Iterable[str]) -> None:
    for module in modules:
        with contextlib.suppress(Exception):  # the host has loaded it, which is what counts
            importlib.import_module(module)


@contextlib.contextmanager
def host_for_author(course: Course, topics: Iterable[Topic], devices: Devices) -> Iterator[Host]:
    """A host with the default limits that gets ready for these topics of a course, and ends with the context.

    It is for a process that grades the course's own modules.
    """
    from grader.grading.starting import start_host
    from grader.sandbox.limits import Limits

    make_host = start_host()
    import torch  # as the host does meanwhile

    from grader.testkit import devices as devices_kit

    host, threads = make_host(Limits()), torch.get_num_threads()
    torch.set_num_threads(1)  # as workers have: with more, a check that trains takes a hundred times as long
    try:
        host.prepare(hidden_paths(course), course.preload(topic.name for topic in topics), devices, course.kit)
        devices_kit.choose(devices)
        host.finish_preparing()
        yield host
    finally:
        host.close()
        torch.set_num_threads(threads)


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
