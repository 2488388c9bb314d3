"""One warm worker that every attack meets, and what must still be true of it afterwards.

An attack is a folder of ``submissions/``; its hostile exercise is ``gram``,
its other exercises are honest. Limits are small, so that what never ends is over soon.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from shared import PATIENCE

from grader.grading.protocol import WorkerOptions
from grader.grading.starting import ForkedProcess
from grader.grading.worker_process import Worker
from grader.intake.find import open_submission
from grader.intake.submission import Submission
from grader.results import ExerciseResult, SubmissionResult, to_json
from grader.sandbox import process_tree
from grader.sandbox.limits import Limits

HERE = Path(__file__).parent
PROJECT = HERE.parent.parent
HONEST = ("make_tensor", "describe", "as_float32")
EXERCISES = (*HONEST, "gram")
LIMITS = Limits(check_seconds=2.0, topic_seconds=15.0, memory_bytes=512 << 20, processes=24)
PORT = 14123
"""Where attacks listen that would outlive their submission; none that a system gives to others."""
MARK = "attack-was-here"
"""The name of every file that an attack would leave behind."""
MOST_UNPROVEN = 10
"""Attacks after which the honest submission is graded again: to do so after each takes as long as they do."""
MOST_GROWTH = 192 << 20
"""Memory that the judge may need at most for one submission, whatever that sends (bytes)."""
LONGEST_MESSAGE = 8_000


class Arena:
    """A worker, and what it was like before any attack.

    Attributes:
        honest: a right submission.
        expected: its result, as JSON, which stays the same after every attack.
        unproven: the tests since it was last graded.
    """

    def __init__(self, options: WorkerOptions, honest: Submission) -> None:
        self.worker = Worker()
        self.worker.configure(options)
        self.honest = honest
        self.unproven: list[str] = []
        for _ in range(3):  # The first runs draw examples and record plans.
            self.expected = to_json(self.grade(honest))
        assert isinstance(self.worker.process, ForkedProcess)
        self._pid, self._host = self.worker.process.pid, self.worker.process.host
        self.host = self._alive()
        self._descriptors = self._open_descriptors()

    def _alive(self) -> list[int]:
        """The host, and what is below it and the worker; one that has ended may wait for the host to note that."""
        below = [*process_tree.descendants(self._host), *process_tree.descendants(self._pid)]
        return [pid for pid in (self._host, *below) if process_tree.is_alive(pid)]

    def grade(self, submission: Submission) -> SubmissionResult:
        """The result of one submission; its messages are bounded, whatever it did."""
        result = self.worker.grade(submission, PATIENCE)
        assert isinstance(result, SubmissionResult), result
        assert "error" not in result.verdicts, "a submission must not pass for a fault of the grader"
        assert max(len(message) for message in messages_of(result)) <= LONGEST_MESSAGE
        return result

    def attack(self, submission: Submission) -> SubmissionResult:
        """The result of a hostile submission, after which nothing is left of it."""
        self.unproven.append(os.environ["PYTEST_CURRENT_TEST"])
        resting = self._start_memory()
        result = self.grade(submission)
        growth = self._peak_memory() - resting
        assert growth < MOST_GROWTH, f"the judge grew by {growth >> 20} MiB"
        assert self.worker.process.poll() is None
        assert self._alive() == self.host, "a process is left"
        assert self._open_descriptors() == self._descriptors, "a descriptor is left"
        assert left_files() == []
        with socket.socket() as way:
            assert way.connect_ex(("127.0.0.1", PORT)), "a port is left"
        if len(self.unproven) >= MOST_UNPROVEN:
            self.require_honest()
        return result

    def require_honest(self) -> None:
        """The honest submission gets what it got before all attacks."""
        tests, self.unproven = self.unproven, []
        if tests:
            assert to_json(self.grade(self.honest)) == self.expected, f"one of these has changed it: {tests}"

    @contextlib.contextmanager
    def after(self, session: pytest.Session) -> Iterator[Arena]:
        """It, for one test: after a test that fails, honest work is graded at once."""
        failed = session.testsfailed
        yield self
        if session.testsfailed > failed:
            self.require_honest()

    def survive(
        self, name: str, gram: str, honest: str = "passed", also: frozenset[str] = frozenset()
    ) -> SubmissionResult:
        """Grades ``submissions/NAME``: the kinds of verdict that it gets, and the points that it earned honestly.

        Args:
            also: other kinds of failure that some checks of the exercise may end in.
        """
        result = self.attack(submission(name))
        kinds = {exercise.name.partition(".")[2]: kinds_of(exercise) for exercise in result.exercises}
        assert kinds["gram"] <= {gram, "passed", *also} and gram in kinds["gram"], (kinds["gram"], messages_of(result))
        assert {kind for name in HONEST for kind in kinds[name]} == {honest}, messages_of(result)
        assert result.max == len(EXERCISES)
        assert result.score == len(HONEST) * (honest == "passed") + (gram == "passed")
        return result

    def rejected(self, name: str, files: dict[str, bytes], notes: tuple[str, ...] = ()) -> str:
        """Grades files of which nothing can be used; the one message that all exercises get, on one line."""
        result = self.attack(Submission(name, files, notes))
        assert result.score == 0
        assert {kind for exercise in result.exercises for kind in kinds_of(exercise)} <= {"failed", "crashed"}
        (message,) = set(messages_of(result))
        return message

    def close(self) -> None:
        try:
            if self.worker.process.poll() is None:
                self.require_honest()
        finally:
            self.worker.end(gently=True)

    def _open_descriptors(self) -> list[list[str]]:
        """The files that the judge and the host have open; what memory is left is read from some at any time."""
        return [
            sorted(name for name in _links(Path(f"/proc/{process}/fd")) if not name.startswith(("/proc/", "/sys/")))
            for process in (self._pid, *self.host)
        ]

    def _start_memory(self) -> int:
        Path(f"/proc/{self._pid}/clear_refs").write_text("5")  # the peak begins anew
        return self._peak_memory()

    def _peak_memory(self) -> int:
        status = Path(f"/proc/{self._pid}/status").read_text()
        return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:"))


def _links(folder: Path) -> list[str]:
    """What the links of a folder lead to; one that goes away meanwhile leads nowhere."""
    found = []
    for link in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(link))
    return found


def submission(name: str) -> Submission:
    """The submission in ``submissions/NAME``."""
    return open_submission(HERE / "submissions" / name, ["tensor_ops"]).read()


def kinds_of(exercise: ExerciseResult) -> set[str]:
    return {check.verdict for check in exercise.checks}


def messages_of(result: SubmissionResult) -> list[str]:
    return [check.message for exercise in result.exercises for check in exercise.checks]


def left_files() -> list[str]:
    """What attacks left where they have no business."""
    places = [Path.home(), Path.cwd(), PROJECT, PROJECT / "grader", Path("/"), Path("/dev/shm"), Path("/var/tmp")]
    places += [Path(tempfile.gettempdir()), Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib"))]
    return [str(path) for place in places for path in place.glob(f"{MARK}*")]
