"""How a failing test of a suite begins: which test it is, and how what came back differs from what it expects."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import linecache
import math
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

import numpy as np
import pytest
import torch
from _pytest._io.saferepr import saferepr

from grader.border.proxies import Call, FarObject
from grader.course.source import names_bound_by, names_in, parse
from grader.errors import CourseError
from grader.suites.honesty import imports_of
from grader.testkit.compare import Mismatch, assert_close
from grader.testkit.show import show_call

_COMPARES: Final = frozenset({
    "assert_allclose", "assert_array_equal", "assert_array_almost_equal", "assert_almost_equal", "assert_equal",
    "assert_approx_equal", "assert_close", "assertEqual", "assertAlmostEqual", "assertListEqual", "assertTupleEqual",
    "assertSequenceEqual", "assertSetEqual", "assertDictEqual", "assertMultiLineEqual",
})  # fmt: skip
"""Functions of NumPy, torch and unittest that compare their first two arguments."""
_EXPECTS: Final = re.compile(r"\b(raises|assertRaises\w*)$")
_EXPECTED_FIRST: Final = re.compile(
    r"\b(?:assert\w*|allclose|equal|array_equal|isclose)\(\w*(?:expect|correct|desired|reference)", re.IGNORECASE
)
"""A call whose first argument is named as what is expected."""
_ANSWERS: Final = ((torch, "allclose"), (torch, "equal"), (np, "allclose"), (np, "array_equal"), (math, "isclose"))
"""Functions that say whether their first two arguments are alike."""
_SLIPS: Final = frozenset({"NotImplementedError", "NameError", "UnboundLocalError", "RecursionError"})
"""Exceptions that say more of themselves than the one that a test expects."""
_LIBRARIES: Final = frozenset({"numpy", "torch", "unittest", "contextlib", "hypothesis", "_pytest", "pluggy", "grader"})
_NOTHING: Final = re.compile(r"DID NOT RAISE (?:any of )?(.+)|(\w+) not raised")
_TRUTH: Final = re.compile(r"(.+) is not (?:true|false)(?: : (.*))?", re.DOTALL)
"""The words of unittest."""
_PLAIN: Final = re.compile(
    r"\bnp\.(?:float|u?int|str)\w*\(([^()]+)\)|torch\.Size\(\[([\d, ]*)\]\)|(?:np\.|tensor\()(True|False)[_)]"
)
"""Numbers, shapes and truths, as NumPy and torch write them."""
_METHOD: Final = re.compile(r"<(?:bound|built-in) method (?:\w+\.)*(\w+) of (<.*?>|\w+ object|[^<>]*?)>(?=\()")
"""A method that is called, as pytest writes it."""
_OF_METHOD: Final = re.compile(r" \+ +(?:where|and) +<(?:bound|built-in) method ")
_WRONG: Final = "the answer is wrong"
_MESSAGE: Final = re.compile(r"Regex pattern did not match\.\s+Expected regex: (.+)\n\s+Actual message: (.+)")
_MOST: Final = 120
"""Characters of the test's sentence, and of a call, in the first line."""
_MOST_CALLERS: Final = 3
"""Functions of a suite round a comparison."""


class Comparisons:
    """Notes what was last compared, and was not alike: ``assert torch.allclose(a, b)`` says only that it is False."""

    def __init__(self) -> None:
        self._last: tuple[Any, Any, list[tuple[Any, int]]] | None = None

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for home, name in _ANSWERS:
                patch.setattr(home, name, self._noting(getattr(home, name)))
            yield

    def _noting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def noting(*args: Any, **kwargs: Any) -> Any:
            is_alike = False
            try:
                return (is_alike := function(*args, **kwargs))
            finally:
                self._last = None
                if len(args) > 1 and not is_alike:
                    callers = itertools.islice(traceback.walk_stack(sys._getframe(1)), _MOST_CALLERS)
                    self._last = args[0], args[1], [(one.f_code, line) for one, line in callers]

        return noting

    def pair(self, error: BaseException) -> tuple[Any, Any, str] | None:
        """The two values, and the line, if the exception comes of that comparison."""
        actual, expected, callers = self._last or (None, None, [])
        for frame, line in _of_tests(error):
            for code, at in callers:
                if code is frame.f_code and (found := _statement(frame, line)) and found.lineno <= at <= _end(found):
                    return actual, expected, ast.unparse(found)
        return None


def in_words(error: BaseException, sentence: str, call: Call | None, comparisons: Comparisons) -> AssertionError | None:
    """The failure of a test that students may see; None if it is no assertion, and there are no words for it.

    Args:
        sentence: about the test.
        call: of the submission, the last one.
    """
    title = sentence.split(". ")[0].rstrip(".")[:_MOST]
    with contextlib.suppress(Exception):  # the words decide no verdict, and an answer may be anything
        return _in_words(error, title, call, comparisons)
    return error if isinstance(error, AssertionError) else None


def exception_expected(error: BaseException, raised: str) -> str:
    """The exceptions that a test expects, as it writes them, where it gets another one; empty if it expects none.

    Args:
        raised: the other one; some say more than that.
    """
    if raised in _SLIPS:
        return ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        with contextlib.suppress(OSError, CourseError):
            for node in ast.walk(parse(Path(frame.f_code.co_filename))):
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


def _of_tests(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    """The frames of an exception that are no library's, and their lines."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in _LIBRARIES:
            yield frame, line


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _statement(frame: FrameType, line: int) -> ast.stmt | None:
    """The innermost statement at a line of a test; None if its file cannot be read."""
    with contextlib.suppress(OSError, CourseError):
        statements = (one for one in ast.walk(parse(Path(frame.f_code.co_filename))) if isinstance(one, ast.stmt))
        return max((one for one in statements if one.lineno <= line <= _end(one)), key=lambda one: one.lineno)
    return None


def _in_words(error: BaseException, title: str, call: Call | None, comparisons: Comparisons) -> AssertionError | None:
    is_failure = isinstance(error, AssertionError | pytest.fail.Exception)
    text = str(error) or _WRONG
    head, _, rest = text.partition("\n\n")
    text = rest if rest and head.endswith(" are different") else text  # of pandas: how they differ comes first
    own, _, asserted = f"\n{text}".partition("\nassert ")
    if parts := _TRUTH.fullmatch(text):
        own, asserted = parts[2] or "", parts[1]
    noted = comparisons.pair(error)
    for actual, expected, line, said in (*_compared(error), *([(*noted, own * is_failure)] if noted else ())):
        is_result = [call is not None and call.answered and one is call.result for one in (actual, expected)]
        if is_result == [False, True] or (_EXPECTED_FIRST.search(line) and not is_result[0]):
            actual, expected = expected, actual
        if found := _difference(actual, expected, converts=is_failure):
            return Mismatch(": ".join(filter(None, (title, said.strip(), found))), actual, expected)
    if not is_failure:
        return None
    if parts := _NOTHING.fullmatch(text):
        return AssertionError(f"{title}: no exception, where {parts[1] or parts[2]} was expected")
    if parts := _MESSAGE.match(text):
        return AssertionError(f"{title}: the exception says {parts[2]}, where {parts[1]} was expected")
    asserted = _plain(asserted)
    line, _, more = asserted.partition("\n")
    if said := _said(line, call):  # pytest says the same of where the values come from
        more = "\n".join(one for one in more.split("\n") if not one.startswith(" + "))
        asserted = f"{line}\n{more}" if more.strip() else ""
    elif line or text == _WRONG:
        said = _of_source(error, line)
    if not said:
        return AssertionError(f"{title}: {text}")
    whole = ": ".join(filter(None, (title, own.strip(), said)))
    return AssertionError(f"{whole}\nthe test: assert {asserted}" if asserted else whole)


def _compared(error: BaseException) -> Iterator[tuple[Any, Any, str, str]]:
    """The two values that a function of a library has compared, if it is such a failure, the line that calls it, and
    the test's own words."""
    line = ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if frame.f_code.co_name in _COMPARES and module in ("numpy", "torch", "unittest"):
            names = [name for name in frame.f_code.co_varnames[: frame.f_code.co_argcount] if name != "self"]
            is_kept = module != "unittest" or frame.f_code.co_name == "assertEqual"  # others put their own words there
            own = frame.f_locals.get("err_msg") or (frame.f_locals.get("msg") if is_kept else "")
            yield frame.f_locals[names[0]], frame.f_locals[names[1]], line, own if isinstance(own, str) else ""
        if module not in _LIBRARIES:
            line = linecache.getline(frame.f_code.co_filename, number)


def _difference(actual: Any, expected: Any, *, converts: bool) -> str:
    """The difference in words.

    Args:
        converts: whether types and shapes that the libraries take for each other are none; else it may be empty.
    """
    if isinstance(actual, FarObject) or not converts:
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
    return "it differs by more than the test allows" if converts else ""


def _plain(text: str) -> str:
    """The text without the names of the libraries round numbers, and with methods as they are called."""
    lines = _METHOD.sub(r"\2.\1", text).split("\n")
    text = "\n".join(one for one in lines if not _OF_METHOD.match(one))
    return _PLAIN.sub(lambda found: found[1] or (found[2] and f"({found[2]})") or found[3] or "()", text)


def _said(line: str, call: Call | None) -> str:
    """The call, its result and what was expected, if an ``assert`` compares just these; else empty."""
    sides = line.split(" == ")
    if len(sides) != 2 or call is None or not call.answered:
        return ""
    results = _plain(repr(call.result)), _plain(saferepr(call.result))
    if (own := next((one for one in sides if one in results), None)) is None:
        return ""
    called = show_call(call)
    expected = sides[sides[0] == own]
    return f"{called if len(called) <= _MOST else 'it'} gives {own} where {expected} was expected"


def _of_source(error: BaseException, line: str) -> str:
    """What the test asks, as it is written, and the values that it finds; empty if that is long.

    Args:
        line: the values, as pytest or unittest says them.
    """
    test: ast.expr | None = None
    for frame, number in _of_tests(error):
        match _statement(frame, number):
            case ast.Assert(asserted) | ast.Expr(
                ast.Call(ast.Attribute(attr="assertTrue" | "assertFalse"), [asserted, *_])
            ):
                test = asserted
    asked = ast.unparse(test) if test is not None else ""
    if test is None or len(asked) > _MOST:
        return ""
    sides = line.split(" == ")
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq) and len(sides) == 1 + len(test.ops) == 2:
        parts = [(ast.unparse(one), side) for one, side in zip((test.left, *test.comparators), sides, strict=True)]
        (source, found), (_, expected) = parts[::-1] if isinstance(test.left, ast.Constant) else parts
        return f"`{source}` is {found} where {expected} was expected"
    if isinstance(test, ast.Compare | ast.BoolOp) and line not in ("True", "False"):
        return f"`{asked}` is false" + (f": {line}" if line else "")
    return f"`{asked.removeprefix('not ')}` is {line.removeprefix('not ') or 'false'}"
