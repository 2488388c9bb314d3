"""Slips of the pen that explain a failure: a call without its brackets, a function that is defined twice.

Looks at the text of the exercise that has failed, runs nothing, and decides nothing but the first sentence.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from grader.judge import explain
from grader.judge.scan import MOST_BYTES, parsed
from grader.results import Cause, CheckResult, ExerciseResult

Place = Callable[[int], str]
"""A line of the file in words: ``line 12``, or ``In [4], line 2`` in a notebook."""
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_SWITCHES: Final = frozenset(("no_grad", "inference_mode", "enable_grad"))
_LABELS: Final = frozenset(("y", "label", "labels", "target", "targets"))
_LOGITS: Final = frozenset(("logits", "output", "outputs", "pred", "preds", "predictions", "scores"))
_ENDS: Final = frozenset(("exit", "quit"))
_QUOTES: Final = "“”‘’„«»"
_CONFLICT: Final = re.compile(r"^(?:<{7}|={7}|>{7})(?: .*)?$")


def with_slips(result: ExerciseResult, source: bytes, place: Place) -> ExerciseResult:
    """The same result, whose failures begin with the slip that explains them, if there is one.

    Args:
        source: the topic's file as it was handed in.
        place: names a line of it.
    """
    if not any(check.verdict in ("failed", "crashed") for check in result.checks):
        return result
    return replace(result, checks=tuple(_explained(check, result.name, source, place) for check in result.checks))


def in_import(cause: Cause, source: bytes, place: Place) -> Cause:
    """The same cause of a failing import, which names the text that is no Python, if it is of a known kind."""
    if cause.exception_type == "ModuleNotFoundError" and cause.frames:
        return _with_unused_import(cause, source, place)
    if cause.exception_type not in ("SyntaxError", "IndentationError"):
        return cause
    lines = source[:MOST_BYTES].decode("utf-8-sig", "replace").splitlines()
    for number, line in enumerate(lines, 1):
        if _CONFLICT.match(line):
            said = f"{place(number)} is a mark of a Git merge: keep one of the two versions, and delete the marks"
            return replace(cause, advice=f"{cause.file} cannot be imported: {said}")
    wrong = cause.frames[-1].line if cause.frames else 0
    found = next((one for one in (lines[wrong - 1] if 0 < wrong <= len(lines) else "") if one in _QUOTES), "")
    if found:
        said = f"{place(wrong)} has the quote {found} of a book or a PDF: Python's are ' and \""
        return replace(cause, advice=f"{cause.file} cannot be imported: {said}")
    return cause


def _with_unused_import(cause: Cause, source: bytes, place: Place) -> Cause:
    """The same cause, which says so if nothing of what the failing line imports is used anywhere."""
    line = cause.frames[-1].line
    for node in _top(source) if len(source) <= MOST_BYTES else ():
        if isinstance(node, ast.Import | ast.ImportFrom) and node.lineno == line:
            names = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            used = {one.id for top in _top(source) for one in ast.walk(top) if isinstance(one, ast.Name)}
            if not names & {*used, "*"}:
                module = cause.exception_message.rpartition("named ")[2].strip("'").partition(".")[0]
                said = f"`{module}` is not installed here, and is never used: delete {place(line)}"
                return replace(cause, advice=f"{cause.file} cannot be imported: {said}")
    return cause


def _explained(check: CheckResult, exercise: str, source: bytes, place: Place) -> CheckResult:
    cause = check.cause
    if cause is None or check.verdict not in ("failed", "crashed") or cause.kind in ("missing", "not_simulated"):
        return check
    found = next(_slips(cause, exercise.partition(".")[2], source, place), "")
    return explain.result(check.name, replace(cause, advice=found, is_slip=True)) if found else check


def _slips(cause: Cause, name: str, source: bytes, place: Place) -> Iterator[str]:
    definitions = _definitions(source, name)
    if not definitions:
        return
    own = definitions[-1]
    if cause.kind == "unwritten":
        if len(definitions) > 1:  # else the older of two answers is no news, least of all in a notebook
            first, *_, last = (one.lineno for one in definitions)
            yield f"`{name}` is defined twice, in {place(first)} and in {place(last)}: the last one counts"
        return
    for node in ast.walk(own):
        match node:
            case ast.Expr(ast.Attribute() as called):
                text = ast.unparse(called)
                if len(text) < 60:
                    yield f"{place(node.lineno)} only names `{text}` and does not call it: write `{text}()`"
            case ast.With(items) | ast.AsyncWith(items):
                for item in items:
                    if isinstance(item.context_expr, ast.Attribute) and item.context_expr.attr in _SWITCHES:
                        text = ast.unparse(item.context_expr)
                        yield f"{place(node.lineno)} says `with {text}`, which needs brackets: `with {text}():`"
            case ast.For(body=[_, *_, ast.Return() as leaves]):
                yield f"the `return` in {place(leaves.lineno)} is in the loop, which ends there in its first round"
            case ast.For(ast.Name(name), body=body) if (end := _last(body)) and _gives_another_value(end, name):
                yield (
                    f"{place(end.lineno)} gives the name `{name}` a new value, which the next round forgets: what it "
                    f"stood for has not changed. Change it in place, as in `{name} -= ...`"
                )
            case ast.Return(ast.Call(ast.Name(kind))) if _is_exception(kind):
                yield f"{place(node.lineno)} returns a {kind}: write `raise` for `return`"
            case ast.Call(func, [ast.Name(one), ast.Name(other), *_]) if (
                ast.unparse(func).rpartition(".")[2] == "cross_entropy" and one in _LABELS and other in _LOGITS
            ):
                yield f"`cross_entropy` takes the logits first, then the labels: {place(node.lineno)} has them swapped"
            case ast.Call(ast.Name("id"), [ast.Name(one)]) if one in _arguments(own):
                yield (
                    f"{place(node.lineno)} asks for `id({one})`: when an object is gone, another may get its id, so "
                    "what is kept by id may be the result of another object"
                )
            case ast.Call(ast.Name(kind), []) if kind in _ENDS and cause.kind == "crash":
                yield f"`{kind}()` in {place(node.lineno)} ends Python itself: take it out"
    unknown = re.search(r"name '(\w+)' is not defined", cause.exception_message)
    if cause.exception_type == "NameError" and unknown and _is_kept_by_self(own, unknown[1]):
        yield f"`{unknown[1]}` is not defined: `__init__` keeps it as `self.{unknown[1]}`"
    if cause.exception_type == "AttributeError" and isinstance(own, ast.ClassDef):
        missing = re.search(r"object has no attribute '(\w+)'", cause.exception_message)
        if missing and (line := _local_in_init(own, missing[1])):
            yield f"`{missing[1]}` in {place(line)} is a local variable of `__init__`: write `self.{missing[1]}`"


def _last(body: list[ast.stmt]) -> ast.stmt:
    """The last statement of a loop's body, also of the `if` or `with` at its end."""
    last = body[-1]
    while isinstance(last, ast.If | ast.With) and not getattr(last, "orelse", []):
        last = last.body[-1]
    return last


def _gives_another_value(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.Assign([ast.Name(target)]):
            return target == name
    return False


def _arguments(own: Definition) -> set[str]:
    return set() if isinstance(own, ast.ClassDef) else {one.arg for one in own.args.args}


def _local_in_init(own: ast.ClassDef, name: str) -> int:
    """The line where `__init__` gives a value to a local variable of this name; 0 if it does not."""
    for method in own.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            for node in ast.walk(method):
                if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                    return node.lineno
    return 0


def _is_kept_by_self(own: Definition, name: str) -> bool:
    attributes = (node for node in ast.walk(own) if isinstance(node, ast.Attribute) and node.attr == name)
    return any(isinstance(one.ctx, ast.Store) and ast.unparse(one.value) == "self" for one in attributes)


def _is_exception(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, Exception)


@functools.lru_cache(maxsize=64)
def _definitions(source: bytes, name: str) -> tuple[Definition, ...]:
    """The definitions of a name at the top of a file, in order; none if it is too long or is no Python."""
    if len(source) > MOST_BYTES:
        return ()
    return tuple(
        one
        for one in _top(source)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and one.name == name
    )


@functools.lru_cache(maxsize=2)
def _top(source: bytes) -> tuple[ast.stmt, ...]:
    tree = parsed(source)
    return tuple(tree.body) if tree else ()
