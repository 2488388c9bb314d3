"""Runs the calls of a topic's checks in sandboxed processes of one submission, within the time that it may take.

One process answers exercise after exercise while all answers are right. Only a process in which nothing but the
exercise at hand was asked may fail anybody: `Attempt` is that rule.

A topic has one budget of time. Everything draws from it: imports, checks, second runs. While an exercise runs, a part
of what the first import has left is kept for each exercise after it, so that no exercise pays for another.
"""

import contextlib
import math
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from grader.border.channel import Channel
from grader.border.failures import ImportFailure, SubmissionCrashed, SubmissionTimeout
from grader.border.messages import Exchange, Imported, LoadOrder, StatementPlace
from grader.border.proxies import Call
from grader.course import Course
from grader.course.model import DATA, given_files
from grader.course.source import variables_in
from grader.files import python_files
from grader.intake.writable import MOST_BYTES, writable
from grader.judge import cause as causes
from grader.judge import explain
from grader.judge.check import Check, Desk, RunOn
from grader.judge.in_process import LocalHost
from grader.judge.loading import load, place_of
from grader.judge.time_limit import Overrun
from grader.results import Cause, Flag, Frame, SpentTime
from grader.sandbox import process_tree
from grader.sandbox.clock import Deadline
from grader.sandbox.limits import Limits
from grader.student.socket_process import TopicProcess
from grader.student.student_process import Host

FIRST_TRY: Final = 0.4
"""The part of its time that a check gets in a process that earlier exercises have used."""
MOST_USED: Final = 3
"""How many exercises are named that used most of a topic's time; those that took less than a twentieth are not."""
KEPT: Final = 0.5
"""The part of its equal share of the topic's time that is kept for an exercise while those before it run."""
_MOST_LINES: Final = 3000
"""How many lines above a line its loop is looked for."""
_HEAD: Final = re.compile(rb"(?:async[ \t]+)?(while|for|def|class)\b")


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
        self._kept_for_each: float | None = None  # until the first one begins
        self._to_come = exercises
        self._paused = 0.0
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._running, self._began = "", time.monotonic()
        self._used_up: SpentTime | None = None

    def begin_exercise(self, name: str) -> None:
        """Nothing is kept any more for the exercise that begins now (full name)."""
        if self._kept_for_each is None:
            self._kept_for_each = KEPT * max(self.left(), 0.0) / max(self._to_come, 1)
        self._to_come = max(self._to_come - 1, 0)
        self.used()
        self._running = name

    def used(self) -> tuple[tuple[str, float], ...]:
        """The exercises that have used most of the time up to now, by the clock; the name is empty for the import."""
        now = time.monotonic() - self._paused  # the judge's own work does not count
        self._spent[self._running] += now - self._began
        self._began = now
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
        kept = (self._kept_for_each or 0.0) * self._to_come
        return self._topic.left() - kept

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


class TopicDesk(Desk):
    """A desk for the exercises of one topic, one after the other.

    Args:
        files: the submission's files by name; the topic's own must be among them.
        is_own: whether they are the course's own, with its wrong answers beside them; then only traces are wanted.

    Attributes:
        is_final: whether a failure of the running exercise counts: nothing else was asked of its process.
        import_failure: why the topic cannot be imported; None if it can.
        left_out: the statements that were left out, if there are any.
        not_written: files for which there is no room in the work folder, or that no file can be, and why.
        time: the budget of the topic's time.
    """

    def __init__(
        self, host: Host, course: Course, topic: str, files: Mapping[str, bytes], *, is_own: bool = False
    ) -> None:
        self.explains_failures = not is_own
        self._check_seconds = self._seconds = host.limits.check_seconds
        self.memory_limit = host.limits.memory_bytes
        self._course = course
        self._topic = topic
        file = course.module_file(topic)
        files, self.not_written = writable(files, {file}, min(MOST_BYTES, host.limits.file_bytes // 2))
        self._files = files
        exercises = [] if is_own else [one.name for one in course.topic(topic).exercises if not one.group]
        given = given_files(course)
        data = {name: content for name, content in given.items() if name.startswith(f"{DATA}/")}
        if course.suite is not None:  # what its students leave out is missing
            own = {*course.suite.names}
            given = {name: one for name, one in given.items() if name.partition("/")[0].removesuffix(".py") not in own}
        self._leader = host.open_topic(topic, given | files | data, () if is_own else None)
        deadline = None if is_own else self._leader.deadline(host.limits.topic_seconds)
        self.time = TopicTime(deadline, host.limits, 0 if is_own else len(course.topic(topic).exercises))
        self._process: TopicProcess | None = None
        self._threads = 0  # of the process after its import
        self._is_shared = False  # whether the process has answered an exercise before the running one
        self._channel: Channel | None = None
        self.left_out = None
        if is_own or course.strict_import:
            failure = self._start()
        else:
            loaded = load(topic, files, LoadOrder(exercises), self.time.left(), self._import)
            failure, self.left_out, self._leader.load_order = loaded.failure, loaded.left_out, loaded.order
        self.import_failure: Cause | None = None
        if failure is not None:
            self.import_failure = causes.import_failed(file, failure, self._import_prints, self.memory_limit)

    def _import(self, order: LoadOrder, seconds: float) -> tuple[ImportFailure | None, Imported, StatementPlace | None]:
        self._leader.load_order = order
        failure = self._start(seconds)
        if self._process is None:
            return failure, Imported(), None
        return failure, self._process.imported, place_of(self._process.arena.noted(), self._files)

    def _start(self, seconds: float = math.inf) -> ImportFailure | None:
        """Starts a fresh process; why it could not import the topic within that time, else None."""
        self.end_process()
        self._import_prints = ""
        try:
            self._process = process = self._leader.start_afresh()
        except SubmissionCrashed as crash:
            return crash
        failure = process.finish_import(self._deadline(seconds))
        if failure is None:
            self._threads = process_tree.count_threads(process.pid)
        self._import_prints = process.take_prints()
        return failure

    def _deadline(self, seconds: float) -> Deadline:
        """The limit of something that may take this many seconds, if the topic still has them."""
        return self._leader.deadline(max(min(seconds, self.time.left()), 0.01))

    def why_not_imported(self) -> str:
        """Why the topic cannot be imported, on one line for the course's author; empty if it was."""
        return explain.for_author(self.import_failure) if self.import_failure else ""

    def replace_functions(self, replacements: tuple[tuple[str, str], ...]) -> None:
        """From the next process on, calls of a function go to another: names in the topic and in its misconceptions."""
        self._leader.bindings = replacements
        self.end_process()

    # ---------------------------------------------------------------- an exercise

    def begin(self, exercise: str) -> None:
        """Begins an exercise (full name), in the process that the one before has used if all its answers were right."""
        self.time.begin_exercise(exercise)
        self.is_final = self._process is None or not self._process.alive or not self._is_shared

    def use_fresh_process(self) -> None:
        self.end_process()
        self.is_final = True

    def finish(self, *, is_right: bool) -> None:
        """Ends an exercise: removes its files from the work folder, and ends its process unless all was right."""
        if is_right and self._process is not None and self._process.alive:
            self._is_shared = self._leader.tidy(self._process, self._threads)
            if self._is_shared:
                return
        self.end_process()

    # ---------------------------------------------------------------- a check

    def channel(self) -> Channel:
        if self._process is None or not self._process.alive:
            failure = self._start()
            if isinstance(failure, SubmissionTimeout):
                raise SubmissionTimeout(f"no time was left to import {self._topic}.py again")
            if failure is not None:
                self.end_process()
                raise SubmissionCrashed("cannot be imported a second time")
        assert self._process is not None
        if self._channel is None:
            kit = self._course.kit.name if self._course.kit else ""
            variables = variables_in(self._course.stub_file(self._topic))
            self._channel = Channel(self._process, kit, self._process.arena, variables)
        self.renew_time()
        self._channel.restart()
        return self._channel

    def allow(self, seconds: float) -> None:
        self._seconds = seconds or self._check_seconds

    def renew_time(self) -> None:
        """Gives the running check its full time, or what is left of the topic's."""
        assert self._process is not None
        self._process.deadline = self._deadline(self._seconds * (1.0 if self.is_final else FIRST_TRY))

    def end_process(self) -> None:
        if self._process is not None:
            self._process.end()
        self._process = self._channel = None
        self._is_shared = False

    @property
    def flags(self) -> dict[Flag, None]:
        """Of actions that no exercise needs, as far as the processes of the submission that have ended say."""
        return self._leader.flags

    def end_worlds(self) -> None:
        """Ends the further processes that the check has started: a failed check leaves none to the next."""
        if self._process is not None:
            self._process.end_others()

    def take_prints(self) -> str:
        return self._process.take_prints() if self._process else ""

    def stopped_at(self) -> Frame | None:
        lines = self._process.stopped_at if self._process else ()
        return endless_loop([replace(line, file=own) for line in lines if (own := self._own(line.file))], self._files)

    def _own(self, path: str) -> str:
        """The name of a file of the submission, by its path over there; empty for any other file."""
        if "/site-packages/" in path:
            return ""
        return max((name for name in self._files if f"/{path}".endswith(f"/{name}")), key=len, default="")

    def spent_time(self) -> SpentTime | None:
        if self._process is None or self._channel is None:
            return None
        spent = SpentTime(rounded(self._process.deadline.seconds))
        if self._channel.asks_on_and_on and self._channel.answered > 0:  # it is slow
            spent = replace(spent, answered=self._channel.answered, longest=rounded(self._channel.longest))
        return replace(spent, used=self.time.used()) if spent.limit < rounded(self._seconds) else spent

    def last_call(self) -> Call | None:
        return self._channel.last if self._channel else None

    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges of the check that ran last; none if its process has ended."""
        return tuple(self._channel.record) if self._channel else ()

    def reference_also_fails(self, check: Check, run: RunOn) -> bool:
        with self.time.paused():
            return reference_raises(self._course, check, run)

    def close(self) -> None:
        """Ends all processes of the submission."""
        self.end_process()
        self._leader.close()


class LocalDesk(TopicDesk):
    """A desk for files of the course, in this process: what a check does not accept of them is the check's fault."""

    def __init__(self, folder: Path, topic: str, course: Course) -> None:
        files = python_files(folder)
        super().__init__(LocalHost(folder, course.kit), course, topic, files, is_own=True)

    def reference_also_fails(self, check: Check, run: RunOn) -> bool:
        return True


def reference_raises(course: Course, check: Check, run: RunOn) -> bool:
    """True if the check fails, raises or does not end on the course's own solution; found out once.

    If a course was handed out without its solutions, the check is taken to be right.

    Raises:
        Overrun: the check does not end, when it is asked for the first time.
    """
    if check.on_reference is None:
        if not course.solution_file(check.topic).is_file():
            return False
        try:
            with contextlib.closing(LocalDesk(course.solutions_dir, check.topic, course)) as desk:
                verdict = "failed" if desk.import_failure else run(desk)[0].verdict
            check.changed_by_solution = check.changed if verdict == "passed" else None
            if verdict in ("passed", "skipped"):
                check.on_reference = "passes"
            else:
                check.on_reference = "fails" if verdict in ("failed", "error") else "unclear"
        except Exception:  # an exception that cannot even be described
            check.on_reference = "fails"
        except Overrun:
            check.on_reference = "overruns"
            raise
    return check.on_reference in ("fails", "overruns")


# ---------------------------------------------------------------- the line of an endless loop


def endless_loop(frames: Sequence[Frame], files: Mapping[str, bytes]) -> Frame | None:
    """The most likely loop round the lines that a process was in; the innermost of these lines if there is no loop.

    The line that it was in when its time was up differs from run to run, the loop does not. A ``while`` is likelier
    than a ``for``. Of several, the outermost ``while`` is taken, which the process is in each time, but the innermost
    ``for``. Reads the source as text only: parsing deeply nested code could crash the judge.

    Args:
        frames: lines of these files, innermost first.
        files: by name.
    """
    sources = {frame.file: files[frame.file].splitlines() for frame in frames}
    loops = [(frame, *_loop(sources[frame.file], frame.line)) for frame in frames]
    whiles = [replace(frame, line=line) for frame, keyword, line in loops if keyword == b"while"]
    fors = [replace(frame, line=line) for frame, keyword, line in loops if keyword == b"for"]
    found = next(iter((*whiles[-1:], *fors, *frames)), None)
    if found is None:
        return None
    lines = sources[found.file]
    text = lines[found.line - 1] if 0 < found.line <= len(lines) else b""
    return replace(found, text=text.strip()[:200].decode("utf-8", "replace"))


def _loop(lines: Sequence[bytes], number: int) -> tuple[bytes, int]:
    """Keyword and line of a loop round the line: its function's outermost ``while``, else its outermost ``for``."""
    if not 0 < number <= len(lines):
        return b"", 0
    found: dict[bytes, int] = {}
    depth = _indent(lines[number - 1]) + 1
    for index in range(number, max(number - _MOST_LINES, 0), -1):
        line = lines[index - 1]
        text = line.strip()
        if not text or text.startswith(b"#") or _indent(line) >= depth:
            continue
        depth = _indent(line)
        head = _HEAD.match(text)
        if head and head[1] in (b"def", b"class"):
            break
        if head:
            found[head[1]] = index
    return next(((keyword, found[keyword]) for keyword in (b"while", b"for") if keyword in found), (b"", 0))


def _indent(line: bytes) -> int:
    expanded = line.expandtabs()
    return len(expanded) - len(expanded.lstrip())
