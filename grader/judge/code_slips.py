"""Slips of the pen in the code of an answer, as sentences with their lines: those that its failure points to.

Runs nothing, and decides nothing.
"""

import ast
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from grader.border.failures import BUILT_IN_EXCEPTIONS
from grader.course.source import Definition, Function
from grader.judge.known_errors import close_names
from grader.judge.pen import plain_slips
from grader.judge.public_names import BUILTINS
from grader.judge.unfinished import beside_the_stub, without_a_body
from grader.results import Cause

UNKNOWN: Final = re.compile(r"name '(\w+)' is not defined")
_SWITCHES: Final = frozenset(("no_grad", "inference_mode", "enable_grad"))
_LABELS: Final = frozenset(("y", "label", "labels", "target", "targets"))
_LOGITS: Final = frozenset(("logits", "output", "outputs", "pred", "preds", "predictions", "scores"))
_METHODS: Final = frozenset(("state_dict", "parameters", "named_parameters", "numel", "item", "tolist"))
"""Methods that are values only by mistake."""
_SWITCH: Final = "requires_grad"
"""An attribute that torch reads; another name in its place is a new attribute, which nobody reads."""
_SPECIAL: Final = {"__init__": "init int innit inti", "__len__": "len length", "__getitem__": "getitem get_item"}
"""How names of special methods are misspelt, but for their underscores."""
_STARTS: Final = ("mp.spawn", "multiprocessing.spawn", "start_processes", "multiprocessing.Process", "mp.Process")
"""Functions by which a program starts its ranks itself."""
_ITERATORS: Final = frozenset(("parameters", "named_parameters", "modules", "buffers", "zip", "map", "filter"))
_NEEDED: Final = frozenset(("dim", "eps", "i", "index", "mask", "prefix", "seed"))
"""Arguments that no answer can do without."""
_CHANGING: Final = frozenset(("append", "extend", "insert", "sort", "reverse", "update", "add", "step", "backward"))
"""Methods that change their object, and return nothing."""
_ASIDE: Final = ("Tensor", "torch", "self")
"""Ends of names whose attributes may be anything."""
_MOST_TEXT: Final = 60
"""Bytes of an expression that a message shows."""


@dataclass
class CodeSlips:
    """The slips in the functions and classes of a file.

    Attributes:
        top: the statements of the file.
        place: names a line of it.
    """

    top: list[ast.stmt]
    place: Callable[[int], str]

    def _definitions(self, name: str) -> list[Definition]:
        """The definitions of a name at the top of the file, in order."""
        return [one for one in self.top if isinstance(one, Definition) and one.name == name]

    def slips(self, cause: Cause, name: str) -> Iterator[str]:
        """The slips in a function or class that may be the cause of its failure, the likeliest first."""
        definitions = self._definitions(name) or self._definitions(cause.call.partition("(")[0])  # one of several
        place = self.place
        if not definitions:
            return
        own = definitions[-1]
        if cause.kind == "unwritten":
            if len(definitions) > 1:  # else the older of two answers is no news, least of all in a notebook
                first, *_, last = (place(one.lineno) for one in definitions)
                yield f"`{name}` is defined twice, in {first} and in {last}: the last one counts"
            yield from beside_the_stub(own, self.top, place)
            return
        if cause.returned == "None":
            yield from without_a_body(own, self.top, place)
        yield from self._is_none(own, cause)
        yield from self._in_other_order(cause)
        yield from _left_out(own, cause, place)
        yield from self._on_itself(own, cause)
        called = {id(node.func) for node in ast.walk(own) if isinstance(node, ast.Call)}
        if cause.kind == "exception":
            yield from self._hidden(own)
        yield from self._used_up(own)
        for node in ast.walk(own):
            at = place(getattr(node, "lineno", 0))
            match node:
                case ast.Expr(ast.Compare(left, [ast.Eq()], [right])) if _text(left) and _text(right):
                    compared, assigned = (f"{_text(left)} {sign} {_text(right)}" for sign in ("==", "="))
                    yield f"{at} only compares, `{compared}`: to give a value, write `{assigned}`"
                case ast.Return(ast.Tuple([_])) if "tuple" in f"{cause.reason} {cause.exception_message}":
                    yield f"{at} returns a tuple of one value: the comma at its end makes it one"
                case ast.Assign([ast.Tuple([_, _, *_])], ast.Tuple([ast.Name(one), _, *_] as values)) if all(
                    isinstance(value, ast.Name) and value.id == one for value in values
                ):
                    yield f"{at} gives several names to one object: what changes it, changes it for all"
                case ast.Assign([ast.Attribute(ast.Name(owner), attribute)]) if owner not in _ASIDE and close_names(
                    attribute, [_SWITCH]
                ):
                    yield f"{at} sets `{attribute}`, which torch does not know: did you mean `{_SWITCH}`?"
                case ast.Expr(ast.Attribute() as named) if text := _text(named):
                    yield f"{at} only names `{text}` and does not call it: write `{text}()`"
                case ast.Attribute(owner, method, ast.Load()) if method in _METHODS and id(node) not in called:
                    if not _text(owner).endswith(_ASIDE) and (text := _text(node)):
                        yield f"{at} names `{text}` and does not call it: write `{text}()`"
                case ast.With(items) | ast.AsyncWith(items):
                    for mode in (item.context_expr for item in items):
                        if isinstance(mode, ast.Attribute) and mode.attr in _SWITCHES and (text := _text(mode)):
                            yield f"{at} says `with {text}`, which needs brackets: `with {text}():`"
                case ast.For(body=[_, *_, ast.Return() as leaves]) if not any(
                    isinstance(one, ast.Continue) for one in ast.walk(node)
                ):
                    yield f"the `return` in {place(leaves.lineno)} is in the loop, which ends there in its first round"
                case ast.For(ast.Name(name), body=[*_, end]):
                    while isinstance(end, ast.If | ast.With) and not getattr(end, "orelse", []):
                        end = end.body[-1]
                    if isinstance(end, ast.Assign) and [_text(target) for target in end.targets] == [name]:
                        said = f"{place(end.lineno)} gives the name `{name}` a new value, which the next round forgets"
                        remedy = f"it in place, as in `{name} -= ...`"
                        if "torch" not in self._imported:  # an object of plain Python has no such operation
                            remedy = f"what it holds, as in `{name}.data = ...`"
                        yield f"{said}: what it stood for has not changed. Change {remedy}"
                case ast.Return(ast.Call(ast.Name(kind))) if kind in BUILT_IN_EXCEPTIONS:
                    yield f"{at} returns a {kind}: write `raise` for `return`"
                case ast.Call(func, [ast.Name(one), ast.Name(other), *_]) if one in _LABELS and other in _LOGITS:
                    if _text(func).rpartition(".")[2] == "cross_entropy":
                        yield f"`cross_entropy` takes the logits first, then the labels: {at} has them swapped"
                case ast.Call(ast.Name("id"), [ast.Name(one)]) if one in _arguments(own) and self._keeps(own):
                    yield (
                        f"{at} asks for `id({one})`: when an object is gone, another may get its id, so what is kept "
                        "by id may be the result of another object"
                    )
                case ast.Call(ast.Name("exit" | "quit" as kind), []) if cause.kind == "crash":
                    yield f"`{kind}()` in {at} ends Python itself: take it out"
        if cause.kind in ("assertion", "exception"):
            yield from plain_slips(own, place)
        yield from self._in_class(own, cause)

    def _keeps(self, own: Definition) -> bool:
        """Whether a definition writes into something that outlives its call: a variable of the file, an attribute, or a
        default value."""
        assigned = (one for one in self.top if isinstance(one, ast.Assign | ast.AnnAssign))
        variables = {node.id for one in assigned for node in ast.walk(one) if isinstance(node, ast.Name)}
        for node in ast.walk(own):
            match node:
                case ast.Subscript(ast.Attribute(), _, ast.Store()):
                    return True
                case ast.Subscript(ast.Name(name), _, ast.Store()) | ast.Call(ast.Attribute(ast.Name(name))) if (
                    name in variables
                ):
                    return True
                case ast.arguments() if any(isinstance(one, ast.Dict | ast.List | ast.Call) for one in node.defaults):
                    return True
        return False

    def starts_processes(self, name: str) -> Iterator[str]:
        """Processes that are started where one runs for each rank already."""
        for own in self._definitions(name)[-1:]:
            for node in ast.walk(own):
                if isinstance(node, ast.Call) and (text := _text(node.func)).endswith(_STARTS):
                    at = f"{self.place(node.lineno)} starts processes by `{text}`"
                    yield f"{at}, and `torchrun` has started one for each rank: do the work of this rank in this one"

    def _in_other_order(self, cause: Cause) -> Iterator[str]:
        """An argument of another kind than its name says, in a function that the student's own code calls."""
        missing = re.search(r"'(\w+)' object has no attribute '(\w+)'", cause.exception_message)
        if cause.exception_type != "AttributeError" or not missing or len(cause.frames) < 2:
            return
        caller, frame = cause.frames[-2:]
        function = next((one for one in self._definitions(frame.function) if isinstance(one, ast.FunctionDef)), None)
        asked = re.search(rf"\b(\w+)\.{missing[2]}\b", frame.text)
        if function and asked and asked[1] in _arguments(function) and f"{function.name}(" in caller.text:
            order = ", ".join(one.arg for one in function.args.args)
            kind, line = missing[1], self.place(caller.line)
            said = f"the order is `{function.name}({order})`, see the call in {line}"
            yield f"`{asked[1]}` is of class {kind} here: {said}"

    def _on_itself(self, own: Definition, cause: Cause) -> Iterator[str]:
        """A function that calls itself too often, and a graph that is used by the student and by the check."""
        if cause.exception_type == "RecursionError" and cause.frames:
            frame = max(cause.frames, key=cause.frames.count)
            loops = (ast.For, ast.ListComp, ast.DictComp, ast.GeneratorExp)
            is_of_parts = any(isinstance(node, loops) for node in ast.walk(own))
            texts = ": a str consists of strs, and so on" if is_of_parts and re.search("['\"]", cause.call) else ""
            deep = "" if texts else ", or more often than Python allows"
            yield f"`{frame.function}` calls itself in {self.place(frame.line)} without an end{deep}{texts}"
        if "backward through the graph a second time" in cause.exception_message and not cause.frames:
            for node in ast.walk(own):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
                    at = self.place(node.lineno)
                    yield f"{at} calls `backward`, and whoever calls `{own.name}` does so with the result: leave it out"

    def _is_none(self, own: Definition, cause: Cause) -> Iterator[str]:
        """Says how a function returns None that returns something in other cases."""
        if not cause.advice.startswith("your code returned None") or not isinstance(own, ast.FunctionDef):
            return
        functions = (one for one in ast.walk(own) if isinstance(one, Function | ast.Lambda) and one is not own)
        inner = {id(node) for one in functions for node in ast.walk(one)}
        returns = [one for one in ast.walk(own) if isinstance(one, ast.Return) and id(one) not in inner]
        empty = [one for one in returns if one.value is None or _text(one.value) == "None"]
        if len(empty) == len(returns):  # it never returns anything else: the `return` was forgotten
            yield from self._not_returned(own, inner)
            return
        if empty:
            yield f"your code returned None, by the `return` in {self.place(empty[0].lineno)}"
        elif returns == own.body[-1:]:
            yield f"your code returned None: that is the value behind `return` in {self.place(returns[0].lineno)}"
        else:
            yield f"your code returned None here: this call came to the end of `{own.name}` without a `return`"

    def _not_returned(self, own: ast.FunctionDef, inner: set[int]) -> Iterator[str]:
        """A value in a function without `return` that is printed, or that its last line only makes."""
        nodes = (one for one in ast.walk(own) if id(one) not in inner)
        prints = [one.lineno for one in nodes if isinstance(one, ast.Call) and _text(one.func) == "print"]
        if prints:
            yield f"your code returned None: {self.place(prints[0])} prints, and does not return: write `return`"
        match own.body[-1]:
            case ast.Expr(ast.Call(ast.Attribute(_, name))) if name in _CHANGING or name.endswith("_"):
                return
            case ast.Expr(value) if not isinstance(value, ast.Constant):
                yield f"your code returned None: {self.place(value.lineno)} makes a value: write `return` before it"

    def _hidden(self, own: Definition) -> Iterator[str]:
        """Variables with the name of a module or a function of Python that is used in the same definition."""
        used = set()
        for node in ast.walk(own):
            match node:
                case ast.Attribute(ast.Name(name)) if name in self._imported:
                    used.add(name)
                case ast.Call(ast.Name(name)) if name in BUILTINS:
                    used.add(name)
        for name, line in _stored(own):
            if name in used:
                yield f"{self.place(line)} gives the name `{name}` to a value, and hides what `{name}` was before"

    @functools.cached_property
    def _imported(self) -> set[str]:
        """The names that the file imports."""
        imports = (node for node in self.top if isinstance(node, ast.Import | ast.ImportFrom))
        return {alias.asname or alias.name for node in imports for alias in node.names}

    def _used_up(self, own: Definition) -> Iterator[str]:
        """Iterators that are looped over twice: the second loop gets nothing."""
        once: dict[str, int] = {}
        loops: list[str] = []
        for node in ast.walk(own):
            match node:
                case ast.Assign([ast.Name(name)], ast.GeneratorExp()):
                    once[name] = node.lineno
                case ast.Assign([ast.Name(name)], ast.Call(func)) if _text(func).rpartition(".")[2] in _ITERATORS:
                    once[name] = node.lineno
                case ast.For(_, ast.Name(name)) | ast.comprehension(_, ast.Name(name)):
                    loops.append(name)
        for name, line in once.items():
            if loops.count(name) > 1:
                at = self.place(line)
                yield f"`{name}` in {at} can be looped over only once, then it is empty: `list(...)` keeps it"

    def _in_class(self, own: Definition, cause: Cause) -> Iterator[str]:
        """Methods whose names were meant to be special ones, and names that are looked for in the wrong place."""
        methods = {one.name: one for one in _methods(own)}
        for name, method in methods.items():
            meant = next((one for one, misspelt in _SPECIAL.items() if name.strip("_") in misspelt.split()), "")
            if meant and meant not in methods:
                at = self.place(method.lineno)
                yield f"{at} defines `{name}`: did you mean `{meant}`, the name that Python looks for?"
        said = cause.exception_message
        unknown = UNKNOWN.search(said)
        if cause.exception_type == "NameError" and unknown:
            name = unknown[1]
            if _is_kept_by_self(own, name):
                yield f"`{name}` is not defined: `__init__` keeps it as `self.{name}`"
            if name in methods:
                yield f"`{name}` is a method of the class: call it as `self.{name}(...)`"
        missing = re.search(r"object has no attribute '(\w+)'", said)
        if cause.exception_type == "AttributeError" and missing and "did you mean" not in cause.advice:
            name = missing[1]
            starts = (one for one in _methods(own) if one.name == "__init__")
            local = [line for one in starts for stored, line in _stored(one) if stored == name]
            if local:
                at = self.place(local[0])
                yield f"`{name}` in {at} is a local variable of `__init__`: write `self.{name}`"
            elif isinstance(own, ast.ClassDef) and f"'{own.name}' object" in said and not _names(own, name):
                yield f"nothing in `{own.name}` gives a value to `self.{name}`"

    def unused(self, name: str) -> Iterator[str]:
        """What a definition never reads: a local variable of `__init__`, or an argument."""
        for own in self._definitions(name)[-1:]:
            for method in [own] if isinstance(own, ast.FunctionDef) else _methods(own):
                names = [node for node in ast.walk(method) if isinstance(node, ast.Name)]
                read = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
                for local, line in _stored(method) if method.name == "__init__" else ():
                    if local not in read and not local.startswith("_"):
                        where = f"`{local}` in {self.place(line)}"
                        yield f"{where} is a local variable of `__init__` that nothing reads: write `self.{local}`"
                for argument in sorted(_arguments(method) & _NEEDED - {node.id for node in names}):
                    yield f"`{method.name}` never uses its argument `{argument}`: what does the answer take from it?"


def _left_out(own: Definition, cause: Cause, place: Callable[[int], str]) -> Iterator[str]:
    """An argument that may be left out, and is used as if it were given."""
    if cause.kind != "exception" or "NoneType" not in cause.exception_message or not cause.frames:
        return
    frame = cause.frames[-1]
    attribute = re.search(r"no attribute '(\w+)'", cause.exception_message)
    used_as = rf"\.{attribute[1]}\b" if attribute else r"\["
    if "operand" in cause.exception_message and "(" not in frame.text:  # else the None may come from a call
        used_as = r"\b"
    for node in ast.walk(own):
        if isinstance(node, ast.FunctionDef) and node.name == frame.function:
            named = {one.arg for one, default in _with_defaults(node.args) if _text(default) == "None"}
            used = [name for name in sorted(named) if re.search(rf"(?<![\w.]){name}{used_as}", frame.text)]
            if len(used) == 1:
                at = place(frame.line)
                yield f"`{used[0]}` may be left out, and is None then: {at} needs it, so ask `{used[0]} is None` first"


def _with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The arguments that have a default, each with it."""
    plain = [*arguments.posonlyargs, *arguments.args]
    yield from zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True)
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    yield from ((one, default) for one, default in pairs if default is not None)


def _methods(own: Definition) -> list[ast.FunctionDef]:
    return [one for one in own.body if isinstance(one, ast.FunctionDef)] if isinstance(own, ast.ClassDef) else []


def _arguments(own: Definition) -> set[str]:
    return set() if isinstance(own, ast.ClassDef) else {one.arg for one in own.args.args}


def _stored(own: Definition) -> list[tuple[str, int]]:
    """The names to which a definition gives values, and their lines."""
    names = (node for node in ast.walk(own) if isinstance(node, ast.Name))
    return [(node.id, node.lineno) for node in names if isinstance(node.ctx, ast.Store)]


def _is_kept_by_self(own: Definition, name: str) -> bool:
    attributes = (node for node in ast.walk(own) if isinstance(node, ast.Attribute) and node.attr == name)
    return any(isinstance(one.ctx, ast.Store) and _text(one.value) == "self" for one in attributes)


def _names(own: ast.ClassDef, name: str) -> bool:
    """Whether a class gives a value to something of this name, or has the name as a text, as buffers do."""
    nodes = list(ast.walk(own))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    names = {getattr(node, "name", getattr(node, "id", None)) for node in nodes}
    return name in names | texts or _is_kept_by_self(own, name)


def _text(node: ast.expr) -> str:
    """The code of a short expression; empty for any other, which may nest too deeply to be written out."""
    if node.end_lineno != node.lineno or (node.end_col_offset or 0) - node.col_offset > _MOST_TEXT:
        return ""
    try:
        return ast.unparse(node)
    except ValueError:  # some texts inside of f-strings
        return ""
