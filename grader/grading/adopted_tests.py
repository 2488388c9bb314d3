"""Turns a test of somebody's notebook into a check of ours: names of the notebook become ``submission.NAME``.

Works on the syntax tree, and runs nothing. A test's comparisons stay as they are; an output that it expects becomes a
comparison. A question that another process cannot answer is refused, with a sentence for the person who adopts the
notebook.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from grader.course.source import Definition, assigned_by, names_bound_by, names_in

_READING: Final = frozenset(
    {"open", "read_csv", "loadtxt", "genfromtxt", "read_text", "read_bytes", "load", "imread", "exists"}
)
_ABOUT_CODE: Final = frozenset(
    {"callable", "hasattr", "getattr", "signature", "getsource", "globals", "locals", "eval"}
)
_COMPARING: Final = ("close", "equal", "isclose", "approx")
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class CannotTranslate(Exception):
    """A test that cannot be a check; its text completes "cell 12: the test …"."""


class Step(NamedTuple):
    """Some statements of a test, and the result of the last one: the value that is shown, and the prints.

    Without a value (None) nothing is compared with it: the statements make their own assertions.
    """

    code: str
    output: str | None = ""
    printed: str = ""


class WrittenTest(NamedTuple):
    """One test as its author wrote it.

    Attributes:
        place: ``cell 12``, or a file and a line.
        says: its sentence, if it has one.
        points: None if they are shared out.
    """

    place: str
    steps: tuple[Step, ...]
    says: str = ""
    points: float | None = None
    is_hidden: bool = False


class NotebookNames(NamedTuple):
    """The names of a notebook.

    Attributes:
        written: those that students give a meaning.
        given: those that cells give a meaning which are handed out.
        derived: those of the given ones whose value depends on students' code, such as ``nine = square(3)``.
        functions: those of both that are functions or classes.
        imports: the statement that imports a name, by the name.
    """

    written: frozenset[str]
    given: frozenset[str]
    derived: frozenset[str]
    functions: frozenset[str]
    imports: Mapping[str, str]


class Translated(NamedTuple):
    """A test as the body of a check.

    Attributes:
        body: its lines, not indented.
        reads: the names that it asks the submission for, in order.
        imports: the statements that it needs.
        remarks: sentences about it that a person must read.
    """

    body: str
    reads: tuple[str, ...]
    imports: tuple[str, ...]
    remarks: tuple[str, ...]


def translate(test: WrittenTest, names: NotebookNames, earlier: Mapping[str, ast.stmt]) -> Translated:
    """The body of a check that asks the same as a test.

    Args:
        earlier: statements of earlier tests by the names that they bind: those that this one needs come first.

    Raises:
        CannotTranslate: it changes the notebook, looks at its code, or needs something that only a notebook has.
    """
    steps = [(_parsed(step.code), step) for step in test.steps]
    body = [statement for tree, _ in steps for statement in tree]
    if len(body) == 1 and isinstance(body[0], ast.FunctionDef) and body[0].name.startswith("test"):
        if "env" in {one.arg for one in body[0].args.args}:
            raise CannotTranslate("looks at the notebook's whole environment, `env`")
        steps = [(body[0].body, Step("", None))]
        body = body[0].body
    lines = _needed(body, names, earlier)
    own: dict[str, None] = {}
    for tree, step in steps:
        lines += _with_output(tree, step, names, own)
    bound = {name for one in lines for name in _bound_by(one)}
    if changed := sorted(name for name in bound & names.written if _is_read_first(name, lines)):
        raise CannotTranslate(f"gives `{changed[0]}` another meaning in the notebook")
    rewriter = _Rewriter(names, bound | {line.split()[-1] for line in own})
    made: list[Any] = [rewriter.visit(one) for one in lines]
    if rewriter.unknown:
        raise CannotTranslate(f"reads `{next(iter(rewriter.unknown))}`, which nothing before it defines")
    if not (names.written | names.derived) & rewriter.reads.keys():
        raise CannotTranslate("asks for nothing that students write")
    check = ast.fix_missing_locations(ast.Module(made, []))
    imports = [*own, *(names.imports[one] for one in rewriter.imported)]
    return Translated(ast.unparse(check), tuple(rewriter.reads), tuple(imports), tuple(_remarks(check, rewriter)))


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a statement gives a meaning where it stands: not inside of functions and comprehensions."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
            return
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return
        case ast.Name(name, ast.Store()) | ast.ExceptHandler(name=str(name)):
            yield name
        case ast.alias(name, other):
            yield (other or name).partition(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from _bound_by(child)


def _is_read_first(name: str, lines: Iterable[ast.stmt]) -> bool:
    """Whether statements read or delete a name before they give it a value: then it is the notebook's."""
    for one in lines:
        found = [node.ctx for node in ast.walk(one) if isinstance(node, ast.Name) and node.id == name]
        if found:
            return not isinstance(one, ast.For | ast.With) and any(not isinstance(ctx, ast.Store) for ctx in found)
    return False


def bindings(test: WrittenTest) -> dict[str, ast.stmt]:
    """The statements of a test that later ones may need, by the names that they bind; none of a test with a mistake."""
    try:
        body = [statement for step in test.steps for statement in _parsed(step.code)]
    except CannotTranslate:
        return {}
    return {name: one for one in body if not isinstance(one, ast.Expr | ast.Assert) for name in names_bound_by(one)}


def _parsed(code: str) -> list[ast.stmt]:
    try:
        return ast.parse(code).body
    except SyntaxError as error:
        raise CannotTranslate(f"is not Python alone ({error.msg})") from None


def _unknown(body: Iterable[ast.stmt], names: NotebookNames) -> set[str]:
    """The names that statements read and that neither they nor the notebook define."""
    known = names.written | names.given | names.imports.keys() | set(dir(builtins))
    own = {name for one in body for name in names_bound_by(one)}
    own |= {one.arg for statement in body for one in ast.walk(statement) if isinstance(one, ast.arg)}
    return {name for one in body for name in names_in(one)} - known - own


def _needed(body: list[ast.stmt], names: NotebookNames, earlier: Mapping[str, ast.stmt]) -> list[ast.stmt]:
    """The statements of earlier tests that these need, in an order in which they can run."""
    unknown = _unknown(body, names)
    found = list(dict.fromkeys(one for name, one in earlier.items() if name in unknown))
    return [*(_needed(found, names, earlier) if found else []), *found]


def _with_output(body: list[ast.stmt], step: Step, names: NotebookNames, imports: dict[str, None]) -> list[ast.stmt]:
    """The statements of a step, of which the last one compares with the expected result."""
    if step.output is None:
        return body
    if not body or not isinstance(body[-1], ast.Expr):
        if step.output.strip() or step.printed.strip():
            raise CannotTranslate("prints something on its way, which is compared with what the notebook shows")
        return body
    *before, last = body
    assert isinstance(last, ast.Expr)
    value, printed = last.value, step.printed
    match value:
        case ast.Call(ast.Name("print"), args, []) if printed:
            return [*before, *_compared(f"' '.join(map(str, [{', '.join(map(ast.unparse, args))}]))", printed)]
        case ast.Call(ast.Name(name), args, keywords) if printed and name in names.functions:
            imports["from grader.testkit import printed"] = None
            parts = [name, *map(ast.unparse, args), *(f"{one.arg}={ast.unparse(one.value)}" for one in keywords)]
            return [*before, *_compared(f"printed({', '.join(parts)}).strip()", printed)]
        case _ if printed:
            raise CannotTranslate("prints something on its way, which is compared with what the notebook shows")
    if expected := step.output.strip():
        try:
            wanted = ast.literal_eval(expected)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [*before, *_statements(f"assert repr({ast.unparse(value)}) == {expected!r}")]
        flat = wanted if isinstance(wanted, list | tuple) else [wanted]
        text = repr(wanted)
        if any(isinstance(one, float) for one in flat) and all(isinstance(one, int | float) for one in flat):
            imports["import pytest"] = None
            text = f"pytest.approx({wanted!r})"
        return [*before, *_statements(f"assert ({ast.unparse(value)}) == {text}")]
    if not isinstance(value, ast.Call | ast.Constant | ast.Await):
        raise CannotTranslate(
            "shows a value, but its output is not in the notebook: run all cells, save it and adopt it"
        )
    return body


def _compared(text: str, expected: str) -> list[ast.stmt]:
    return _statements(f"assert {text} == {expected.strip()!r}")


def _statements(code: str) -> list[ast.stmt]:
    return ast.parse(code).body


class _Rewriter(ast.NodeTransformer):
    """Puts ``submission.`` before the notebook's names, where they are not names of the test itself."""

    def __init__(self, names: NotebookNames, own: set[str]) -> None:
        self._names = names
        self._own = [own | {"submission"}]
        self.reads: dict[str, None] = {}
        self.imported: dict[str, None] = {}
        self.unknown: dict[str, None] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if any(name in own for own in self._own) or isinstance(node.ctx, ast.Store):
            return node
        if isinstance(node.ctx, ast.Del):
            raise CannotTranslate(f"takes `{name}` out of the notebook")
        if name in self._names.written or name in self._names.given:
            self.reads[name] = None
            return ast.Attribute(ast.Name("submission", ast.Load()), name, node.ctx)
        if name in self._names.imports:
            self.imported[name] = None
        elif not hasattr(builtins, name):
            self.unknown[name] = None
        return node

    def visit_Global(self, node: ast.Global) -> ast.Global:
        raise CannotTranslate(f"changes `{node.names[0]}` in the notebook")

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = _last_name(node.func)
        if called in _ABOUT_CODE and any(names_in(one) & self._names.written for one in node.args):
            raise CannotTranslate(f"looks at the code of an answer, by `{called}`, not at what it does")
        if called in ("globals", "locals", "get_ipython", "eval", "exec"):
            raise CannotTranslate(f"looks into the notebook, by `{called}`")
        return self.generic_visit(node)

    def visit(self, node: ast.AST) -> ast.AST:
        own: set[str] = set()
        if isinstance(node, Definition | ast.Lambda):
            if not isinstance(node, ast.ClassDef):  # defaults are read where the function is defined
                node.args.defaults = [self.visit(one) for one in node.args.defaults]  # type: ignore[misc]
            own = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
            if isinstance(node, Definition):
                own |= {name for one in node.body for name in names_bound_by(one)}
        elif isinstance(node, _COMPREHENSIONS):
            targets = [one.target for one in node.generators]
            own = {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
        self._own.append(own)
        try:
            found: ast.AST = super().visit(node)
        finally:
            self._own.pop()
        return found


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
    return ""


def _remarks(tree: ast.AST, rewriter: _Rewriter) -> Iterator[str]:
    """Sentences about the places that a person must look at."""
    both: dict[str, None] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left, [ast.Eq() | ast.NotEq() | ast.Is()], [right]):
                both |= _shared(left, right)
            case ast.Call(function, [left, right, *_]) if _last_name(function).endswith(_COMPARING):
                both |= _shared(left, right)
    if both:
        yield f"compares two answers of the student with each other ({', '.join(both)}): both may be wrong alike"
    calls = [_last_name(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if read := next((one for one in calls if one in _READING), ""):
        yield f"reads a file (`{read}`): it must lie where the checks run"
    if any("matplotlib" in rewriter._names.imports[one] for one in rewriter.imported):
        yield "looks at a plot: a person sees more of it"
    if given := [one for one in rewriter.reads if one in rewriter._names.given and one in rewriter._names.functions]:
        yield f"calls `{given[0]}` as the student hands it in, who may have changed it"


def _shared(left: ast.expr, right: ast.expr) -> dict[str, None]:
    one, other = (
        [
            node.attr
            for node in ast.walk(side)
            if isinstance(node, ast.Attribute) and names_in(node.value) == {"submission"}
        ]
        for side in (left, right)
    )
    return dict.fromkeys(f"`{name}`" for name in (*one, *other)) if one and other else {}


def written_in(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that statements define or give a value."""
    for one in body:
        if isinstance(one, Definition):
            yield one.name
        else:
            yield from assigned_by(one)


def names_of(cells: Iterable[tuple[int, str]]) -> tuple[NotebookNames, dict[int, list[str]]]:
    """All names of a notebook, and those that students write for each question.

    Args:
        cells: number of the question and code of each cell, with our markers.
    """
    written: dict[int, dict[str, None]] = {}
    given: set[str] = set()
    derived: set[str] = set()
    functions: set[str] = set()
    imports: dict[str, str] = {}
    for question, code in cells:
        spans = list(_parts(code.split("\n")))
        for one in ast.parse(code).body:
            if isinstance(one, Definition):
                functions.add(one.name)
            if isinstance(one, ast.Import | ast.ImportFrom):
                for alias in one.names:
                    imports[(alias.asname or alias.name).partition(".")[0]] = ast.unparse(one)
                continue
            is_written = any(one.lineno <= end and at <= (one.end_lineno or 0) for at, end in spans)
            for name in written_in([one]):
                if is_written:
                    written.setdefault(question, {})[name] = None
                else:
                    given.add(name)
            theirs = derived.union(*written.values())
            if not is_written and not isinstance(one, Definition) and names_in(one) & theirs:
                derived |= set(written_in([one]))
    all_written = frozenset(name for names in written.values() for name in names)
    names = NotebookNames(
        all_written, frozenset(given) - all_written, frozenset(derived), frozenset(functions), imports
    )
    return names, {number: list(found) for number, found in written.items()}


def _parts(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines between our markers, from 1."""
    start = 0
    for number, line in enumerate(lines, start=1):
        if line.strip() == "# solution:":
            start = number
        elif line.strip() == "# end" and start:
            yield start, number
            start = 0
