"""The cells of a running notebook as a submission, in the order in which they were run.

Takes cells as intake takes those of a notebook that was handed in, but of the statements only definitions and those
that give a value to a name that these use: other code has run in the notebook, and may take long. Runs nothing.
"""

import ast
import dis
import json
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import Any, Final

from grader.course import Course
from grader.course.definitions import defined_names, lines_in
from grader.course.source import Definition, first_line, names_bound_by, variables_in
from grader.grading.settings import topics_of
from grader.intake.kinds import FILE_BYTES
from grader.intake.notebook import RUNNING, module_of
from grader.intake.submission import Submission
from grader.intake.topics import parse

_NAME: Final = "notebook"
_ROOM: Final = FILE_BYTES - 64 * 1024
"""Characters of cells that are taken at most: the newest ones."""


def submission_of(cells: Sequence[str], course: Course, wanted: Iterable[str], others: Submission | None) -> Submission:
    """A submission with the definitions of cells; of two definitions of one name the last counts.

    Args:
        cells: the source of each cell that was run, as it was typed, in order.
        wanted: topics whose file must be there, even if nothing of it is defined.
        others: where topics that are not in the notebook are taken from.
    """
    variables = {name for topic in course.modules for name in variables_in(course.stub_file(topic.name))}
    needed = _without_the_rest(_module(cells), variables)
    topics = {*defined_topics(cells, course), *wanted}
    files = {f"{topic}.py": needed + _script(course, topic) for topic in topics}
    return Submission(_NAME, {**(others.files if others else {}), **files})


def defined_topics(cells: Sequence[str], course: Course) -> list[str]:
    """The topics of which cells define an exercise; of a suite's topic, anything that its stub defines."""
    if course.suite is not None:
        here = {*defined_names(lines_in(_module(cells)))}
        files = {one.name: course.stub_file(one.name) for one in course.modules if not one.is_package}
        return [name for name, file in files.items() if here.intersection(defined_names(lines_in(file.read_bytes())))]
    defined = topics_of(course).defined(_module(cells))
    return [topic.name for topic in course.topics if topic.name in defined]


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


def _script(course: Course, topic: str) -> bytes:
    """The statements that the stub runs as a script, such as a call of its `main`; empty if there are none.

    Not what the cells do under ``if __name__ == "__main__":``, which in a notebook is always true.
    """
    stub = course.stub_file(topic)
    source = stub.read_text() if stub.is_file() else ""
    scripts = [one for one in ast.parse(source).body if isinstance(one, ast.If) and "__name__" in ast.unparse(one.test)]
    return "".join(f"\n\n{ast.get_source_segment(source, one)}\n" for one in scripts).encode()


def _without_the_rest(module: bytes, variables: Iterable[str] = ()) -> bytes:
    """The module with its definitions, and the statements that give a value to a name that these use, such as imports.

    All lines stay where they are.

    Args:
        variables: names whose values are answers, too.
    """
    try:
        nodes = parse(module).body
        codes = [compile(ast.Module([node], []), _NAME, "exec", dont_inherit=True) for node in nodes]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return module  # the student process says what is wrong with it
    kept: set[ast.stmt] = set()
    names = {"*", "annotations", *variables}  # imports of all names of a module, and the one that all definitions use
    is_growing = True
    while is_growing:
        is_growing = False
        for node, code in zip(nodes, codes, strict=True):
            if node not in kept and (isinstance(node, Definition) or _given(node) & names):
                kept.add(node)
                names |= _used(code)
                is_growing = True
    lines = module.split(b"\n")
    stay = {line for node in kept for line in _lines(node)}
    out = {line for node in nodes if node not in kept for line in _lines(node)} - stay
    return b"\n".join(b"" if number in out else line for number, line in enumerate(lines, start=1))


def _lines(node: ast.stmt) -> range:
    return range(first_line(node), (node.end_lineno or node.lineno) + 1)


def _given(node: ast.stmt) -> set[str]:
    """The names that a statement gives a value, or of whose objects it replaces an item or an attribute."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return names_bound_by(node)
    targets = [one for one in ast.walk(node) if isinstance(getattr(one, "ctx", None), ast.Store)]
    return {name.id for one in targets for name in ast.walk(one) if isinstance(name, ast.Name)}


def _used(code: CodeType) -> set[str]:
    """The names of the module that the code uses, also when functions in it are called."""
    inner = (_used(one) for one in code.co_consts if isinstance(one, CodeType))
    own = {str(step.argval) for step in dis.get_instructions(code) if step.opname.endswith(("_NAME", "_GLOBAL"))}
    return own.union(*inner)
