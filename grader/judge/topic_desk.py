"""Runs the calls of a topic's checks in sandboxed processes of one submission, within the time that it may take."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from grader.border.failures import SubmissionCrashed
from grader.border.messages import ImportFailure, SourceLine
from grader.border.proxies import Call, Channel, answered
from grader.course import Course
from grader.judge import cause as causes
from grader.judge import explain
from grader.judge.check import Check
from grader.judge.endless_loops import endless_loop
from grader.judge.in_process import reference_raises
from grader.judge.misconceptions import Replacements
from grader.student.client import HostClient
from grader.student.exercise import ExerciseProcess
from grader.student.topic import TopicProcess


class TopicDesk:
    """A `Desk` for the exercises of one topic, one after the other, each in a sandboxed process of its own.

    Args:
        files: the submission's files by name; the topic's own must be among them.

    Attributes:
        seconds: the topic's time limit (wall-clock seconds).
    """

    shrinks_failures = True
    wants_trace_only = False
    can_send_ahead = True

    def __init__(self, host: HostClient, course: Course, topic: str, files: Mapping[str, bytes]) -> None:
        self._host = host
        self._course = course
        self._topic = topic
        self._files = files
        self._replacements: Replacements = ()
        self.seconds = host.limits.topic_seconds
        self._until = time.monotonic() + self.seconds
        self._exercise: ExerciseProcess | None = None
        self._channel: Channel | None = None
        self._answered = False
        self._process = self._start()

    def _start(self) -> TopicProcess:
        return TopicProcess(self._host, self._topic, self._files, self._until)

    @property
    def import_failure(self) -> ImportFailure | None:
        """Why the topic cannot be imported, else None."""
        return self._process.failure

    def why_not_imported(self) -> str:
        """Why the topic cannot be imported, on one line for the course's author; empty if it was imported."""
        if self.import_failure is None:
            return ""
        return explain.for_author(causes.import_failed(self._topic, self.import_failure, ""))

    @property
    def is_out_of_time(self) -> bool:
        """Whether the topic's time is used up."""
        return time.monotonic() >= self._until

    def restart_clock(self) -> None:
        """Gives the topic its full time again, from now on."""
        self._until = time.monotonic() + self.seconds

    def extend_time(self, seconds: float) -> None:
        """Moves the topic's time limit by seconds that the grader used for itself, not for the submission."""
        self._until += seconds

    def import_prints(self) -> str:
        """What the topic's import printed."""
        return self._process.prints

    def replace_functions(self, replacements: Replacements) -> None:
        """Calls go to the functions that take the place of others, from the next fresh process on."""
        self._replacements = replacements

    def end_exercise(self) -> None:
        """Ends the current exercise and its process."""
        self.end_process()
        self._answered = False

    def channel(self) -> Channel:
        if self._channel is None or self._exercise is None or not self._exercise.alive:
            return self.fresh_channel()
        if self._exercise.pending:
            return self.fresh_channel()
        self._set_deadline(self._exercise)
        self._answered = self._answered or any(answered(exchange.reply) for exchange in self._channel.record[-1:])
        self._channel.restart()
        return self._channel

    def fresh_channel(self) -> Channel:
        self.end_process()
        self._exercise = self._process.exercise(self._replacements)
        if self._exercise is None:
            # An earlier exercise ended the topic's process too. The next exercises must not lose points for that.
            self._process.close()
            self._process = self._start()
            self._exercise = None if self._process.failure else self._process.exercise(self._replacements)
        if self._exercise is None:
            raise SubmissionCrashed("ended the process that had imported it")
        self._set_deadline(self._exercise)
        self._channel = Channel(self._exercise, self._course.kit.name if self._course.kit else "", self._exercise.arena)
        return self._channel

    def _set_deadline(self, exercise: ExerciseProcess) -> None:
        exercise.deadline = min(time.monotonic() + self._host.limits.check_seconds, self._until)

    def send_ahead(self, requests: list[bytes]) -> bool:
        # Only after a first answer: a stub answers nothing, and its replies to later requests would stay unread.
        if self._exercise is None or not self._answered:
            return False
        self._exercise.prime(requests)
        return True

    def end_process(self) -> None:
        if self._exercise is not None:
            self._exercise.close()
            self._exercise = None

    def take_prints(self) -> str:
        return self._exercise.prints() if self._exercise else ""

    def stopped_at(self) -> tuple[SourceLine, ...]:
        file = f"{self._topic}.py"
        frames = [line for line in (self._exercise.stopped_at if self._exercise else ()) if line.file == file]
        place = endless_loop(frames, self._files[file])
        return (place,) if place else ()

    def last_call(self) -> Call | None:
        return self._channel.last if self._channel else None

    def reference_also_fails(self, check: Check, fixtures: dict[str, Any]) -> bool:
        return reference_raises(self._course, check, fixtures)

    def close(self) -> None:
        """Ends all processes of the submission."""
        self.end_process()
        self._process.close()
