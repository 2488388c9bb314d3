"""How a failing test of a suite begins: which test it is, and how what came back differs from what it expects."""

from __future__ import annotations

import ast
import contextlib
import functools
import linecache
import re
import traceback
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from grader.border.proxies import Call, FarObject
from grader.course.source import names_bound_by, names_in
from grader.suites.honesty import imports_of
from grader.testkit.compare import Mismatch, assert_close
from grader.testkit.show import show_call

_COMPARES: Final = frozenset({
    "assert_allclose", "assert_array_equal", "assert_array_almost_equal", "assert_almost_equal", "assert_equal",
    "assert_approx_equal", "assert_close", "assertEqual", "assertAlmostEqual",
})  # fmt: skip
"""Functions of NumPy, torch and unittest that compare their first two arguments."""
_EXPECTS: Final = re.compile(r"\b(raises|assertRaises\w*)$")
_EXPECTED_FIRST: Final = re.compile(r"\bassert\w*\(\w*(?:expect|correct|desired|reference)", re.IGNORECASE)
"""A call whose first argument is named as what is expected."""
_MOST: Final = 120
"""Characters of the test's sentence, and of a call, in the first line."""


def in_words(error: AssertionError, sentence: str, call: Call | None) -> AssertionError:
    """The failure of a test that students may see.

    Args:
        sentence: about the test.
        call: of the submission, the last one.
    """
    with contextlib.suppress(Exception):  # the words decide no verdict, and an answer may be anything
        return _in_words(error, sentence.split(". ")[0].rstrip(".")[:_MOST], call)
    return error


def exception_expected(error: BaseException) -> str:
    """The exceptions that a test expects, as it writes them, where it gets another one; empty if it expects none."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        with contextlib.suppress(OSError, SyntaxError):
            for node in ast.walk(_tree(Path(frame.f_code.co_filename))):
                if isinstance(node, ast.With) and node.body[0].lineno <= line <= (node.end_lineno or 0):
                    for one in node.items:
                        call = one.context_expr
                        if kind := _expected(call):
                            return ast.unparse(kind)
    return ""


def exceptions_expected(tree: ast.Module, own: Collection[str]) -> Iterator[str]:
    """The exceptions of students' modules that a file of tests expects, by their names there.

    Args:
        own: the names of students' modules and packages.
    """
    imports = list(imports_of(tree, frozenset(own)))
    theirs = {name for node in imports for name in names_bound_by(node)}
    real = {one.asname: one.name for node in imports if isinstance(node, ast.ImportFrom) for one in node.names}
    for node in ast.walk(tree):
        kind = node.type if isinstance(node, ast.ExceptHandler) else _expected(node)
        for one in kind.elts if isinstance(kind, ast.Tuple) else [kind] if kind else ():
            if names_in(one) & theirs:
                name = ast.unparse(one).rpartition(".")[2]
                yield real.get(name, name)


def _expected(node: ast.AST) -> ast.expr | None:
    """The exceptions that ``raises(...)`` expects; None if it is no such call."""
    is_expecting = isinstance(node, ast.Call) and node.args and _EXPECTS.search(ast.unparse(node.func))
    return node.args[0] if isinstance(node, ast.Call) and is_expecting else None


@functools.lru_cache(maxsize=32)
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def _in_words(error: AssertionError, title: str, call: Call | None) -> AssertionError:
    for actual, expected, line in _compared(error):
        is_result = [call is not None and call.answered and one is call.result for one in (actual, expected)]
        if is_result == [False, True] or (_EXPECTED_FIRST.search(line) and not is_result[0]):
            actual, expected = expected, actual
        return Mismatch(f"{title}: {_difference(actual, expected)}", actual, expected)
    text = str(error) or "the answer is wrong"
    said = _said(text.partition("\n")[0], call)
    return AssertionError(f"{title}: {said}\nthe test: {text}" if said else f"{title}: {text}")


def _compared(error: BaseException) -> Iterator[tuple[Any, Any, str]]:
    """The two values that a function of a library has compared, if it is such a failure, and the line that calls it."""
    line = ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if frame.f_code.co_name in _COMPARES and module in ("numpy", "torch", "unittest"):
            names = [name for name in frame.f_code.co_varnames[: frame.f_code.co_argcount] if name != "self"]
            yield frame.f_locals[names[0]], frame.f_locals[names[1]], line
        if module not in ("numpy", "torch", "unittest", "contextlib"):
            line = linecache.getline(frame.f_code.co_filename, number)


def _difference(actual: Any, expected: Any) -> str:
    """The difference in words; types and shapes that the libraries take for each other are none."""
    if isinstance(actual, FarObject):
        pass  # nothing more is asked of it
    elif isinstance(actual, int | float) and isinstance(expected, int | float):
        actual, expected = (actual, expected) if type(actual) is type(expected) else (float(actual), float(expected))
    elif isinstance(actual, np.ndarray | np.generic) or isinstance(expected, np.ndarray | np.generic):
        one, other = np.asarray(actual), np.asarray(expected)
        if one.dtype.kind in "biufc" and other.dtype.kind in "biufc":
            common = np.result_type(one, other)
            actual, expected = one.astype(common), other.astype(common)
            if not one.ndim or not other.ndim:
                actual, expected = np.broadcast_arrays(actual, expected)
    try:
        assert_close(actual, expected)
    except Mismatch as found:
        return found.reason
    return "it differs by more than the test allows"


def _said(line: str, call: Call | None) -> str:
    """The call, its result and what was expected, if an ``assert`` compares just these; else empty."""
    start, _, compared = line.partition("assert ")
    sides = compared.split(" == ")
    if start or len(sides) != 2 or call is None or not call.answered or repr(call.result) not in sides:
        return ""
    got, expected = sides if sides[0] == repr(call.result) else sides[::-1]
    called = show_call(call)
    return f"{called if len(called) <= _MOST else 'it'} gives {got} where {expected} was expected"
