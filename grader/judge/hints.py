"""Explains failures by the text of the file as it was handed in: slips in its code, and names that are nearly right.

Runs nothing, and decides nothing but the first sentence.
"""

import ast
import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from grader.course import Misconception
from grader.course.slips import Matcher, found_in
from grader.course.source import Definition, names_bound_by, names_in
from grader.judge import explain
from grader.judge.code_slips import UNKNOWN, CodeSlips
from grader.judge.known_errors import close_names, did_you_mean, unknown_name
from grader.judge.loading import LeftOut
from grader.judge.scan import MOST_BYTES, parsed
from grader.judge.unfinished import outside_of
from grader.results import Cause, CheckResult, ExerciseResult

_MOST_NAMES: Final = 2_000
"""Names of a file that are compared: each takes the judge some time, for every check that fails."""
_SHORTEST: Final = 4
"""Letters of an exercise's name that may be a part of another one."""
_CONFLICT: Final = re.compile(r"^(?:<{7}|={7}|>{7})(?: .*)?$")
_QUOTES: Final = "“”‘’„«»"
_NO_MODULE: Final = re.compile(r"No module named '(\w+)([\w.]*)")
_MOST_SLIPS: Final = 2
"""Mistakes in the code of one answer that its first sentence names."""


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
        if cause is not None and is_of_ranks and (text := next(self._code.starts_processes(name), "")):
            return explain.with_cause(check, replace(cause, advice=text, is_slip=True))
        if cause is None or check.verdict not in ("failed", "crashed") or cause.kind == "not_simulated":
            return check
        slip = next(self._code.slips(cause, name), "") if cause.kind != "missing" else ""
        if not slip and cause.kind == "assertion" and result.misconception is None:
            slip = next(self._code.unused(name), "")
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
                used = names_in(*self._top)
                if not names_bound_by(node) & {*used, "*"}:
                    module = _module_in(cause).partition(".")[0]
                    yield f"`{module}` is not installed here, and is never used: delete {self.place(node.lineno)}"

    def _own_module(self, message: str) -> str:
        """Says that a module which an exception misses is one of the course; empty if it is another one."""
        missing = _NO_MODULE.search(message)
        if missing is None or missing[1] not in self.modules:
            return ""
        kind = "" if missing[2] else "a module of the course, and "
        return f"`{missing[1]}{missing[2]}` is {kind}not in your submission: hand it in with your other files"

    @functools.cached_property
    def _top(self) -> list[ast.stmt]:
        """The statements of the file; none if it is too long or is no Python."""
        tree = parsed(self.source) if len(self.source) <= MOST_BYTES else None
        return tree.body if tree else []

    @functools.cached_property
    def _code(self) -> CodeSlips:
        return CodeSlips(self._top, self.place)

    # ---------------------------------------------------------------- names

    def _on_name(self, cause: Cause) -> str:
        """The sentence about a name that is missing or unknown."""
        unknown = UNKNOWN.search(cause.exception_message) if cause.exception_type == "NameError" else None
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


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()


def _module_in(cause: Cause) -> str:
    return cause.exception_message.rpartition("named ")[2].strip("'")
