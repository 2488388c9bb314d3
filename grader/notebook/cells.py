"""The cells of a running notebook as a submission: what was run, in the order in which it was run.

Takes cells as intake takes those of a notebook that was handed in, but only what the definitions need: what else the
cells did belongs to the notebook, and may take long. Runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from grader.course import Course
from grader.course.definitions import defined_names, lines_in
from grader.grading.settings import topics_of
from grader.intake.bag import FILE_BYTES
from grader.intake.notebook import RUNNING, module_of
from grader.intake.submission import Submission
from grader.student.statements import needed, statements_of

_NAME: Final = "notebook"
_ROOM: Final = FILE_BYTES - 64 * 1024
"""Characters of cells that are taken at most: the newest ones."""


def submission_of(cells: Sequence[str], course: Course, wanted: Iterable[str], others: Submission | None) -> Submission:
    """A submission with what cells define; of two definitions of one name the last counts.

    Args:
        cells: the source of each cell that was run, as it was typed, in order.
        wanted: topics whose file must be there, even if nothing of it is defined.
        others: where topics that are not in the notebook are taken from.
    """
    module = _module(cells)
    topics = {*_topics_in(module, course), *wanted}
    files = {f"{topic}.py": _what_is_needed(module, _names(course, topic)) + _script(course, topic) for topic in topics}
    return Submission(_NAME, {**(others.files if others else {}), **files})


def defined_topics(cells: Sequence[str], course: Course) -> list[str]:
    """The topics of which cells define an exercise."""
    return _topics_in(_module(cells), course)


def _module(cells: Sequence[str]) -> bytes:
    """The cells as a module; ``In [3]`` is the third. What was left out is no news: the student saw it fail."""
    kept: list[dict[str, Any]] = []
    room = _ROOM
    seen: set[str] = set()
    for source in reversed(cells):
        room -= len(source) + 20
        is_left_out = room < 0 or source in seen
        seen.add(source)
        kept.append({"cell_type": "code", "source": "" if is_left_out else source})
    return module_of(json.dumps({"nbformat": 4, "cells": kept[::-1]}).encode(), RUNNING)[0] or b""


def _topics_in(module: bytes, course: Course) -> list[str]:
    defined = topics_of(course).defined(module)
    return [topic.name for topic in course.topics if topic.name in defined]


def _names(course: Course, topic: str) -> list[str]:
    """The names that a topic's checks may ask for: all that its stub defines."""
    stub = course.stub_file(topic)
    names = defined_names(lines_in(stub.read_bytes())) if stub.is_file() else []
    return [*names, *(one.name for one in course.topic(topic).exercises)]


def _script(course: Course, topic: str) -> bytes:
    """What the stub does when it runs as a script, such as a call of its `main`; empty where it does nothing.

    Not what the cells do under ``if __name__ == "__main__":``, which in a notebook is always true.
    """
    stub = course.stub_file(topic)
    source = stub.read_bytes() if stub.is_file() else b""
    lines = source.splitlines()
    scripts = [one for one in statements_of(source, stub.name) if one.is_script]
    return b"".join(b"\n\n" + b"\n".join(lines[one.first - 1 : one.last]) + b"\n" for one in scripts)


def _what_is_needed(module: bytes, names: Collection[str]) -> bytes:
    """The module without the statements that none of the names needs; all other lines stay where they are."""
    try:
        statements = statements_of(module, _NAME)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return module  # the student process says what is wrong with it
    lines = module.split(b"\n")
    kept: set[int] = set()
    out: set[int] = set()
    for one, is_kept in zip(statements, needed(statements, names), strict=True):
        (kept if is_kept else out).update(range(one.first - 1, one.last))
    return b"\n".join(b"" if number in out - kept else line for number, line in enumerate(lines))
