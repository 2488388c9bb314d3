"""Finds comparisons of checks that have the expected value first: students would read that it was returned.

Reads source, and never runs a line of it.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from grader.course.source import parse


def swapped_comparisons(file: Path) -> Iterator[tuple[str, int]]:
    """The name of each check in a file that compares the other way round, and the line.

    Raises:
        CourseError: the file is missing or is not Python.
    """
    for node in parse(file).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and (line := _swapped_comparison(node)):
            yield node.name, line


def _swapped_comparison(check: ast.FunctionDef) -> int | None:
    """The line of a comparison in a check that has the returned value in second place and another one in first.

    Nothing is said where the first may also come from the submission: it is made in a loop, or filled later, or the
    check allows that an argument changes.
    """
    options = [keyword.arg for one in check.decorator_list if isinstance(one, ast.Call) for keyword in one.keywords]
    if "may_change" in options:
        return None
    calls = [node for node in ast.walk(check) if isinstance(node, ast.Call)]
    compared = [one for one in calls if getattr(one.func, "id", "") in ("assert_close", "assert_equal")]
    suspects = [one for one in compared if len(one.args) >= 2 and not _mentions(one.args[0], {"submission"})]
    if not suspects:
        return None
    assigned = _assigned(check)
    stored = {one.id for one in ast.walk(check) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    for comparison in suspects:
        actual, expected, *_ = comparison.args
        if isinstance(expected, ast.Name):
            expected = assigned.get(expected.id, expected)
        if _is_answer(expected) and _is_made_here(actual, assigned, stored):
            return comparison.lineno
    return None


def _assigned(check: ast.FunctionDef) -> dict[str, ast.expr]:
    """The values of the names that a check binds once, by ``name = value``, and calls no method of by itself."""
    bound: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(check):
        match node:
            case ast.Assign([ast.Name(name)], value):
                bound.setdefault(name, []).append(value)
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name)))):
                bound.setdefault(name, []).append(None)
    stores = [one.id for one in ast.walk(check) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    return {name: one for name, [one, *more] in bound.items() if one and not more and stores.count(name) == 1}


def _is_answer(node: ast.expr) -> bool:
    """Whether an expression is a call of the submission, or a part of its result."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    called = node.func if isinstance(node, ast.Call) else None
    return (
        isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and called.value.id == "submission"
        and called.attr != "there"
    )


def _is_made_here(node: ast.expr, assigned: dict[str, ast.expr], stored: set[str]) -> bool:
    """Whether nothing in an expression comes from the submission."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    if "submission" in names or any(name in stored and name not in assigned for name in names):
        return False
    without = {name: value for name, value in assigned.items() if name not in names}
    return all(_is_made_here(assigned[name], without, stored) for name in names if name in assigned)


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in names for one in ast.walk(node))
