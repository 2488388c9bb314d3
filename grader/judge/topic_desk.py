"""Runs the calls of a topic's checks in sandboxed processes of one submission, within the time that it may take.

One process answers exercise after exercise while all answers are right. Only a process in which nothing but the
exercise at hand was asked may fail anybody: `begin_again` makes one.

A topic has one budget of time. Everything draws from it: imports, checks, second runs. While an exercise runs, a part
is kept for each exercise after it, so that no exercise pays for another.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from grader.border.channel import Channel
from grader.border.failures import SubmissionCrashed, SubmissionTimeout
from grader.border.messages import Definitions, ImportFailure, ImportTimeout, SourceLine
from grader.border.proxies import Call
from grader.course import Course
from grader.judge import cause as causes
from grader.judge import explain
from grader.judge.check import Check
from grader.judge.endless_loops import endless_loop
from grader.judge.in_process import reference_raises
from grader.judge.loading import Outcome, Partial, definitions_of, line_at_top, load
from grader.judge.misconceptions import Replacements
from grader.results import Flag
from grader.sandbox import process_tree
from grader.student.interfaces import Host
from grader.student.leader_client import LeaderGone
from grader.student.student_process import StudentProcess

FIRST_TRY: Final = 0.4
"""The part of its time that a check gets where no failure counts."""
KEPT: Final = 0.5
"""The part of its equal share of the topic's time that is kept for an exercise while those before it run."""


class TopicDesk:
    """A `Desk` for the exercises of one topic, one after the other.

    Args:
        files: the submission's files by name; the topic's own must be among them.
        is_own: whether they are the course's own, with its wrong answers beside them.

    Attributes:
        import_failure: why the topic cannot be imported, else None.
        import_prints: what the topic's import printed.
        partial: what was left out of the topic, where only its definitions could be loaded.
        flags: what the submission did that no exercise needs, as far as its ended processes say.
    """

    shrinks_failures = True
    wants_trace_only = False

    def __init__(
        self, host: Host, course: Course, topic: str, files: Mapping[str, bytes], *, is_own: bool = False
    ) -> None:
        self._host = host
        self._course = course
        self._topic = topic
        self._files = files
        self._seconds = host.limits.topic_seconds
        self._to_come = len(course.topic(topic).exercises)
        self._kept = KEPT * self._seconds / max(self._to_come, 1)
        self._is_own = is_own
        self._leader = host.open_topic(topic, files, () if is_own else None)
        self._topic_time = self._leader.deadline(self._seconds)
        self._paused = 0.0
        self._process: StudentProcess | None = None
        self._channel: Channel | None = None
        self.flags: dict[Flag, None] = {}
        self._threads = 0
        self._is_final = True
        self._is_fresh = True
        self.import_prints = ""
        self.partial: Partial | None = None
        self.import_failure = self._load()

    def _load(self) -> ImportFailure | None:
        """Imports the topic; why it cannot be imported, else None."""
        if self._is_own or self._course.strict_import:
            return self._start()

        def wanted() -> Definitions:
            return definitions_of(self._course.topic(self._topic), self._course.stub_file(self._topic))

        def do_import(definitions: Definitions | None, seconds: float) -> Outcome:
            self._leader.definitions = definitions
            failure = self._start(seconds)
            assert self._process is not None
            place = line_at_top(self._process.stopped_at, f"{self._topic}.py")
            return Outcome(failure, self._process.imported, place)

        failure, self.partial = load(self._topic, wanted, self._left(), do_import)
        return failure

    def _start(self, seconds: float = math.inf) -> ImportFailure | None:
        """Starts a fresh process; why it could not import the topic within that time, else None."""
        self.end_process()
        seconds = max(min(seconds, self._left()), 0.01)
        self._process = self._leader.start_afresh()
        failure = self._process.finish_import(self._leader.deadline(seconds))
        if failure is None:
            self._leader.keep_files()
            self._threads = process_tree.count_threads(self._process.pid)
        self.import_prints = self._process.take_prints()
        self._is_fresh = True
        return failure

    def why_not_imported(self) -> str:
        """Why the topic cannot be imported as it is, on one line for the course's author; empty if it was."""
        failure = self.partial.failure if self.partial else self.import_failure
        return explain.for_author(causes.import_failed(self._topic, failure, "")) if failure else ""

    def replace_functions(self, replacements: Replacements) -> None:
        """From the next process on, calls go to the functions that take the place of others."""
        self._leader.bindings = replacements
        self.end_process()

    # ---------------------------------------------------------------- an exercise

    def begin(self) -> None:
        """Begins an exercise, in the process that the one before has used if that had right answers only."""
        self._to_come = max(self._to_come - 1, 0)
        self._is_final = self._process is None or not self._process.alive or self._is_fresh

    def begin_again(self) -> None:
        """Begins the exercise again, in a fresh process: now its failures count."""
        self.end_process()
        self._is_final = True

    @property
    def is_final(self) -> bool:
        """Whether a failure counts: nothing but this exercise was asked of its process."""
        return self._is_final

    def finish(self, *, is_right: bool) -> None:
        """Ends an exercise: what it left in the work folder is removed; so is its process, but after right answers."""
        process = self._process
        if is_right and process is not None and process.alive:
            with contextlib.suppress(LeaderGone):
                self._leader.tidy()
                if not self._leader.has_left_something(process, self._threads):
                    self._is_fresh = False
                    return
        self.end_process()

    @property
    def is_out_of_time(self) -> bool:
        """Whether the topic's time is used up, except for the part that is kept for later exercises."""
        return self._left() <= 0.0

    def _left(self) -> float:
        """The seconds of the topic's time that the running exercise may use. The course's own answers have no limit."""
        if self._is_own:
            return self._seconds
        kept = self._kept * self._to_come
        return self._topic_time.own_left(kept + self._host.limits.check_seconds) + self._paused - kept

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The judge's own work meanwhile, such as naming a misconception, takes no time of the topic's."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._paused += time.monotonic() - began

    # ---------------------------------------------------------------- a check

    def channel(self) -> Channel:
        if self._process is None or not self._process.alive:
            failure = self._start()
            if isinstance(failure, ImportTimeout):
                raise SubmissionTimeout(f"no time was left to import {self._topic}.py again")
            if failure is not None:
                self.end_process()
                raise SubmissionCrashed("cannot be imported a second time")
        assert self._process is not None
        if self._channel is None:
            kit = self._course.kit.name if self._course.kit else ""
            self._channel = Channel(self._process, kit, self._process.arena)
        self.renew_time()
        self._channel.restart()
        return self._channel

    def renew_time(self) -> None:
        """Gives the running check its full time, as far as the topic still has it."""
        assert self._process is not None
        seconds = self._host.limits.check_seconds * (1.0 if self._is_final else FIRST_TRY)
        seconds = max(min(seconds, self._left()), 0.01)
        self._process.deadline = self._leader.deadline(seconds)

    def end_process(self) -> None:
        if self._process is not None:
            if self._leader.bindings is None:
                self.flags |= dict.fromkeys(self._process.flags())
            self._process.end()
            self._process = None
        self._channel = None

    def end_worlds(self) -> None:
        """Ends what further processes the check has started: a failed check leaves none to the next."""
        if self._process is not None:
            self._process.end_others()

    def take_prints(self) -> str:
        return self._process.take_prints() if self._process else ""

    def stopped_at(self) -> tuple[SourceLine, ...]:
        file = f"{self._topic}.py"
        frames = [line for line in (self._process.stopped_at if self._process else ()) if line.file == file]
        place = endless_loop(frames, self._files[file])
        return (place,) if place else ()

    def last_call(self) -> Call | None:
        return self._channel.last if self._channel else None

    def reference_also_fails(self, check: Check, fixtures: dict[str, Any]) -> bool:
        return reference_raises(self._course, check, fixtures)

    def close(self) -> None:
        """Ends all processes of the submission."""
        self.end_process()
        self._leader.close()
