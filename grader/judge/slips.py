"""Slips of the pen that explain a failure: a call without its brackets, a function that is defined twice.

Looks at the text of the exercise that has failed, runs nothing, and decides nothing but the first sentence.
"""

import ast
import builtins
import functools
import re
from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from grader.judge import explain
from grader.judge.advice import close_names
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
_METHODS: Final = frozenset(("state_dict", "parameters", "named_parameters", "numel", "item", "tolist"))
"""Methods that are values only by mistake."""
_SWITCH: Final = "requires_grad"
"""An attribute that torch reads; another name in its place is a new attribute, which nobody reads."""
_SPECIAL: Final = {
    **dict.fromkeys(("init", "int", "innit", "inti"), "__init__"),
    **dict.fromkeys(("len", "length"), "__len__"),
    **dict.fromkeys(("getitem", "get_item"), "__getitem__"),
}
"""How names of special methods are misspelt, but for their underscores."""
_ITERATORS: Final = frozenset(("parameters", "named_parameters", "modules", "buffers", "zip", "map", "filter"))
_NEEDED: Final = frozenset(("dim", "eps", "i", "index", "mask", "prefix", "seed"))
"""Arguments that no answer can do without."""
_ASIDE: Final = ("Tensor", "torch", "self")
"""Ends of names whose attributes may be anything."""
_MOST_TEXT: Final = 60
"""Bytes of an expression that a message shows."""
_CONFLICT: Final = re.compile(r"^(?:<{7}|={7}|>{7})(?: .*)?$")


def with_slips(result: ExerciseResult, source: bytes, place: Place) -> ExerciseResult:
    """The same result, whose failures begin with the slip that explains them, if there is one.

    Args:
        source: the topic's file as it was handed in.
        place: names a line of it.
    """
    if not any(check.verdict in ("failed", "crashed") for check in result.checks):
        return result
    is_named = result.misconception is not None
    checks = (_explained(check, result.name, is_named, source, place) for check in result.checks)
    return replace(result, checks=tuple(checks))


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


def _explained(check: CheckResult, exercise: str, is_named: bool, source: bytes, place: Place) -> CheckResult:
    cause = check.cause
    if cause is None or check.verdict not in ("failed", "crashed") or cause.kind in ("missing", "not_simulated"):
        return check
    found = next(_slips(cause, exercise.partition(".")[2], source, place), "")
    if not found and not is_named and cause.kind == "assertion":
        found = next(_unused(exercise.partition(".")[2], source, place), "")
    return explain.with_cause(check, replace(cause, advice=found, is_slip=True)) if found else check


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
    called = {id(node.func) for node in ast.walk(own) if isinstance(node, ast.Call)}
    if cause.kind == "exception":
        yield from _hidden(own, source, place)
    yield from _used_up(own, place)
    for node in ast.walk(own):
        match node:
            case ast.Expr(ast.Compare(left, [ast.Eq()], [right])) if _text(left) and _text(right):
                compared, assigned = (f"{_text(left)} {sign} {_text(right)}" for sign in ("==", "="))
                yield f"{place(node.lineno)} only compares, `{compared}`: to give a value, write `{assigned}`"
            case ast.Return(ast.Tuple([_])) if "tuple" in f"{cause.reason} {cause.exception_message}":
                yield f"{place(node.lineno)} returns a tuple of one value: the comma at its end makes it one"
            case ast.Assign([ast.Tuple([_, _, *_])], ast.Tuple([ast.Name(one), *others])) if others and all(
                isinstance(other, ast.Name) and other.id == one for other in others
            ):
                yield f"{place(node.lineno)} gives several names to one object: what changes it, changes it for all"
            case ast.Assign([ast.Attribute(ast.Name(owner), attribute)]) if owner not in _ASIDE and close_names(
                attribute, [_SWITCH]
            ):
                yield f"{place(node.lineno)} sets `{attribute}`, which torch does not know: did you mean `{_SWITCH}`?"
            case ast.Expr(ast.Attribute() as named) if text := _text(named):
                yield f"{place(node.lineno)} only names `{text}` and does not call it: write `{text}()`"
            case ast.Attribute(owner, method, ast.Load()) if (
                method in _METHODS
                and id(node) not in called
                and not _text(owner).endswith(_ASIDE)
                and (text := _text(node))
            ):
                yield f"{place(node.lineno)} names `{text}` and does not call it: write `{text}()`"
            case ast.With(items) | ast.AsyncWith(items):
                for item in items:
                    mode = item.context_expr
                    if isinstance(mode, ast.Attribute) and mode.attr in _SWITCHES and (text := _text(mode)):
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
                _text(func).rpartition(".")[2] == "cross_entropy" and one in _LABELS and other in _LOGITS
            ):
                yield f"`cross_entropy` takes the logits first, then the labels: {place(node.lineno)} has them swapped"
            case ast.Call(ast.Name("id"), [ast.Name(one)]) if one in _arguments(own):
                yield (
                    f"{place(node.lineno)} asks for `id({one})`: when an object is gone, another may get its id, so "
                    "what is kept by id may be the result of another object"
                )
            case ast.Call(ast.Name(kind), []) if kind in _ENDS and cause.kind == "crash":
                yield f"`{kind}()` in {place(node.lineno)} ends Python itself: take it out"
    yield from _special(own, place)
    unknown = re.search(r"name '(\w+)' is not defined", cause.exception_message)
    if cause.exception_type == "NameError" and unknown and _is_kept_by_self(own, unknown[1]):
        yield f"`{unknown[1]}` is not defined: `__init__` keeps it as `self.{unknown[1]}`"
    if cause.exception_type == "NameError" and unknown and unknown[1] in {one.name for one in _methods(own)}:
        yield f"`{unknown[1]}` is a method of the class: call it as `self.{unknown[1]}(...)`"
    if cause.exception_type == "AttributeError" and isinstance(own, ast.ClassDef):
        missing = "did you mean" not in cause.advice and re.search(
            r"object has no attribute '(\w+)'", cause.exception_message
        )
        if missing and (line := _local_in_init(own, missing[1])):
            yield f"`{missing[1]}` in {place(line)} is a local variable of `__init__`: write `self.{missing[1]}`"
        elif missing and f"'{own.name}' object" in cause.exception_message and not _names(own, missing[1]):
            yield f"nothing in `{own.name}` gives a value to `self.{missing[1]}`"


def _hidden(own: Definition, source: bytes, place: Place) -> Iterator[str]:
    """Variables with the name of a module or a function of Python that is used in the same definition."""
    imports = (node for node in _top(source) if isinstance(node, ast.Import | ast.ImportFrom))
    modules = {alias.asname or alias.name for node in imports for alias in node.names}
    used = set()
    for node in ast.walk(own):
        match node:
            case ast.Attribute(ast.Name(name)) if name in modules:
                used.add(name)
            case ast.Call(ast.Name(name)) if hasattr(builtins, name):
                used.add(name)
    for node in ast.walk(own):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in used:
            yield f"{place(node.lineno)} gives the name `{node.id}` to a value, and hides what `{node.id}` was before"


def _used_up(own: Definition, place: Place) -> Iterator[str]:
    """Iterators that are looped over twice: the second loop gets nothing."""
    once: dict[str, int] = {}
    loops: list[str] = []
    for node in ast.walk(own):
        match node:
            case ast.Assign([ast.Name(name)], value) if isinstance(value, ast.GeneratorExp) or (
                isinstance(value, ast.Call) and _text(value.func).rpartition(".")[2] in _ITERATORS
            ):
                once[name] = node.lineno
            case ast.For(_, ast.Name(name)) | ast.comprehension(_, ast.Name(name)):
                loops.append(name)
    for name, line in once.items():
        if loops.count(name) > 1:
            yield f"`{name}` in {place(line)} can be looped over only once, then it is empty: `list(...)` keeps it"


def _special(own: Definition, place: Place) -> Iterator[str]:
    """The methods of a class whose names were meant to be special ones."""
    methods = {one.name: one.lineno for one in _methods(own)}
    for name, line in methods.items():
        meant = _SPECIAL.get(name.strip("_"), "")
        if meant and meant not in methods:
            yield f"{place(line)} defines `{name}`: did you mean `{meant}`, the name that Python looks for?"


def _methods(own: Definition) -> list[ast.FunctionDef]:
    return [one for one in own.body if isinstance(one, ast.FunctionDef)] if isinstance(own, ast.ClassDef) else []


def _unused(name: str, source: bytes, place: Place) -> Iterator[str]:
    """What a definition never reads: a local variable of `__init__`, or an argument."""
    for own in _definitions(source, name)[-1:]:
        for method in [own] if isinstance(own, ast.FunctionDef) else _methods(own):
            names = [node for node in ast.walk(method) if isinstance(node, ast.Name)]
            read = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
            for node in names if method.name == "__init__" else ():
                if node.id not in read and not node.id.startswith("_"):
                    where = f"`{node.id}` in {place(node.lineno)}"
                    yield f"{where} is a local variable of `__init__` that nothing reads: write `self.{node.id}`"
            for argument in sorted(_arguments(method) & _NEEDED - {node.id for node in names}):
                yield f"`{method.name}` never uses its argument `{argument}`: what does the answer take from it?"


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
    return any(isinstance(one.ctx, ast.Store) and _text(one.value) == "self" for one in attributes)


def _names(own: ast.ClassDef, name: str) -> bool:
    """Whether a class gives a value to something of this name, or has the name as a text, as buffers do."""
    methods_and_texts = {getattr(node, "name", getattr(node, "value", None)) for node in ast.walk(own)}
    stored = {node.id for node in ast.walk(own) if isinstance(node, ast.Name)}
    return name in stored or _is_kept_by_self(own, name) or name in {x for x in methods_and_texts if isinstance(x, str)}


def _text(node: ast.expr) -> str:
    """The code of a short expression; empty for any other, which may nest too deeply to be written out."""
    if node.end_lineno != node.lineno or (node.end_col_offset or 0) - node.col_offset > _MOST_TEXT:
        return ""
    try:
        return ast.unparse(node)
    except ValueError:  # some texts inside of f-strings
        return ""


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
