"""Runs the calls of a topic's checks in sandboxed processes of one submission, within the time that it may take.

One process answers exercise after exercise while all answers are right. Only a process in which nothing but the
exercise at hand was asked may fail anybody: `begin_again` makes one.

A topic has one budget of time. Everything draws from it: imports, checks, second runs. While an exercise runs, a part
is kept for each exercise after it, so that no exercise pays for another.
"""

import contextlib
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from grader.border.channel import Channel
from grader.border.failures import ImportFailure, SubmissionCrashed, SubmissionTimeout
from grader.border.messages import Definitions, Exchange, Imported
from grader.border.proxies import Call
from grader.course import Course
from grader.judge import cause as causes
from grader.judge import explain
from grader.judge.check import Check
from grader.judge.desk import Desk, RunOn
from grader.judge.endless_loops import endless_loop
from grader.judge.in_process import reference_raises
from grader.judge.loading import Partial, load
from grader.judge.misconceptions import Replacements
from grader.results import Flag, Frame, SpentTime
from grader.sandbox import process_tree
from grader.sandbox.clock import Deadline
from grader.sandbox.limits import Limits
from grader.student.student_process import Host, StudentProcess

FIRST_TRY: Final = 0.4
"""The part of its time that a check gets in a process that earlier exercises have used."""
MOST_USED: Final = 3
"""How many exercises are named that used most of a topic's time; those that took less than a twentieth are not."""
KEPT: Final = 0.5
"""The part of its equal share of the topic's time that is kept for an exercise while those before it run."""


class TopicTime:
    """The budget of one topic's time, and how much of it the running exercise may use.

    Args:
        topic: of all exercises together; None means that there is no limit, as for the course's own answers.
        limits: of the submission.
        exercises: how many the topic has.
    """

    def __init__(self, topic: Deadline | None, limits: Limits, exercises: int) -> None:
        self._topic = topic
        self._limits = limits
        self._kept_for_each = KEPT * limits.topic_seconds / max(exercises, 1)
        self._to_come = exercises
        self._paused = 0.0
        self._spent: dict[str, float] = {}
        self._running, self._began = "", self._now()
        self._used_up: SpentTime | None = None

    def _now(self) -> float:
        """The seconds of the clock without the judge's own work."""
        return time.monotonic() - self._paused

    def begin_exercise(self, name: str) -> None:
        """Nothing is kept any more for the exercise that begins now (full name)."""
        self._to_come = max(self._to_come - 1, 0)
        self._note_spent()
        self._running = name

    def _note_spent(self) -> None:
        now = self._now()
        self._spent[self._running] = self._spent.get(self._running, 0.0) + now - self._began
        self._began = now

    def used(self) -> tuple[tuple[str, float], ...]:
        """The exercises that have used most of the time up to now, by the clock; the name is empty for the import."""
        self._note_spent()
        longest = sorted(self._spent.items(), key=lambda one: -one[1])[:MOST_USED]
        return tuple((name, rounded(spent)) for name, spent in longest if spent >= self._limits.topic_seconds / 20)

    def used_up(self) -> SpentTime:
        """The topic's time as it was spent when it was first found to be used up: the same for all that come after."""
        self._used_up = self._used_up or SpentTime(self._limits.topic_seconds, used=self.used())
        return self._used_up

    def left(self) -> float:
        """The seconds that the running exercise may use, at most 0 if there are none."""
        if self._topic is None:
            return self._limits.topic_seconds
        kept = self._kept_for_each * self._to_come
        return self._topic.own_left(kept + self._limits.check_seconds) + self._paused - kept

    def at_most(self, seconds: float) -> float:
        """The limit of something that may take this many seconds (s), if the topic still has them."""
        return max(min(seconds, self.left()), 0.01)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The judge's own work meanwhile, such as naming a misconception, takes no time of the topic's."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._paused += time.monotonic() - began


def rounded(seconds: float) -> float:
    """A time with the two digits that are much the same in every run."""
    return float(f"{seconds:.2g}")


@dataclass(frozen=True)
class TopicImport:
    """How a topic was imported.

    Attributes:
        failure: why it cannot be imported, else None.
        prints: printed by its last import.
        partial: the statements that were left out, if only its definitions could be loaded.
    """

    failure: ImportFailure | None
    prints: str
    partial: Partial | None = None

    def for_author(self, topic: str) -> str:
        """Why the topic cannot be imported as it is, on one line for the course's author; empty if it was."""
        failure = self.partial.failure if self.partial else self.failure
        return explain.for_author(causes.import_failed(topic, failure, "")) if failure else ""


@dataclass
class _ImportedProcess:
    """The student process that answers the checks.

    Attributes:
        threads: how many it had after its import.
        is_shared: whether it has answered an exercise before the one that runs now.
    """

    process: StudentProcess
    threads: int = 0
    is_shared: bool = False
    channel: Channel | None = None


class TopicDesk(Desk):
    """A desk for the exercises of one topic, one after the other.

    Args:
        files: the submission's files by name; the topic's own must be among them.
        is_own: whether they are the course's own, with its wrong answers beside them.

    Attributes:
        is_final: whether a failure of the running exercise counts: nothing else was asked of its process.
        imported: how the topic was imported first.
        time: the budget of the topic's time.
        flags: of actions that no exercise needs, as far as the ended processes of the submission say.
    """

    def __init__(
        self,
        host: Host,
        course: Course,
        topic: str,
        files: Mapping[str, bytes],
        *,
        is_own: bool = False,
        wants_trace_only: bool = False,
    ) -> None:
        self.wants_trace_only = wants_trace_only
        self.is_final = True
        self.flags: dict[Flag, None] = {}
        self._check_seconds = host.limits.check_seconds
        self.memory_limit = host.limits.memory_bytes
        self._course = course
        self._topic = topic
        self._files = files
        self._leader = host.open_topic(topic, files, () if is_own else None)
        deadline = None if is_own else self._leader.deadline(host.limits.topic_seconds)
        self.time = TopicTime(deadline, host.limits, len(course.topic(topic).exercises))
        self._running: _ImportedProcess | None = None
        self.imported = self._import_whole() if is_own or course.strict_import else self._import()

    def _import_whole(self) -> TopicImport:
        failure, prints = self._start()
        return TopicImport(failure, prints)

    def _import(self) -> TopicImport:
        """Imports the topic, or only its definitions."""
        prints = ""

        def do_import(definitions: Definitions | None, seconds: float) -> tuple[ImportFailure | None, Imported]:
            nonlocal prints
            self._leader.definitions = definitions
            failure, prints = self._start(seconds)
            assert self._running is not None
            return failure, self._running.process.imported

        exercises = [one.name for one in self._course.topic(self._topic).exercises]
        failure, partial = load(f"{self._topic}.py", exercises, self.time.left(), do_import)
        return TopicImport(failure, prints, partial)

    def _start(self, seconds: float = math.inf) -> tuple[ImportFailure | None, str]:
        """Starts a fresh process; why it could not import the topic within that time, else None, and its prints."""
        self.end_process()
        seconds = self.time.at_most(seconds)
        process = self._leader.start_afresh()
        self._running = _ImportedProcess(process)
        failure = process.finish_import(self._leader.deadline(seconds))
        if failure is None:
            self._running.threads = process_tree.count_threads(process.pid)
        return failure, process.take_prints()

    def why_not_imported(self) -> str:
        """Why the topic cannot be imported as it is, on one line for the course's author; empty if it was."""
        return self.imported.for_author(self._topic)

    def replace_functions(self, replacements: Replacements) -> None:
        """From the next process on, calls go to the functions that take the place of others."""
        self._leader.bindings = replacements
        self.end_process()

    # ---------------------------------------------------------------- an exercise

    def begin(self, exercise: str) -> None:
        """Begins an exercise (full name), in the process that the one before has used if all its answers were right."""
        self.time.begin_exercise(exercise)
        running = self._running
        self.is_final = running is None or not running.process.alive or not running.is_shared

    def begin_again(self) -> None:
        """Begins the exercise again, in a fresh process: now its failures count."""
        self.end_process()
        self.is_final = True

    def finish(self, *, is_right: bool) -> None:
        """Ends an exercise: removes its files from the work folder, and ends its process unless all was right."""
        running = self._running
        if is_right and running is not None and running.process.alive:
            running.is_shared = self._leader.tidy(running.process, running.threads)
            if running.is_shared:
                return
        self.end_process()

    # ---------------------------------------------------------------- a check

    def channel(self) -> Channel:
        if self._running is None or not self._running.process.alive:
            failure, _ = self._start()
            if isinstance(failure, SubmissionTimeout):
                raise SubmissionTimeout(f"no time was left to import {self._topic}.py again")
            if failure is not None:
                self.end_process()
                raise SubmissionCrashed("cannot be imported a second time")
        running = self._running
        assert running is not None
        if running.channel is None:
            kit = self._course.kit.name if self._course.kit else ""
            running.channel = Channel(running.process, kit, running.process.arena)
        self.renew_time()
        running.channel.restart()
        return running.channel

    def renew_time(self) -> None:
        """Gives the running check its full time, as far as the topic still has it."""
        assert self._running is not None
        seconds = self._check_seconds * (1.0 if self.is_final else FIRST_TRY)
        self._running.process.deadline = self._leader.deadline(self.time.at_most(seconds))

    def end_process(self) -> None:
        if self._running is not None:
            if self._leader.bindings is None:
                self.flags |= dict.fromkeys(self._running.process.flags())
            self._running.process.end()
            self._running = None

    def end_worlds(self) -> None:
        """Ends the further processes that the check has started: a failed check leaves none to the next."""
        if self._running is not None:
            self._running.process.end_others()

    def take_prints(self) -> str:
        return self._running.process.take_prints() if self._running else ""

    def stopped_at(self) -> tuple[Frame, ...]:
        file = f"{self._topic}.py"
        frames = [line for line in (self._running.process.stopped_at if self._running else ()) if line.file == file]
        place = endless_loop(frames, self._files[file])
        return (place,) if place else ()

    def spent_time(self) -> SpentTime | None:
        if self._running is None or self._running.channel is None:
            return None
        channel, limit = self._running.channel, rounded(self._running.process.deadline.seconds)
        is_slow = channel.asks_on_and_on and channel.answered > 0
        return SpentTime(
            limit,
            channel.answered if is_slow else 0,
            rounded(channel.longest) if is_slow else 0.0,
            self.time.used() if limit < rounded(self._check_seconds) else (),
        )

    def last_call(self) -> Call | None:
        return self._running.channel.last if self._running and self._running.channel else None

    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges of the check that ran last; none if its process has ended."""
        return tuple(self._running.channel.record) if self._running and self._running.channel else ()

    def reference_also_fails(self, check: Check, run: RunOn) -> bool:
        with self.time.paused():
            return reference_raises(self._course, check, run)

    def close(self) -> None:
        """Ends all processes of the submission."""
        self.end_process()
        self._leader.close()
