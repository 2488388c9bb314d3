"""No two desks are open at a time: where all share a work folder, a submission could read the solutions of the next."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from judge_here import HostHere, TopicHere, of_modules
from shared import OWN_COURSE, REPO

from grader.course import Course, pictured
from grader.grading import verify
from grader.grading.promises import Defect
from grader.judge.judge import open_judge
from grader.judge.listener import Listener
from grader.results import ExerciseResult
from grader.sandbox import kernel

NEEDS = 'needs = ["normalize"]\n'
WRONG = """
import torch

def normalize(x):
    return x / x.norm(dim=1, keepdim=True)

def cosine(a, b):
    return (a * b).sum(dim=1)
"""
"""Two mistakes that have names."""


class OneAtATime(HostHere):
    """A host that fails the test when a topic is opened while another one is open."""

    def __init__(self, course: Course) -> None:
        super().__init__(course)
        self.opened = 0
        self.open: list[TopicHere] = []

    def open_topic(
        self, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None
    ) -> TopicHere:
        assert not self.open, "a desk is open"
        found = super().open_topic(topic, files, bindings)
        self.opened += 1
        self.open.append(found)
        found.close = self._closing(found, found.close)  # type: ignore[method-assign]
        return found

    def _closing(self, topic: TopicHere, close: Callable[[], None]) -> Callable[[], None]:
        def closed() -> None:
            self.open.remove(topic)
            close()

        return closed


@pytest.fixture
def course_without_needs(own_course: Path, edit: Callable[[Path, str, str], None]) -> Path:
    """Own course, whose second exercise is graded although the first one fails."""
    edit(own_course / "course.toml", NEEDS, "")
    return own_course


def test_misconceptions_are_looked_for_when_the_submission_has_ended(course_without_needs: Path) -> None:
    course = Course.load(course_without_needs)
    host = OneAtATime(course)
    known: list[ExerciseResult] = []

    class Known(Listener):
        def known(self, exercise: ExerciseResult) -> None:
            known.append(exercise)

    right = (OWN_COURSE / "solutions" / "vectors.py").read_text()
    with open_judge(course, host, pictured=pictured(course), listener=Known()) as judge:
        result, again, passed = (judge.grade(of_modules({"vectors": text})) for text in (WRONG, WRONG, right))
    assert [one.misconception for one in result.exercises] == ["divides_by_zero", "plain_dot_product"]
    assert again == result and passed.score == passed.max
    assert host.opened > 3 and not host.open
    assert known[:2] == list(result.exercises), "each is reported once, with its name"


def test_verify_has_one_desk_open_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course.load(OWN_COURSE)
    host = OneAtATime(course)

    @contextlib.contextmanager
    def host_here(*_: object) -> Iterator[HostHere]:
        yield host

    monkeypatch.setattr(verify, "host_for_author", host_here)
    defects: list[Defect] = []
    verify.verify_course(course, defects.append, is_quick=True)
    assert host.opened >= 4 and not host.open
    assert all("cannot be run" in defect.message for defect in defects)  # examples run in student processes only


SPY = """
import os, sys, threading, time

FOUND, HERE = {found!r}, os.getcwd()

def look():
    for _ in range(4000):
        for folder, _, files in os.walk(HERE):
            for name in files:
                try:
                    text = open(os.path.join(folder, name), encoding="latin-1").read()
                except OSError:
                    continue
                if "@" + "misconception(" in text or "# " + "solution" in text:
                    open(FOUND, "a").write(name + "\\\\n")
        time.sleep(0.002)

def normalize(x):
    if not os.fork():
        os.setsid()
        if not os.fork():
            look()
        os._exit(0)
    threading.Thread(target=look, daemon=True).start()
    return x / x.norm(dim=1, keepdim=True)

def cosine(a, b):
    open(FOUND, "a").write("")
    return (a * b).sum(dim=1)
"""
SCRIPT = """
import functools, sys
from pathlib import Path
from grader.course import Course
from grader.grading.worker import hidden_paths
from grader.intake.submission import Submission
from grader.judge.judge import open_judge
from grader.judge.listener import Listener
from grader.sandbox.limits import Limits
from grader.student import host as hosts
from forked_here import forked_host

hosts.Sandbox = functools.partial(hosts.Sandbox, without=("mount-namespace", "landlock"))
course = Course.load(Path(sys.argv[1]))
host = forked_host(Limits())
host.prepare(hidden_paths(course), [], "simulated", course.kit)
host.finish_preparing()
spy = Submission("spy", {"vectors.py": Path(sys.argv[2]).read_bytes()})
with open_judge(course, host) as judge:
    result = judge.grade(spy)
host.close()
assert not {"mount-namespace", "landlock"} & set(result.sandbox), result.sandbox
print(*(one.misconception for one in result.exercises))
"""


@pytest.mark.slow
@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
def test_what_looks_on_finds_no_solution_without_mount_namespace_and_landlock(
    tmp_path: Path, course_without_needs: Path
) -> None:
    found = tmp_path / "found"
    found.touch(mode=0o666)
    found.chmod(0o666)
    for folder in (tmp_path, *tmp_path.parents[:2]):  # the submission is another user
        folder.chmod(0o755)
    (tmp_path / "spy.py").write_text(SPY.format(found=str(found)))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, course_without_needs, tmp_path / "spy.py"],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (REPO, REPO / "tests")))},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert found.read_text() == ""
    assert done.stdout.split() == ["divides_by_zero", "plain_dot_product"]
