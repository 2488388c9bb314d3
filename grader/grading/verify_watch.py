"""``grader verify --watch``: verifies all once, then the exercises that change, as soon as a file is saved.

A server that has imported all that is slow waits, and forks one process for each save; where nothing can be forked, a
new one is started. Stubs are released first. `grader verify` alone makes the second run of the solution, and draws
pictures for pages.
"""

import ast
import contextlib
import functools
import multiprocessing
import sys
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final, NamedTuple

from grader.course import Course
from grader.course.source import first_line
from grader.course.stubs import release
from grader.errors import UserError

_LEFT_OUT: Final = frozenset({"__pycache__", ".git", ".pytest_cache", ".hypothesis", ".torchkata"})
_SETTLED_MS: Final = 300
_SLOW: Final = (
    "_pytest.helpconfig",  # pytest's own plugins, which it imports when it starts
    "_pytest.skipping",
    "plotext",
    "grader.cli.author",
    "grader.grading.verify",
    "grader.student.host",
    "grader.testkit.observation",
    "grader.testkit.probes",
    "grader.testkit.recipes",
)


class SavedPiece(NamedTuple):
    """A part of a course's files at one moment.

    Attributes:
        topic: empty if it may concern all of them.
        name: of the exercise that it is of, or of another definition; empty if it is of none alone.
    """

    topic: str
    name: str
    content: bytes


def snapshot(course: Course) -> frozenset[SavedPiece]:
    """The files of a course as they are now: in pieces of one definition each, if a topic's module, else whole."""
    found = {SavedPiece(one.topic, one.name, repr(one).encode()) for one in course.exercises}
    modules = {course.manifest}
    for topic in course.modules:
        solution = course.solution_file(topic.name)
        files = (solution, course.misconceptions_file(topic.name), course.check_file(topic.name))
        lesson = course.lesson_file(topic.name)
        modules |= {course.stub_file(topic.name), lesson, *files}
        if lesson.is_file():
            found.add(SavedPiece(topic.name, "", lesson.read_bytes()))
        for file in (one for one in files if one.is_file()):
            for name, text in _definitions(file.read_bytes(), file == solution):
                found.add(SavedPiece(topic.name, name, f"{file}\n{text}".encode()))
    for file in (file for folder in places(course) for file in folder.rglob("*")):
        if file.is_file() and file not in modules and not _is_left_out(file):
            with contextlib.suppress(FileNotFoundError):  # of an editor, for a moment
                found.add(SavedPiece("", "", f"{file}\n".encode() + file.read_bytes()))
    return frozenset(found)


def places(course: Course) -> list[Path]:
    """The folders that an author writes in."""
    kit = [course.kit.folder] if course.kit and course.kit.folder.parent != course.checks_dir else []
    lessons = course.root / "lessons"
    return [course.solutions_dir, course.checks_dir, *kit, *([lessons] if lessons.is_dir() else [])]


def changed_exercises(course: Course, changed: AbstractSet[SavedPiece]) -> list[str]:
    """The exercises (full names) that changed pieces may concern, in order; another definition's concern its topic."""
    known = {(one.topic, one.name) for one in course.exercises}
    of_all = {piece.topic for piece in changed if (piece.topic, piece.name) not in known}
    named = {(piece.topic, piece.name) for piece in changed}
    return [
        one.full_name
        for one in course.exercises
        if not of_all.isdisjoint(("", one.topic)) or (one.topic, one.name) in named
    ]


@functools.lru_cache(maxsize=256)
def _definitions(content: bytes, is_solution: bool) -> list[tuple[str, str]]:
    """The text of each definition, and of all else, with the name of what it is of."""
    try:
        source = content.decode()
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return [("", content.decode(errors="replace"))]
    lines = source.splitlines()
    found = []
    rest = list(lines)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = first_line(node) - 1
            name = node.name if is_solution else _marked_exercise(node)
            found.append((name, "\n".join(lines[first : node.end_lineno])))
            rest[first : node.end_lineno] = [""] * len(lines[first : node.end_lineno])
    return [*found, ("", "\n".join(line for line in rest if line.strip()))]


def _marked_exercise(node: ast.FunctionDef | ast.ClassDef) -> str:
    for one in node.decorator_list:
        match one:
            case ast.Call(ast.Name("exercise" | "misconception" | "picture"), [ast.Constant(str(name)), *_]):
                return name.rpartition(".")[2]
    return ""


def watch_course(path: Path | None, verify: Callable[[Sequence[str]], int], only: Sequence[str] = ()) -> None:
    """Verifies each topic once, then the exercises that change whenever a file is saved, until it is interrupted.

    Args:
        path: of the course, as `Course.load` takes it.
        verify: verifies some exercises (full names) or topics of the course as it is then, prints what it finds, and
            returns 0 if they are sound. It is called in other processes, so pickle must know it.
        only: names of topics and exercises; empty means the whole course.
    """
    watched = WatchedCourse(path, verify, only)
    from watchfiles import watch

    print(f"watching {watched.course.root} (Ctrl-C ends this)", flush=True)
    watched.verify_each_topic()
    print("save a solution, a check, a wrong answer or a lesson", flush=True)
    folders = sorted({*places(watched.course), watched.course.manifest.parent})
    has_settled = False
    for changes in watch(
        *folders, recursive=True, yield_on_timeout=True, rust_timeout=_SETTLED_MS, watch_filter=_is_of_author
    ):
        # One look more after the last change: a file may have been saved before the folders were watched.
        if changes or not has_settled:
            watched.look(has_settled=not changes)
        has_settled = not changes


def _is_of_author(change: object, path: str) -> bool:
    file = Path(path)
    return file.suffix in (".py", ".toml", ".txt", ".csv", ".json", ".md") and not _is_left_out(file)


def _is_left_out(file: Path) -> bool:
    """Whether a file is none of an author's: editors keep hidden ones beside what they write, others end with ~."""
    return bool(_LEFT_OUT & set(file.parts)) or file.name.startswith(".") or file.name.endswith("~")


class WatchedCourse:
    """A course that is being written, and how its exercises were when they were last verified."""

    def __init__(self, path: Path | None, verify: Callable[[Sequence[str]], int], only: Sequence[str]) -> None:
        self._path = path
        self._verify = verify
        self._only = only
        self.course = Course.load(path)
        self._seen = snapshot(self.course)
        self._unsound: set[str] = set()
        self._problem = ""
        can_fork = "forkserver" in multiprocessing.get_all_start_methods()
        self._processes: Any = multiprocessing.get_context("forkserver" if can_fork else "spawn")
        if can_fork:
            self._processes.set_forkserver_preload(list(_SLOW))

    def verify_each_topic(self) -> None:
        """Verifies all that is watched; what is saved meanwhile comes first."""
        for topic in self.course.modules:
            chosen = [one.full_name for one in topic.exercises if one.full_name in self.course.select(self._only)]
            if chosen:
                self._run([topic.name] if len(chosen) == len(topic.exercises) else chosen, chosen)
            self.look()

    def look(self, has_settled: bool = False) -> None:
        """Verifies the exercises that have changed since the last look; says once why the course cannot be read.

        Args:
            has_settled: nothing has been saved for a moment. Until then a file that cannot be read may be half
                written: many editors empty a file before they write it.
        """
        try:
            for file in release(Course.load(self._path, complete=False)):
                print(f"written: {file}")
            self.course = Course.load(self._path)
            after = snapshot(self.course)
            chosen = set(self.course.select(self._only))
        except FileNotFoundError:  # it is put in its place right now, and another look follows
            return
        except UserError as error:
            if not has_settled:
                return
            problem = str(error) + (f"\n  {error.fix}" if error.fix else "")
            if problem != self._problem:
                print(problem, flush=True)
            self._problem = problem
            return
        changed = [name for name in changed_exercises(self.course, self._seen ^ after) if name in chosen]
        if self._problem and not changed:
            unsound = ", ".join(one.full_name for one in self.course.exercises if one.full_name in self._unsound)
            print(f"as it was before: {f'not sound: {unsound}' if unsound else 'sound'}", flush=True)
        self._seen, self._problem = after, ""
        if changed:
            self._run(changed, changed)

    def _run(self, names: Sequence[str], exercises: Sequence[str]) -> None:
        sys.stdout.flush()
        process = self._processes.Process(target=_verify, args=(self._verify, names), daemon=True)
        process.start()
        process.join()
        self._unsound = self._unsound.union(exercises) if process.exitcode else self._unsound.difference(exercises)


def _verify(verify: Callable[[Sequence[str]], int], names: Sequence[str]) -> None:
    """Verifies in this process, and ends it with the exit code."""
    try:
        sys.exit(verify(names))
    except UserError as error:
        print(error)
        sys.exit(1)
