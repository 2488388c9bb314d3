"""The zygote: torch is imported once, in an environment of its own, and nothing outlives whoever has started it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest
from shared import OWN_COURSE, PATIENCE, REPO

from grader import new_python
from grader.course import Course
from grader.grading import starting
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import WorkerOptions
from grader.grading.starting import ForkedProcess
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.results import SubmissionResult, to_json

pytestmark = pytest.mark.slow
OPTIONS = WorkerOptions(course=str(OWN_COURSE))
RIGHT = Submission("ann", {"vectors.py": (OWN_COURSE / "solutions" / "vectors.py").read_bytes()})
SHIPPED = Course.load(None)
SHELLS = {
    "unknown words": {
        **{"TORCH_DISTRIBUTED_DEBUG": "bogus", "TORCH_LOGS": "+dynamo", "PYTHONWARNINGS": "error", "LC_NUMERIC": "de"},
        **{"PYTHONSTARTUP": "/nowhere.py", "PYTHONINSPECT": "1", "PYTHONOPTIMIZE": "2", "LD_PRELOAD": "/nowhere.so"},
    },
    "another program": {
        **{"TORCH_DISTRIBUTED_DEBUG": "DETAIL", "TORCH_CPP_LOG_LEVEL": "INFO", "TORCH_SHOW_CPP_STACKTRACES": "1"},
        **{"MASTER_PORT": "1", "MASTER_ADDR": "nowhere", "RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3"},
        **{"OMP_NUM_THREADS": "64", "MKL_NUM_THREADS": "64", "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
        **{"PYTEST_ADDOPTS": "--no-such-option", "PYTEST_PLUGINS": "no_such_plugin", "PYTHONHASHSEED": "7"},
        **{"GLOO_SOCKET_IFNAME": "eth7", "TORCHELASTIC_RUN_ID": "x", "TORCH_COMPILE_DEBUG": "1"},
    },
}


def zygotes() -> list[int]:
    """The process ids of this process's zygotes that live."""
    return [one.pid for one in psutil.Process().children() if one.name() == "grader-zygote"]


def of_ddp(hash_seed: int) -> SubmissionResult:
    """The result of right answers to two exercises that use torch.distributed."""
    names = tuple(SHIPPED.select(["ddp.wrap", "ddp.ddp_setup"]))
    files = {"ddp.py": SHIPPED.solution_file("ddp").read_bytes()}
    with LocalWorkers(SHIPPED, WorkerOptions(exercises=names), hash_seed=hash_seed) as workers:
        graded = workers.grade(Submission("ann", files))
    assert graded.fault == ""
    return graded.result


@pytest.fixture(scope="module")
def expected() -> bytes:
    result = of_ddp(0)
    assert result.score == result.max > 0
    return to_json(result)


@pytest.fixture
def fresh() -> Iterator[int]:
    """A seed of hashes that no zygote of this process has: the next worker of it begins in the environment of then."""
    seed = 1 + max(seed for _, seed in [*starting._zygotes, (0, 100)])
    yield seed
    if zygote := starting._zygotes.pop((os.getpid(), seed), None):
        zygote.end()


@pytest.mark.parametrize("shell", SHELLS)
def test_variables_of_the_shell_change_no_result(
    shell: str, expected: bytes, fresh: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SHELLS[shell].items():
        monkeypatch.setenv(name, value)
    assert to_json(of_ddp(fresh)) == expected


def test_nor_do_they_where_nothing_can_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHKATA_ENGINE", "portable")
    for shell in SHELLS.values():
        for name, value in shell.items():
            monkeypatch.setenv(name, value)
    text = b"import warnings\nwarnings.warn('an old name', DeprecationWarning)\n" + RIGHT.files["vectors.py"]
    with LocalWorkers(Course.load(OWN_COURSE), OPTIONS) as workers:
        graded = workers.grade(Submission("ann", {"vectors.py": text}))
    assert graded.result.score == 3.0 and graded.fault == ""


def test_a_new_python_gets_a_short_list_of_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for shell in SHELLS.values():
        for name, value in shell.items():
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/some/libraries")
    found = new_python.environment(3)
    assert found["LD_LIBRARY_PATH"] == "/some/libraries" and found["PATH"] == os.environ["PATH"]
    assert (found["OMP_NUM_THREADS"], found["PYTHONHASHSEED"]) == ("1", "3")
    assert not {name for shell in SHELLS.values() for name in shell} - {"OMP_NUM_THREADS", "PYTHONHASHSEED"} & set(
        found
    )


def test_all_pools_of_a_process_share_one_zygote_of_which_workers_and_hosts_are_children() -> None:
    course = Course.load(OWN_COURSE)
    with LocalWorkers(course, OPTIONS, jobs=2) as two, LocalWorkers(course, OPTIONS) as one:
        for pool in (two, one):
            graded = list(pool.results_of([RIGHT, RIGHT]))
            assert [each.result.score for each in graded] == [3.0, 3.0]
        workers = [worker.process for pool in (two, one) for worker in pool._workers]
        processes = [
            psutil.Process(pid) for one in workers if isinstance(one, ForkedProcess) for pid in (one.pid, one.host)
        ]
        (zygote,) = {process.ppid() for process in processes}
        assert len(processes) == 6 and zygote in zygotes()
        assert psutil.Process(zygote).num_threads() == 1
    _, left = psutil.wait_procs(processes, timeout=60)
    assert left == []


def test_a_zygote_that_has_ended_is_replaced() -> None:
    """What it had forked has ended with it; the submission at hand is graded by a new worker."""
    alone = 26  # the seed of hashes: other tests' workers have another zygote
    with LocalWorkers(Course.load(OWN_COURSE), OPTIONS, hash_seed=alone) as workers:
        assert workers.grade(RIGHT).fault == ""
        (worker,) = workers._workers
        zygote = psutil.Process(worker.process.pid).ppid()
        os.kill(zygote, signal.SIGKILL)
        graded = workers.grade(RIGHT)
        assert graded.result.score == 3.0 and "worker process died" in graded.fault
        assert zygote not in zygotes() and workers.grade(RIGHT).fault == ""


MAIN = """
import sys
from pathlib import Path
from grader.course import Course
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import WorkerOptions
from grader.intake.submission import Submission
from grader.grading.protocol import Began

course = Course.load(Path(sys.argv[1]))
workers = LocalWorkers(course, WorkerOptions(course=sys.argv[1]))
text = b"def normalize(x):\\n    while True: pass\\n"
for event in workers.events(Submission("ann", {"vectors.py": text})):
    if isinstance(event, Began) and event.place.check:
        (worker,) = workers._workers
        print(worker.process.pid, worker.process.host, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_if_the_main_process_is_killed_everything_ends(number: signal.Signals) -> None:
    command = [sys.executable, "-c", MAIN, str(OWN_COURSE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPO) as main:
        assert main.stdout is not None
        worker, host = map(int, main.stdout.readline().split())
        found = [psutil.Process(pid) for pid in (worker, host)]
        found += [found[0].parent(), *found[1].children(recursive=True)]  # type: ignore[list-item]
        assert len(found) > 4, "the submission runs"
        main.send_signal(number)
    _, left = psutil.wait_procs(found, timeout=PATIENCE)
    assert left == []


def test_the_first_worker_is_what_was_started_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHKATA_ENGINE", "portable")
    starting.start_early()
    (early,) = starting._early
    first, second = Worker(), Worker()
    try:
        assert first.process is early and second.process is not early and not starting._early
    finally:
        first.end()
        second.end()


def test_a_worker_that_is_ended_while_its_zygote_starts_is_not_waited_for(fresh: int) -> None:
    workers = LocalWorkers(Course.load(OWN_COURSE), OPTIONS, hash_seed=fresh)
    future = workers.submit(RIGHT)
    while not workers._workers:
        pass
    (worker,) = workers._workers
    assert isinstance(worker.process, ForkedProcess) and not worker.process.has_started()
    workers.stop()
    workers.close()
    assert not worker.process.has_started()
    with contextlib.suppress(Exception):
        future.result()
