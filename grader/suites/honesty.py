"""The places of a suite where the student's own code has a say in the verdict, or that cannot work here.

Some are read from the source, some are seen while tests run. Nothing of this changes a verdict: `verify` and `adopt`
print the list, and docs/security.md explains it.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final, Literal

import msgspec

from grader.course.source import last_name, names_bound_by, names_in, parse
from grader.errors import CourseError

Kind = Literal["own-code", "their-equality", "source-sent", "not-here"]
TEXTS: Final[dict[Kind, str]] = {
    "own-code": "compares with the student's own code: what is expected is the student's word",
    "their-equality": "asks the student's own `==`, `<`, `in` or `-`",
    "source-sent": "is sent to the student's process as source: no expected answer must be in it",
    "not-here": "looks at this process, and the student's code is in another one: it cannot work here",
}
_OF_THIS_PROCESS: Final = frozenset({"resource", "tracemalloc", "psutil", "memory_profiler"})
_RUNS: Final = frozenset({
    "eval", "exec", "run_path", "exec_module", "system", "Popen", "check_output", "check_call",
    "DocTestRunner", "testmod", "run_docstring_examples",
})  # fmt: skip
_READS_SOURCE: Final = frozenset({"getsourcefile", "getmembers"})
_GETS_SOURCE: Final = frozenset({"getsource", "getsourcelines"})
_COMPARING: Final = ("assert", "allclose", "isclose", "equal", "approx")


class SuitePlace(msgspec.Struct, frozen=True, order=True):
    """A place in a suite, and why to look at it."""

    file: Path
    line: int
    kind: Kind
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


_seen: set[SuitePlace] = set()
rooms: dict[Path, Path] = {}
"""Folders of courses, by those of the copies in which their suites run."""


def note(kind: Kind, root: Path, file: Path | None = None, line: int = 0, text: str = "") -> None:
    """Keeps a place that is seen while a test runs: by default the line of the suite that is running."""
    frame = sys._getframe(1)
    while file is None and frame.f_back is not None:
        frame = frame.f_back
        if _is_in(frame.f_code.co_filename, root):
            file, line = Path(frame.f_code.co_filename), frame.f_lineno
    if file is not None:
        file = rooms[root] / file.relative_to(root) if root in rooms and file.is_relative_to(root) else file
        _seen.add(SuitePlace(file, line, kind, text or TEXTS[kind]))


@functools.lru_cache(maxsize=1 << 10)
def _is_in(file: str, root: Path) -> bool:
    return Path(file).is_relative_to(root)


def places_in(folder: Path, names: Collection[str]) -> list[SuitePlace]:
    """The places that the source of a suite shows, and those that were seen in this process.

    Args:
        names: of the modules and packages that students write, as the suite imports them.
    """
    found = {one for one in _seen if one.file.is_relative_to(folder)}
    own = frozenset(name.rpartition(".")[2] for name in names)
    for file in sorted(folder.rglob("*.py")):
        try:
            tree = parse(file)
        except CourseError:
            continue  # its collection says why
        found |= {SuitePlace(file, *one) for one in _of_file(tree, own)}
    return sorted(found)


def _of_file(tree: ast.Module, names: frozenset[str]) -> Iterator[tuple[int, Kind, str]]:
    imported = {name for node in imports_of(tree, names) for name in names_bound_by(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            for name in _OF_THIS_PROCESS.intersection(one.partition(".")[0] for one in modules):
                yield node.lineno, "not-here", f"`{name}` {TEXTS['not-here']}"
        elif isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in _READS_SOURCE and _mentions(node, imported):
                yield node.lineno, "not-here", f"`{name}` reads the student's source, which is not here"
            elif name in _GETS_SOURCE and _mentions(node, imported):
                yield node.lineno, "own-code", f"`{name}` reads the student's source: it is the student's word"
            elif _runs(node.func):
                yield node.lineno, "not-here", f"`{name}` runs nothing here that the student's code has made"
        elif isinstance(node, ast.ClassDef) and any(_mentions(one, imported) for one in node.bases):
            yield node.lineno, "source-sent", f"class `{node.name}` {TEXTS['source-sent']}"
        elif isinstance(node, ast.FunctionDef):
            yield from ((line, "own-code", TEXTS["own-code"]) for line in _own_comparisons(node, imported))


def _runs(function: ast.expr) -> bool:
    """Whether it runs code or a program, by its name; a doctest has a method `check_output`, and a layer `eval`."""
    is_method = isinstance(function, ast.Attribute) and (
        function.attr in ("eval", "exec") or isinstance(function.value, ast.Call)
    )
    return not is_method and (last_name(function) in _RUNS or ast.unparse(function) == "subprocess.run")


def imports_of(tree: ast.Module, names: AbstractSet[str]) -> Iterator[ast.stmt]:
    """The imports of students' modules, at any depth."""
    for node in (one for one in ast.walk(tree) if isinstance(one, ast.Import | ast.ImportFrom)):
        if isinstance(node, ast.Import):
            parts = [part for one in node.names for part in one.name.split(".")]
        else:
            parts = [*(node.module or "").split("."), *(one.name for one in node.names if node.level)]
        if not names.isdisjoint(parts):
            yield node


def _own_comparisons(function: ast.FunctionDef, imported: AbstractSet[str]) -> Iterator[int]:
    """The lines at which both sides of a comparison come from the student's code, or their function compares."""
    theirs = set(imported)
    statements = [one for one in ast.walk(function) if isinstance(one, ast.Assign | ast.AugAssign | ast.For)]
    parts = [(one.iter if isinstance(one, ast.For) else one, names_bound_by(one)) for one in statements]
    while more := {name for part, bound in parts if _mentions(part, theirs) for name in bound} - theirs:
        theirs |= more
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            is_theirs = isinstance(node.test, ast.Call) and _root(node.test.func) in imported
        elif isinstance(node, ast.Compare):
            is_theirs = _mentions(node.left, theirs) and _mentions(node.comparators[0], theirs)
        elif isinstance(node, ast.Call) and last_name(node.func).startswith(_COMPARING) and len(node.args) > 1:
            is_theirs = _root(node.func) in imported or all(_mentions(one, theirs) for one in node.args[:2])
        else:
            continue
        if is_theirs:
            yield node.lineno


def _mentions(node: ast.AST, names: AbstractSet[str]) -> bool:
    return not names_in(node).isdisjoint(names)


def _root(function: ast.expr) -> str:
    while isinstance(function, ast.Attribute):
        function = function.value
    return getattr(function, "id", "")
