"""``grader verify --watch``: verifies all once, then the exercises that change, as soon as a file is saved.

A process that has imported all that is slow waits, and forks one child for each save; where nothing can be forked,
this process verifies. Stubs are released first. `grader verify` alone makes the second run of the solution, and draws
pictures for pages.
"""

import ast
import functools
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Final

import msgspec

from grader.course import Course
from grader.course.stubs import release
from grader.errors import UserError

Pieces = Mapping[str, str]
"""The text of each definition of a file by its name, and under "" of all else."""
_LEFT_OUT: Final = frozenset({"__pycache__", ".git", ".pytest_cache", ".hypothesis", ".torchkata"})


class Snapshot(msgspec.Struct, frozen=True):
    """A course's files at one moment.

    Attributes:
        topics: of each topic the pieces of its solution, of its wrong answers and of its checks.
        exercises: what the manifest says of each exercise.
        others: the content of all other files.
    """

    topics: Mapping[str, tuple[Pieces, Pieces, Pieces]]
    exercises: Mapping[str, str]
    others: Mapping[str, bytes]


def snapshot(course: Course) -> Snapshot:
    """The files of a course as they are now; a file that is not Python is one piece."""
    files = {
        topic.name: (
            course.solution_file(topic.name),
            course.misconceptions_file(topic.name),
            course.check_file(topic.name),
        )
        for topic in course.modules
    }
    known = {file for three in files.values() for file in three} | {course.manifest}
    known |= {course.stub_file(topic) for topic in files}
    others = {
        str(file): file.read_bytes() for place in places(course) for file in _all_files(place) if file not in known
    }
    pieces = {name: (_pieces(a), _pieces(b), _pieces(c)) for name, (a, b, c) in files.items()}
    return Snapshot(pieces, {one.full_name: repr(one) for one in course.exercises}, others)


def places(course: Course) -> list[Path]:
    """The folders that an author writes in."""
    kit = [course.kit.folder] if course.kit and course.kit.folder.parent != course.checks_dir else []
    return [course.solutions_dir, course.checks_dir, *kit]


def changed_exercises(before: Snapshot, after: Snapshot) -> list[str]:
    """The exercises (full names) that a change of files may concern, in order."""
    found = []
    for name, entry in after.exercises.items():
        topic, _, function = name.partition(".")
        is_new = before.exercises.get(name) != entry or topic not in before.topics
        others = {one.rpartition(".")[2] for one in after.exercises if one.startswith(f"{topic}.")} - {function}
        if is_new or before.others != after.others or _changed(before.topics[topic], after.topics[topic]) - others:
            found.append(name)
    return found


def _changed(before: tuple[Pieces, ...], after: tuple[Pieces, ...]) -> set[str]:
    """The exercises, or other names, that the changed pieces of a topic's files are of."""
    return {
        (new.get(name) or old[name]).partition("\0")[0]
        for old, new in zip(before, after, strict=True)
        for name in old.keys() | new.keys()
        if old.get(name) != new.get(name)
    }


def _pieces(file: Path) -> Pieces:
    """The pieces of a file; each begins with the exercise that it is of, if it is of one alone, and a NUL."""
    content = file.read_bytes() if file.is_file() else b""
    return _pieces_in(content, file.parent.name == "solutions")


@functools.lru_cache(maxsize=256)
def _pieces_in(content: bytes, is_solution: bool) -> Pieces:
    try:
        source = content.decode()
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {"": "\0" + content.decode(errors="replace")}
    lines = source.splitlines()
    found: dict[str, str] = {}
    rest = list(lines)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
            of = node.name if is_solution else _marked_exercise(node)
            found[node.name] = f"{of}\0" + "\n".join(lines[first : node.end_lineno])
            rest[first : node.end_lineno] = [""] * ((node.end_lineno or first) - first)
    found[""] = "\0" + "\n".join(line for line in rest if line.strip())
    return found


def _marked_exercise(node: ast.FunctionDef | ast.ClassDef) -> str:
    for one in node.decorator_list:
        match one:
            case ast.Call(ast.Name("exercise" | "misconception" | "picture"), [ast.Constant(str(name)), *_]):
                return name.rpartition(".")[2]
    return ""


def _all_files(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not _LEFT_OUT & set(file.relative_to(folder).parts):
            yield file


def watch_course(path: Path | None, verify: Callable[[Sequence[str]], int], only: Sequence[str] = ()) -> None:
    """Verifies each topic once, then the exercises that change whenever a file is saved, until it is interrupted.

    Args:
        path: of the course, as `Course.load` takes it.
        verify: verifies some exercises (full names) or topics of the course as it is then, prints what it finds, and
            returns 0 if they are sound.
        only: names of topics and exercises; empty means the whole course.
    """
    course = Course.load(path)
    warm = WarmVerifier(verify) if hasattr(os, "fork") else None  # before the first thread
    from watchfiles import watch

    print(f"watching {course.root} (Ctrl-C ends this)", flush=True)
    watched = _WatchedCourse(path, course, warm.verify if warm else verify, only)
    try:
        watched.verify_each_topic()
        print("save a solution, a check or a wrong answer", flush=True)
        folders = sorted({*places(course), course.manifest.parent})
        has_settled = False
        for changes in watch(*folders, recursive=True, yield_on_timeout=True, watch_filter=_is_of_author):
            # One look more after the last change: a file may have been saved before the folders were watched.
            if changes or not has_settled:
                watched.look()
            has_settled = not changes
    finally:
        if warm is not None:
            warm.close()


class _WatchedCourse:
    """A course that is being written, and how its exercises were when they were last verified."""

    def __init__(
        self, path: Path | None, course: Course, verify: Callable[[Sequence[str]], int], only: Sequence[str]
    ) -> None:
        self._path = path
        self._verify = verify
        self._only = only
        self._course = course
        self._seen = snapshot(course)
        self._unsound: set[str] = set()
        self._problem = ""

    def verify_each_topic(self) -> None:
        """Verifies all that is watched; what is saved meanwhile comes first."""
        for topic in self._course.modules:
            chosen = [one.full_name for one in topic.exercises if one.full_name in self._course.select(self._only)]
            if chosen:
                self._run([topic.name] if len(chosen) == len(topic.exercises) else chosen, chosen)
            self.look()

    def look(self) -> None:
        """Verifies the exercises that have changed since the last look; says once why the course cannot be read."""
        try:
            for file in release(Course.load(self._path, complete=False)):
                print(f"written: {file}")
            self._course = Course.load(self._path)
            after = snapshot(self._course)
            chosen = set(self._course.select(self._only))
        except UserError as error:
            problem = str(error) + (f"\n  {error.fix}" if error.fix else "")
            if problem != self._problem:
                print(problem, flush=True)
            self._problem = problem
            return
        changed = [name for name in changed_exercises(self._seen, after) if name in chosen]
        if self._problem and not changed:
            unsound = ", ".join(name for name in after.exercises if name in self._unsound)
            print(f"as it was before: {f'not sound: {unsound}' if unsound else 'sound'}", flush=True)
        self._seen, self._problem = after, ""
        if changed:
            self._run(changed, changed)

    def _run(self, names: Sequence[str], exercises: Sequence[str]) -> None:
        try:
            is_sound = self._verify(names) == 0
        except UserError as error:
            print(error)
            is_sound = False
        self._unsound = self._unsound - set(exercises) if is_sound else self._unsound | set(exercises)
        sys.stdout.flush()


def _is_of_author(change: object, path: str) -> bool:
    file = Path(path)
    return file.suffix in (".py", ".toml", ".txt", ".csv", ".json") and not _LEFT_OUT & set(file.parts)


class WarmVerifier:
    """A process that waits with everything imported; `verify` has it fork one that does the work.

    Args:
        work: verifies some exercises and prints what it finds, in the forked process; it returns the exit code.
    """

    def __init__(self, work: Callable[[Sequence[str]], int]) -> None:
        self._ours, theirs = Pipe()
        self._pid = os.fork()
        if self._pid == 0:
            self._ours.close()
            _wait_for_orders(theirs, work)
        theirs.close()

    def verify(self, names: Sequence[str]) -> int:
        """What the work returns, when it is done.

        Raises:
            UserError: the waiting process has ended.
        """
        try:
            self._ours.send(list(names))
            return int(self._ours.recv())
        except (EOFError, OSError):
            raise UserError("the process that verifies has ended", fix="start again: grader verify --watch") from None

    def close(self) -> None:
        """Ends the process."""
        self._ours.close()
        os.waitpid(self._pid, 0)


def _wait_for_orders(orders: Connection, work: Callable[[Sequence[str]], int]) -> None:
    """Forks a process for each order, until nobody gives any."""
    code = 0
    try:
        _import_what_is_slow()
        while True:
            names = orders.recv()
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                result = 1
                try:
                    result = work(names)
                except UserError as error:
                    print(error)
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    os._exit(result)
            orders.send(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # nobody gives orders any more
    except BaseException:
        traceback.print_exc()
        code = 1
    os._exit(code)


_SLOW: Final = (
    "_pytest.helpconfig",  # pytest's own plugins, which it imports when it starts
    "_pytest.skipping",
    "hypothesis",
    "plotext",
    "pytest",
    "grader.grading.promises",
    "grader.grading.second_run",
    "grader.grading.verify",
    "grader.grading.worker",
    "grader.judge.judge",
    "grader.student.engine",
    "grader.student.host",
    "grader.testkit.observation",
    "grader.testkit.probes",
    "grader.testkit.recipes",
)


def _import_what_is_slow() -> None:
    for name in _SLOW:
        importlib.import_module(name)
