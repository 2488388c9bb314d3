"""Explains failures by the text of the file as it was handed in: slips of the pen, and names that are nearly right.

Runs nothing, and decides nothing but the first sentence.
"""

import ast
import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from grader.border.failures import BUILT_IN_EXCEPTIONS
from grader.course import Misconception
from grader.course.slips import Matcher, found_in
from grader.course.source import Definition, Function
from grader.judge import explain
from grader.judge.known_errors import close_names, did_you_mean, unknown_name
from grader.judge.loading import LeftOut
from grader.judge.pen import plain_slips
from grader.judge.public_names import BUILTINS
from grader.judge.scan import MOST_BYTES, parsed
from grader.judge.unfinished import beside_the_stub, outside_of, without_a_body
from grader.results import Cause, CheckResult, ExerciseResult

_MOST_NAMES: Final = 2_000
"""Names of a file that are compared: each takes the judge some time, for every check that fails."""
_SHORTEST: Final = 4
"""Letters of an exercise's name that may be a part of another one."""
_UNKNOWN: Final = re.compile(r"name '(\w+)' is not defined")
_CONFLICT: Final = re.compile(r"^(?:<{7}|={7}|>{7})(?: .*)?$")
_QUOTES: Final = "“”‘’„«»"

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
_NO_MODULE: Final = re.compile(r"No module named '(\w+)")
_ITERATORS: Final = frozenset(("parameters", "named_parameters", "modules", "buffers", "zip", "map", "filter"))
_NEEDED: Final = frozenset(("dim", "eps", "i", "index", "mask", "prefix", "seed"))
"""Arguments that no answer can do without."""
_ASIDE: Final = ("Tensor", "torch", "self")
"""Ends of names whose attributes may be anything."""
_MOST_SLIPS: Final = 2
"""Mistakes in the code of one answer that its first sentence names."""
_MOST_TEXT: Final = 60
"""Bytes of an expression that a message shows."""


@dataclass
class Hints:
    """The hints in the text of a topic's file.

    Attributes:
        source: the file as it was handed in.
        place: names a line of it: ``line 12``, or ``In [4], line 2`` in a notebook.
        exercises: names of the topic's exercises: no other exercise is offered for one that is missing.
        modules: the course's modules, of which one is offered for a module that does not exist, or named as missing.
        left_out: the statements of the file that were left out, if any.
        misconceptions: those of the topic, some of which are seen in code.
        matchers: the course's own.
    """

    source: bytes
    place: Callable[[int], str]
    exercises: Collection[str] = ()
    modules: Collection[str] = ()
    left_out: LeftOut | None = None
    misconceptions: Sequence[Misconception] = ()
    matchers: Mapping[str, Matcher] = field(default_factory=dict)
    _found: dict[str, list[tuple[int, Misconception]]] = field(default_factory=dict, init=False)

    def explain(self, result: ExerciseResult) -> ExerciseResult:
        """The same result, whose failures begin with the sentence that explains them, if there is one."""
        return replace(result, checks=tuple(self._explained(check, result) for check in result.checks))

    def _explained(self, check: CheckResult, result: ExerciseResult) -> CheckResult:
        cause = check.cause
        name = result.name.partition(".")[2]
        is_of_ranks = cause is not None and re.search(r"\brank \d|torchrun", cause.reason + cause.exception_message)
        if cause is not None and is_of_ranks and (text := next(self._starts_processes(name), "")):
            return explain.with_cause(check, replace(cause, advice=text, is_slip=True))
        if cause is None or check.verdict not in ("failed", "crashed") or cause.kind == "not_simulated":
            return check
        slip = next(self._slips(cause, name), "") if cause.kind != "missing" else ""
        if not slip and cause.kind == "assertion" and result.misconception is None:
            slip = next(self._unused(name), "")
        if not slip and result.misconception is None and not result.as_handed_out:
            slip = self._seen(cause, result.name)
        advice = slip or self._on_name(cause)
        return explain.with_cause(check, replace(cause, advice=advice, is_slip=bool(slip))) if advice else check

    def _seen(self, cause: Cause, exercise: str) -> str:
        """What misconceptions say that are seen in the code of an answer, each with its line: two at most.

        Only about results: of an exception in the student's own lines, these lines say more.
        """
        if cause.kind != "assertion" and (cause.kind != "exception" or cause.frames):
            return ""
        if exercise not in self._found:
            known = [one for one in self.misconceptions if one.exercise == exercise and one.seen]
            self._found[exercise] = list(found_in(ast.Module(self._top, []), known, self.matchers))
        said = (
            f"{self.place(line)}: {' '.join(one.tell.split())}" for line, one in self._found[exercise][:_MOST_SLIPS]
        )
        return " And ".join(said)

    def explain_import(self, cause: Cause) -> Cause:
        """The same cause of a failing import, which names the text that is no Python, if it is of a known kind."""
        found = ""
        if cause.exception_type == "ModuleNotFoundError":
            found = next(self._unused_import(cause), "") or self._own_module(cause.exception_message)
        elif cause.exception_type in ("SyntaxError", "IndentationError"):
            found = next(self._no_python(cause), "")
        if cause.exception_type in ("IndentationError", "TabError") and cause.frames:
            lines = self.source[:MOST_BYTES].decode("utf-8-sig", "replace").splitlines()
            *others, last = cause.frames
            text = "".join(lines[last.line - 1 : last.line]).replace("\t", "→   ").rstrip()
            cause = replace(cause, frames=(*others, replace(last, text=text)))
        return replace(cause, advice=f"{cause.file} cannot be imported: {found}") if found else cause

    def _no_python(self, cause: Cause) -> Iterator[str]:
        wrong = cause.frames[-1].line if cause.frames else 0
        lines = self.source[:MOST_BYTES].decode("utf-8-sig", "replace").splitlines()
        for number, line in enumerate(lines, 1):
            if _CONFLICT.match(line):
                at = self.place(number)
                yield f"{at} is a mark of a Git merge: keep one of the two versions, and delete the marks"
        for quote in (one for line in lines[max(wrong - 1, 0) : wrong] for one in line if one in _QUOTES):
            yield f"{self.place(wrong)} has the quote {quote} of a book or a PDF: Python's are ' and \""
        outside = re.match(r"'(return|yield|await)' outside", cause.exception_message)
        if outside and (above := outside_of(self._top, wrong)):
            yield f"`{outside[1]}` in {self.place(wrong)} is not inside of a function: indent it like `{above}`'s body"

    def _unused_import(self, cause: Cause) -> Iterator[str]:
        """Says so if nothing of what the failing line imports is used anywhere."""
        for node in self._top:
            if isinstance(node, ast.Import | ast.ImportFrom) and cause.frames and node.lineno == cause.frames[-1].line:
                names = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
                used = {one.id for top in self._top for one in ast.walk(top) if isinstance(one, ast.Name)}
                if not names & {*used, "*"}:
                    module = _module_in(cause).partition(".")[0]
                    yield f"`{module}` is not installed here, and is never used: delete {self.place(node.lineno)}"

    def _own_module(self, message: str) -> str:
        """Says that a module which an exception misses is one of the course; empty if it is another one."""
        missing = _NO_MODULE.search(message)
        if missing is None or missing[1] not in self.modules:
            return ""
        return f"`{missing[1]}` is a module of the course, and not in your submission: hand it in with your other files"

    @functools.cached_property
    def _top(self) -> list[ast.stmt]:
        """The statements of the file; none if it is too long or is no Python."""
        tree = parsed(self.source) if len(self.source) <= MOST_BYTES else None
        return tree.body if tree else []

    # ---------------------------------------------------------------- names

    def _on_name(self, cause: Cause) -> str:
        """The sentence about a name that is missing or unknown."""
        unknown = _UNKNOWN.search(cause.exception_message) if cause.exception_type == "NameError" else None
        name = cause.names[0] if cause.names else unknown[1] if unknown else ""
        if cause.kind not in ("missing", "exception"):
            return ""
        if self.left_out and (lost := self.left_out.why_lost(name)):
            return "; ".join(filter(None, [lost, self._own_module(lost)]))
        if cause.kind == "missing":
            wrote = " and ".join(f"`{one}`" for one in close_names(name, set(self._defined) - set(self.exercises)))
            return f"`{name}` is not defined in {cause.file}: you wrote {wrote}" if wrote else ""
        if unknown:
            return unknown_name(name, self._names)
        if own := self._own_module(cause.exception_message):
            return own
        near = close_names(_module_in(cause), self.modules) if cause.exception_type == "ModuleNotFoundError" else []
        return f"there is no module `{_module_in(cause)}`{did_you_mean(near)}" if near else ""

    def defines(self, name: str) -> bool:
        """Whether the file gives the name a value at its top level."""
        return name in self._defined

    def renamed(self, name: str, handed_out: Collection[str]) -> tuple[str, int] | None:
        """The definition that may be an exercise's under another name, and its line; None if there is none.

        Args:
            handed_out: the names that the stub defines.
        """
        lines: dict[str, int] = {}
        for one in self._top:
            match one:
                case ast.FunctionDef(name=own) | ast.AsyncFunctionDef(name=own) | ast.ClassDef(name=own):
                    lines[own] = one.lineno
                case ast.Assign([ast.Name(own)], ast.Lambda()):
                    lines[own] = one.lineno
        others = [one for one in lines if one not in handed_out and one not in self.exercises][:_MOST_NAMES]
        plain = _plain(name)
        near = close_names(name, others) or [one for one in others if len(plain) >= _SHORTEST and plain in _plain(one)]
        return (near[0], lines[near[0]]) if near else None

    @functools.cached_property
    def _names(self) -> list[str]:
        """The names that occur in the file."""
        nodes = (node for statement in self._top for node in ast.walk(statement))
        names = (getattr(node, "id", getattr(node, "name", getattr(node, "arg", None))) for node in nodes)
        return list(dict.fromkeys(name for name in names if isinstance(name, str)))[:_MOST_NAMES]

    @functools.cached_property
    def _defined(self) -> list[str]:
        """The names that the file defines at its top level."""
        targets = (target for one in self._top if isinstance(one, ast.Assign) for target in one.targets)
        names = [one.name for one in self._top if isinstance(one, Definition)]
        return [*names, *(one.id for one in targets if isinstance(one, ast.Name))][:_MOST_NAMES]

    # ---------------------------------------------------------------- slips of the pen

    def _definitions(self, name: str) -> list[Definition]:
        """The definitions of a name at the top of the file, in order."""
        return [one for one in self._top if isinstance(one, Definition) and one.name == name]

    def _slips(self, cause: Cause, name: str) -> Iterator[str]:
        definitions, place = self._definitions(name), self.place
        if not definitions:
            return
        own = definitions[-1]
        if cause.kind == "unwritten":
            if len(definitions) > 1:  # else the older of two answers is no news, least of all in a notebook
                first, *_, last = (place(one.lineno) for one in definitions)
                yield f"`{name}` is defined twice, in {first} and in {last}: the last one counts"
            yield from beside_the_stub(own, self._top, place)
            return
        if cause.returned == "None":
            yield from without_a_body(own, self._top, place)
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
                case ast.For(body=[_, *_, ast.Return() as leaves]) if not _goes_on(node):
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
        assigned = (one for one in self._top if isinstance(one, ast.Assign | ast.AnnAssign))
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

    def _starts_processes(self, name: str) -> Iterator[str]:
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
        if len(empty) == len(returns):
            return  # it never returns anything else: the `return` was forgotten
        if empty:
            yield f"your code returned None, by the `return` in {self.place(empty[0].lineno)}"
        elif returns == own.body[-1:]:
            yield f"your code returned None: that is the value behind `return` in {self.place(returns[0].lineno)}"
        else:
            yield f"your code returned None here: this call came to the end of `{own.name}` without a `return`"

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
        imports = (node for node in self._top if isinstance(node, ast.Import | ast.ImportFrom))
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
        unknown = _UNKNOWN.search(said)
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

    def _unused(self, name: str) -> Iterator[str]:
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


def _goes_on(loop: ast.For) -> bool:
    """Whether a loop may come to its next round before its end."""
    return any(isinstance(node, ast.Continue) for node in ast.walk(loop))


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()


def _module_in(cause: Cause) -> str:
    return cause.exception_message.rpartition("named ")[2].strip("'")


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
