"""``grader verify --watch``: verifies the exercises that an author has just changed, as soon as a file is saved.

A process that has imported all that is slow waits, and forks one child for each save; where nothing can be forked,
this process verifies. Stubs are released first. The second run of the solution is left out: `grader verify` makes it.
"""

from __future__ import annotations

import ast
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
    try:
        source = file.read_text(encoding="utf-8")
        tree = ast.parse(source)
    except (OSError, SyntaxError, UnicodeDecodeError):
        return {"": "\0" + (file.read_text(errors="replace") if file.is_file() else "")}
    lines = source.splitlines()
    found: dict[str, str] = {}
    rest = list(lines)
    is_solution = file.parent.name == "solutions"
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


def watch_course(path: Path | None, verify: Callable[[Sequence[str]], object], only: Sequence[str] = ()) -> None:
    """Verifies the exercises that change, whenever a file is saved, until it is interrupted.

    Args:
        path: of the course, as `Course.load` takes it.
        verify: verifies some exercises (full names) of the course as it is then, and prints what it finds.
        only: names of topics and exercises; empty means the whole course.
    """
    course = Course.load(path)
    warm = WarmVerifier(verify) if hasattr(os, "fork") else None  # before the first thread
    from watchfiles import watch

    before = snapshot(course)
    folders = {*places(course), course.manifest.parent}
    print(f"watching {course.root}: save a solution, a check or a wrong answer (Ctrl-C ends this)", flush=True)
    try:
        for _ in watch(*sorted(folders), recursive=True, yield_on_timeout=True, watch_filter=_is_of_author):
            try:
                course = Course.load(path, complete=False)
                for file in release(course):
                    print(f"written: {file}")
                course = Course.load(path)
                after = snapshot(course)
                chosen = set(course.select(only))
                changed = [name for name in changed_exercises(before, after) if name in chosen]
                before = after
                if changed:
                    (warm.verify if warm else verify)(changed)
            except UserError as error:
                print(str(error) + (f"\n  {error.fix}" if error.fix else ""))
            sys.stdout.flush()
    finally:
        if warm is not None:
            warm.close()


def _is_of_author(change: object, path: str) -> bool:
    file = Path(path)
    return file.suffix in (".py", ".toml", ".txt", ".csv", ".json") and not _LEFT_OUT & set(file.parts)


class WarmVerifier:
    """A process that waits with everything imported; `verify` has it fork one that does the work.

    Args:
        work: verifies some exercises and prints what it finds; it runs in the forked process.
    """

    def __init__(self, work: Callable[[Sequence[str]], object]) -> None:
        self._ours, theirs = Pipe()
        self._pid = os.fork()
        if self._pid == 0:
            self._ours.close()
            _wait_for_orders(theirs, work)
        theirs.close()

    def verify(self, exercises: list[str]) -> None:
        """Returns when the work is done.

        Raises:
            UserError: the waiting process has ended.
        """
        try:
            self._ours.send(exercises)
            self._ours.recv()
        except (EOFError, OSError):
            raise UserError("the process that verifies has ended", fix="start again: grader verify --watch") from None

    def close(self) -> None:
        """Ends the process."""
        self._ours.close()
        os.waitpid(self._pid, 0)


def _wait_for_orders(orders: Connection, work: Callable[[Sequence[str]], object]) -> None:
    """Forks a process for each order, until nobody gives any."""
    code = 0
    try:
        _import_what_is_slow()
        while True:
            exercises = orders.recv()
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                try:
                    work(exercises)
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    os._exit(0)
            os.waitpid(child, 0)
            orders.send(None)
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # nobody gives orders any more
    except BaseException:
        traceback.print_exc()
        code = 1
    os._exit(code)


def _import_what_is_slow() -> None:
    import hypothesis
    import pytest  # noqa: F401

    import grader.grading.promises
    import grader.grading.verify
    import grader.judge.judge
    import grader.student.engine
    import grader.testkit.probes
    import grader.testkit.recipes  # noqa: F401

    assert hypothesis is not None
