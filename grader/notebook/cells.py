"""The cells of a running notebook as a submission: what was run, in the order in which it was run.

Takes cells as intake takes those of a notebook that was handed in, so that both get the same result. Runs nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from grader.course import Course
from grader.grading.settings import exercises_by_topic
from grader.intake.assemble import assemble
from grader.intake.bag import FILE_BYTES, Bag
from grader.intake.notebook import module_of
from grader.intake.submission import UNKNOWN, Submission
from grader.intake.topics import Topics

_NAME: Final = "notebook"
_ROOM: Final = FILE_BYTES - 64 * 1024
"""Characters of cells that are taken at most: the newest ones."""
_OUR_IMPORT: Final = re.compile(r"^(?:from[ \t]+grader\b|import[ \t]+grader\b)[^\n]*$", re.MULTILINE)


def submission_of(cells: Sequence[str], course: Course, wanted: Iterable[str], others: Submission | None) -> Submission:
    """A submission with the definitions and imports of cells; of two with one name the last counts.

    Args:
        cells: the source of each cell that was run, as it was typed, in order; an empty one is left out.
        wanted: topics whose file must be there, even if nothing of it is defined.
        others: where topics that are not in the notebook are taken from.
    """
    notebook = _notebook(cells)
    topics = {*topics_in(notebook, course), *wanted}
    bag = Bag()
    for topic in sorted(topics):
        bag.files[f"{topic}.ipynb"] = notebook
    made = assemble(_NAME, bag, Topics.of(exercises_by_topic(course)), UNKNOWN)
    # Its notes are about cells that a student has seen fail: they are no news.
    return Submission(_NAME, {**(others.files if others else {}), **made.files})


def topics_in(notebook: bytes, course: Course) -> list[str]:
    """The topics of which a notebook defines an exercise."""
    module = module_of(notebook)[0]
    defined = Topics.of(exercises_by_topic(course)).defined(module) if module else {}
    return [topic.name for topic in course.topics if topic.name in defined]


def defined_topics(cells: Sequence[str], course: Course) -> list[str]:
    """The topics of which cells define an exercise."""
    return topics_in(_notebook(cells), course)


def _notebook(cells: Sequence[str]) -> bytes:
    kept: list[dict[str, Any]] = []
    room = _ROOM
    seen: set[str] = set()
    for source in reversed(cells):
        room -= len(source) + 20
        if room < 0:
            break
        repeated = source in seen
        seen.add(source)
        kept.append(_code_cell("" if repeated else _OUR_IMPORT.sub(r"# \g<0>", source)))
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": kept[::-1]}).encode()


def _code_cell(source: str) -> dict[str, Any]:
    """A cell of which definitions and imports are taken: what else it did belongs to the notebook alone."""
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [{"output_type": "error"}]}
