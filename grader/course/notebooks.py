"""A topic's stub as a notebook: a cell for each definition, and below each exercise one that checks it.

Taken together, its code cells are the stub: a notebook is graded exactly as the file is.
"""

import ast
import itertools
import json
from collections.abc import Iterator
from typing import Any, Final

from grader.course.definitions import lines_in
from grader.course.topic import Topic

SUFFIX: Final = ".ipynb"
_OURS: Final = "from grader import check, hint, show"


def notebook_of(topic: Topic, stub: bytes) -> bytes:
    """The notebook of a topic, without outputs; always the same bytes for the same stub."""
    cells: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(_cells(topic, stub), start=1):
        outputs: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
        lines = text.splitlines(keepends=True)
        cells.append({"cell_type": kind, "id": f"cell-{number}", "metadata": {}, **outputs, "source": lines})
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    whole = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    return (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode()


def _cells(topic: Topic, stub: bytes) -> Iterator[tuple[str, str]]:
    """Kind and text of each cell."""
    lines = lines_in(stub)
    tree = ast.parse(stub)
    names = {exercise.name for exercise in topic.exercises}
    docstring = ast.get_docstring(tree) or ""
    yield "markdown", f"# {topic.title}\n\n{docstring}".rstrip()
    body = tree.body[1:] if docstring else tree.body
    end = tree.body[0].end_lineno or 0 if docstring else 0
    start = end
    for node in itertools.takewhile(lambda one: isinstance(one, ast.Import | ast.ImportFrom), body):
        end = node.end_lineno or end
    yield "code", "\n".join(["\n".join(lines[start:end]).strip("\n"), "", _OURS]).strip("\n")
    for statement in (one for one in body if one.lineno > end):
        start, end = end, _end(statement, lines)
        yield "code", "\n".join(lines[start:end]).strip("\n")
        name = getattr(statement, "name", "")
        if name in names:
            yield "code", f'check("{topic.name}.{name}")'


def _end(statement: ast.stmt, lines: list[str]) -> int:
    """The last line of a statement, with indented comments below it: no cell may begin with one."""
    end = statement.end_lineno or statement.lineno
    while end < len(lines) and lines[end].startswith((" ", "\t")) and lines[end].lstrip().startswith("#"):
        end += 1
    return end
