"""`grader grade --dask` on a real cluster of two workers on this machine: nothing lost, nothing twice, nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
from command_here import run_here
from shared import OWN_COURSE, REPO, workers_of

from grader.course import Course, content_hash
from grader.grading.dask_worker import RunSettings, why_unfit
from grader.grading.protocol import WorkerOptions
from grader.machine import versions

SIZE = 12
# A submission cannot harm the Dask worker, so the worker harms itself: what a machine that goes away looks like.
PRELOAD = """
import os, signal
from grader.grading import local_workers
from grader.grading.local_workers import LocalWorkers

grade = vars(local_workers).setdefault("undoomed", LocalWorkers.grade)  # Dask runs this file twice.

def doomed(workers, source):
    if source.name == "endless":
        return doomed(workers, source)
    if source.name == "killer" or "DIES" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return grade(workers, source)

LocalWorkers.grade = doomed
"""


class DaskCluster:
    """A scheduler and workers as `dask scheduler` and `dask worker` start them, on ports that the system chooses."""

    def __init__(self, folder: Path, started: contextlib.ExitStack, failures: int) -> None:
        self._started = started
        self.folder = folder
        (folder / "preload.py").write_text(PRELOAD)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(REPO),
            "PYTHONWARNINGS": "ignore",
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(failures),
        }
        scheduler = self._start("dask_scheduler", "Scheduler at:", "--port", "0")
        self.address = scheduler.line.split()[-1]

    def worker(self, *options: str, **environment: str) -> subprocess.Popen[str]:
        """One more worker, with one thread; with a nanny that starts it again unless an option says otherwise."""
        self.environment |= environment
        preload = str(self.folder / "preload.py")
        places = ("--local-directory", str(self.folder), "--preload", preload)
        started = self._start("dask_worker", "Registered to:", self.address, "--nthreads", "1", *places, *options)
        for name in environment:
            del self.environment[name]
        return started.process

    def _start(self, module: str, ready: str, *arguments: str) -> Started:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--host", "127.0.0.1", "--no-dashboard"]
        log = self.folder / f"{module}-{len(list(self.folder.iterdir()))}.log"
        process = self._started.enter_context(
            subprocess.Popen(
                [*command, *arguments], cwd=self.folder, env=self.environment, stderr=subprocess.PIPE, text=True
            )
        )
        assert process.stderr is not None
        line = next((line for line in process.stderr if ready in line), "")
        assert line, f"{module} has ended"
        with log.open("wb") as rest:  # Nobody reads on: what else it says goes to a file, lest the pipe fill up.
            drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=rest)
        self._started.callback(drain.wait)
        self._started.callback(process.terminate)
        return Started(process, line)


class Started(msgspec.Struct):
    process: subprocess.Popen[str]
    line: str


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class, in which the work differs and some of it is wrong."""
    folder = tmp_path_factory.mktemp("class")
    right, stub = ((OWN_COURSE / part / "vectors.py").read_text() for part in ("solutions", "exercises"))
    for number in range(SIZE):
        (folder / f"s{number:02}.py").write_text((right if number % 3 else stub) + f"\n# {number}\n")
    return folder


@pytest.fixture(scope="module")
def local(submissions: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What `--jobs` makes of the class."""
    out = tmp_path_factory.mktemp("local")
    done = run_here("grade", submissions, "--course", OWN_COURSE, "--out", out, "--seed", "0", "--jobs", "1")
    assert done.returncode == 1, done.stderr
    return (out / "results.jsonl").read_bytes()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Where a submission is tried again once if its worker dies."""
    with contextlib.ExitStack() as started:
        yield DaskCluster(tmp_path_factory.mktemp("dask"), started, failures=1)


@pytest.fixture(scope="module")
def lives(cluster: DaskCluster) -> subprocess.Popen[str]:
    """A worker of the cluster."""
    return cluster.worker()


def grade(paths: Path, out: Path, *options: str, before: str = "") -> tuple[int, str]:
    """`grader grade` with the example course, after the statements in `before`: exit code and stderr."""
    arguments = ["grade", str(paths), "--course", str(OWN_COURSE), "--out", str(out), "--seed", "0", *options]
    program = (
        f"import sys; sys.path.insert(0, {str(REPO)!r}); {before}\nfrom grader.cli.app import main; main({arguments})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200, check=False)
    return done.returncode, done.stderr


def recorded(out: Path) -> list[str]:
    """The names of all results, as often as there are results."""
    with contextlib.closing(sqlite3.connect(f"{(out / 'gradebook.sqlite').as_uri()}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT name FROM results JOIN submissions ON submissions.id = results.submission ORDER BY 1")
        return [name for (name,) in rows]


@pytest.mark.slow
def test_interrupted_run_and_worker_killed_on_the_way_lose_nothing_and_grade_nothing_twice(
    cluster: DaskCluster, lives: subprocess.Popen[str], submissions: Path, local: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    stop = "import os, signal, grader.gradebook.book as b; r = b.Gradebook.record; n = []\n"
    stop += "def f(*a): r(*a); n.append(1); len(n) == 5 and os.kill(os.getpid(), signal.SIGINT)\nb.Gradebook.record = f"
    code, stderr = grade(submissions, out, "--dask", cluster.address, before=stop)
    assert code == 2 and "run the same command to continue" in stderr and "Traceback" not in stderr, stderr
    kept = recorded(out)
    assert 5 <= len(kept) < SIZE
    assert not workers_of(psutil.Process(lives.pid))

    # The same command goes on with what is left; another worker dies at the first submission that it is given.
    dies = cluster.worker("--no-nanny", DIES="yes")
    code, stderr = grade(submissions, out, "--dask", cluster.address)
    assert code == 1, stderr
    assert dies.wait(100) == -signal.SIGKILL and lives.poll() is None
    assert recorded(out) == [f"s{number:02}" for number in range(SIZE)]
    assert (out / "results.jsonl").read_bytes() == local

    # The run has taken its warm workers with it; the cluster is there for the next one, which has nothing to do.
    assert not workers_of(psutil.Process(lives.pid))
    code, stderr = grade(submissions, out, "--dask", cluster.address)
    assert code == 1 and len(recorded(out)) == SIZE


@pytest.mark.slow
def test_submission_that_kills_every_worker_gets_its_row_and_the_rest_is_graded(
    submissions: Path, local: bytes, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for file in sorted(submissions.iterdir())[:4]:
        (work / file.name).write_text(file.read_text())
    for name in ("killer", "endless"):
        (work / f"{name}.py").write_text("x = 1\n")
    folder = tmp_path / "dask"
    folder.mkdir()
    with contextlib.ExitStack() as started:
        cluster = DaskCluster(folder, started, failures=0)
        cluster.worker()
        code, stderr = grade(work, tmp_path / "out", "--dask", cluster.address)
    assert code == 3, stderr
    lines = (tmp_path / "out" / "results.jsonl").read_bytes().splitlines()
    for name, words in (("endless", "RecursionError"), ("killer", "every Dask worker that graded it died")):
        row = json.loads(lines.pop(0))
        assert row["submission"] == name and row["max"] == 0
        checks = [check for exercise in row["exercises"] for check in exercise["checks"]]
        assert {check["verdict"] for check in checks} == {"error"} and words in checks[0]["message"]
    assert lines == local.splitlines()[:4]


@pytest.mark.slow
@pytest.mark.usefixtures("lives")
def test_worker_with_another_grader_is_refused_in_one_line(
    cluster: DaskCluster, submissions: Path, tmp_path: Path
) -> None:
    other = "import grader.grading.dask_cluster as c; v = c.versions(); c.versions = lambda: {**v, 'torchkata': '9.9'}"
    code, stderr = grade(submissions, tmp_path / "out", "--dask", cluster.address, before=other)
    assert code == 4 and "cannot grade this: it has torchkata" in stderr and "this machine 9.9" in stderr
    assert len(stderr.splitlines()) == 2 and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("address", "before", "words"),
    [
        (
            "127.0.0.1:1",
            "import grader.grading.dask_cluster as c; c.CONNECT_SECONDS = 0.5",
            "no Dask scheduler answers at",
        ),
        ("what::ever", "", "no Dask scheduler answers at what::ever"),
        ("127.0.0.1:1", "sys.modules['distributed'] = None", "pip install 'torchkata[dask]'"),
    ],
)
def test_cluster_that_cannot_be_used_is_reported_in_one_line_with_the_fix(
    submissions: Path, tmp_path: Path, address: str, before: str, words: str
) -> None:
    code, stderr = grade(submissions, tmp_path / "out", "--dask", address, before=before)
    assert code == 4 and words in stderr and len(stderr.splitlines()) == 2, stderr


def test_jobs_and_dask_together_are_refused(submissions: Path, tmp_path: Path) -> None:
    done = run_here("grade", submissions, "--course", OWN_COURSE, "--dask", "127.0.0.1:1", "--jobs", "2", cwd=tmp_path)
    assert "--jobs" in done.stderr and done.returncode == 4


def test_worker_says_which_version_or_course_differs(tmp_path: Path) -> None:
    course = Course.load(OWN_COURSE)
    options = WorkerOptions(course=str(course.root))
    settings = RunSettings(
        run="r", course="own", course_hash=content_hash(course), options=options, versions=versions()
    )
    change = msgspec.structs.replace
    assert why_unfit(settings) == ""
    assert "differs" in why_unfit(change(settings, course_hash="other"))
    gone = why_unfit(change(settings, options=WorkerOptions(course=str(tmp_path / "gone"))))
    assert "it cannot read the course own" in gone and "gone" in gone
    assert "it has torch " in why_unfit(change(settings, versions={**versions(), "torch": "1.0"}))
