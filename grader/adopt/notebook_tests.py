"""Writes the tests of a notebook as functions for pytest. Their code stays as it is, and runs nowhere meanwhile.

A function imports the names of the notebook that its test reads from the students' module, and an output that the
test expects becomes an assertion.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType, MappingProxyType
from typing import Final, NamedTuple

from grader.course.source import Definition, assigned_by, first_line, last_name, names_bound_by, names_in
from grader.student.needs import codes_in

_ABOUT_CODE: Final = frozenset({"callable", "signature", "getsource", "getfullargspec"})
"""Functions whose result says nothing about what an answer does: of a stub it is the same."""
_BARE: Final = (ast.Call, ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.List, ast.Dict)
"""Expressions that need no parentheses before ``==``."""


_OF_NUMPY: Final = re.compile(
    r"\bnp\.(?:float|int|str)\w*\(([^()]*)\)|\bnp\.(True|False)_|^array\((\[[^\[\]]*\d[^\[\]]*\])(?:, dtype=\w+)?\)$"
)
"""NumPy's scalars and arrays as newer versions show them; group: the plain value."""
_MARKED: Final = re.compile(r"^[ \t]*# solution:[ \t]*$.*?^[ \t]*# end[ \t]*$", re.M | re.S)
"""A part that students write, with our markers."""
_SAYS_WHETHER: Final = ("isinstance(", "issubclass(", "hasattr(", "all(", "any(", "not ")
"""Beginnings of expressions that are True or False, whatever students write."""


class CannotKeep(Exception):
    """A test that cannot be a function of a suite; its text completes "cell 12: the test …"."""

    @property
    def asks_nothing(self) -> bool:
        """Whether it says nothing about what an answer does."""
        return str(self).startswith(("asks for nothing", "looks at the code"))


class Step(NamedTuple):
    """Some statements of a test, and the result of the last one: the value that is shown, and the prints.

    Without a value (None) nothing is compared with it: the statements make their own assertions. Without prints (None)
    the output holds both, as in a doctest, which may have `flags`. With `at_least`, a number that the last one gives is
    a score, and must be that high.
    """

    code: str
    output: str | None = ""
    printed: str | None = ""
    at_least: float = 0.0
    flags: int = 0


class WrittenTest(NamedTuple):
    """One test as its author wrote it.

    Attributes:
        place: ``cell 12``, or a file and a line.
        says: its sentence, if it has one.
        points: None if they are shared out.
        name: if it has one.
        refused: why it cannot be kept; empty if nothing is known of that yet.
    """

    place: str
    steps: tuple[Step, ...]
    says: str = ""
    points: float | None = None
    is_hidden: bool = False
    name: str = ""
    refused: str = ""


class NotebookNames(NamedTuple):
    """The names of a notebook.

    Attributes:
        written: those that students give a meaning.
        given: those that cells give a meaning which are handed out.
        derived: those of the given ones whose value depends on students' code, such as ``nine = square(3)``.
        imports: the statement that imports a name, by the name; one that imports all of a module, by itself.
        counting: variables that a function may change (``global``).
    """

    written: frozenset[str]
    given: frozenset[str]
    derived: frozenset[str]
    imports: Mapping[str, str]
    counting: frozenset[str] = frozenset()


class EarlierStatement(NamedTuple):
    """A statement of a test that later ones may need.

    Attributes:
        binds: the names that it imports, defines or gives a value.
        mentions: names of variables that it may change; none if it only imports or defines.
    """

    text: str
    binds: frozenset[str]
    mentions: frozenset[str]


class SuiteFunction(NamedTuple):
    """A test as a function of a suite.

    Attributes:
        text: without its decorators.
        code: what it runs of the notebook's.
        reads: the names of the notebook that it imports, in order.
        imports: the notebook's imports that it needs.
    """

    text: str
    code: str
    reads: tuple[str, ...]
    imports: tuple[str, ...]


def function_of(
    test: WrittenTest,
    name: str,
    module: str,
    names: NotebookNames,
    earlier: Sequence[Sequence[EarlierStatement]],
    kept: Mapping[str, str] = MappingProxyType({}),
) -> SuiteFunction:
    """The function that runs a test.

    Args:
        module: of the students.
        earlier: the statements of the tests before it, in order: those that it needs come first.
        kept: the names under which values are kept that later cells change, by their own.

    Raises:
        CannotKeep: it is not Python, asks for nothing that students write, or looks at their code alone.
    """
    if test.refused:
        raise CannotKeep(test.refused)
    try:
        code = "\n".join(map(_with_assertions, test.steps)).strip("\n")
        code += "".join(_calls_of_own_functions(code, names))
        code = _with_earlier(code, names, earlier)
        before, code = code, _with_tables_of_names(code, names)
        if free_names(before).isdisjoint(names.written | names.derived):
            only = "but whether a name is there" if code != before else "that students write"
            raise CannotKeep(f"asks for nothing {only}")
        if "__name__" in names_in(ast.parse(code)):
            code = f'__name__ = "__main__"\n{_without_docstring(code)}'  # as in a notebook
        free = free_names(code)
        reads = _in_order(free & (names.written | names.given), code)
        nodes = list(ast.walk(ast.parse(code)))
        looks = [one for one in nodes if isinstance(one, ast.Call) and last_name(one.func) in _ABOUT_CODE]
        inside = {id(part) for one in looks for part in ast.walk(one)}
        asked = {id(one) for one in nodes if isinstance(one, ast.Name) and one.id in names.written | names.derived}
        if looks and asked <= inside:
            called = last_name(looks[0].func)
            raise CannotKeep(f"looks at the code of an answer, by `{called}`, not at what it does")
        says = test.says.replace("\\", "/").replace('"', "'")
        imported = [f"{kept[one]} as {one}" if one in kept else one for one in reads]
        again = _reading_again(_without_docstring(code), module, names.counting & set(reads) - kept.keys())
        body = f'"""{says}"""\nfrom {module} import {", ".join(imported)}\n{again}'
        text = f"def {name}({'capsys' if 'capsys' in free else ''}):\n{indented(body)}\n"
        compile(text, "<test>", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise CannotKeep(f"is not Python alone ({error.msg})") from None
    imports = tuple(line for name, line in names.imports.items() if name in free or name == line)
    return SuiteFunction(text, code, tuple(reads), imports)


def _reading_again(code: str, module: str, names: Iterable[str]) -> str:
    """Code that reads variables of the students' module anew before each statement, as functions may change them."""
    lines = code.split("\n")
    for one in reversed(ast.parse(code).body if names else []):
        lines.insert(first_line(one) - 1, f"from {module} import {', '.join(sorted(names))}")
    return "\n".join(lines)


def earlier_statements(test: WrittenTest) -> list[EarlierStatement]:
    """The statements of a test that later ones may need; none if it is not Python: `function_of` says so."""
    found: list[EarlierStatement] = []
    with contextlib.suppress(SyntaxError):
        code = "\n".join(step.code for step in test.steps)
        lines = code.split("\n")
        for one in ast.parse(code).body:
            is_quiet = isinstance(one, ast.Import | ast.ImportFrom | Definition)
            text = ast.get_source_segment(code, one) or ""
            text = "\n".join([*lines[first_line(one) - 1 : one.lineno - 1], text])  # with its decorators
            mentions = frozenset[str]() if is_quiet else frozenset(names_in(one))
            found.append(EarlierStatement(text, frozenset(names_bound_by(one)), mentions))
    return found


def free_names(code: str) -> set[str]:
    """The names that code reads and does not define itself before.

    Raises:
        SyntaxError: it is not Python.
    """
    top, *inner = codes_in(compile(code, "<test>", "exec", dont_inherit=True))
    bound = _operands(top, "STORE_NAME")
    read = _operands(top, "LOAD_NAME")
    for one in inner:
        read |= _operands(one, "LOAD_GLOBAL") | (_operands(one, "LOAD_NAME") - _operands(one, "STORE_NAME"))
    body = ast.parse(code).body
    return (read - bound) | {name for name in bound if _is_read_first(name, body)}


def _operands(code: CodeType, operation: str) -> set[str]:
    """The names that an operation has in code itself. (A symbol table has names of comprehensions in some Pythons.)"""
    return {str(one.argval) for one in dis.get_instructions(code) if one.opname == operation}


def _is_read_first(name: str, body: Iterable[ast.stmt]) -> bool:
    """Whether statements read or delete a name before they give it a value."""
    for one in _without_try(body):
        found = [node.ctx for node in ast.walk(one) if isinstance(node, ast.Name) and node.id == name]
        if found or name in names_bound_by(one):
            return not isinstance(one, ast.For | ast.With) and any(not isinstance(ctx, ast.Store) for ctx in found)
    return False


def _without_try(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements, with those inside of `try` in its place."""
    for one in body:
        if isinstance(one, ast.Try):
            handlers = [inner for handler in one.handlers for inner in handler.body]
            yield from _without_try([*one.body, *handlers, *one.orelse, *one.finalbody])
        else:
            yield one


def _in_order(names: Iterable[str], code: str) -> list[str]:
    return sorted(names, key=lambda name: (found.start() if (found := re.search(rf"\b{name}\b", code)) else 0, name))


def _calls_of_own_functions(code: str, names: NotebookNames) -> Iterator[str]:
    """Calls of the functions ``test_...(square, x)`` that a test consists of, as otter calls them.

    If a test is one function, that may have any name.
    """
    body = ast.parse(code).body
    is_alone = sum(not isinstance(one, ast.Expr) for one in body) == 1
    for one in body:
        if not isinstance(one, ast.FunctionDef) or not (one.name.startswith("test") or is_alone):
            continue
        if not any(one.name in names_in(other) for other in body if other is not one):
            wanted = [each.arg for each in one.args.args]
            if "env" in wanted:
                yield f"\nenv = {_table_of_names(code, names)}"
            yield f"\n{one.name}({', '.join(wanted)})"


def _table_of_names(code: str, names: NotebookNames) -> str:
    """A dict of the names of the notebook that code has as texts."""
    said = [name for name in sorted(names.written | names.given) if re.search(f"[\"']{name}[\"']", code)]
    return "dict(" + ", ".join(f"{name}={name}" for name in said) + ")"


def _with_tables_of_names(code: str, names: NotebookNames) -> str:
    """Code in which ``'x' in globals()`` asks for the names of the notebook: a test asks whether they are there."""
    asked = sorted(set(re.findall(r"\b(globals|locals|vars|dir)\(\)", code)))
    if not asked or (table := _table_of_names(code, names)) == "dict()":
        return code
    return f"{' = '.join(asked)} = lambda: {table}\n{_without_docstring(code)}"


def _with_earlier(code: str, names: NotebookNames, earlier: Sequence[Sequence[EarlierStatement]]) -> str:
    """Code below the statements of earlier tests that it needs: each test's up to the first failure, as in Jupyter."""
    known = names.written | names.given | names.imports.keys()
    bound = {name for test in earlier for one in test for name in one.binds}
    variables = {name for test in earlier for one in test if one.mentions for name in one.binds}
    for test in reversed(earlier):
        found: list[EarlierStatement] = []
        needed = (free_names(code) - known) & bound
        for one in reversed(test):
            if needed & (one.binds | (one.mentions & variables)):
                found.insert(0, one)
                needed = (free_names("\n".join([*(each.text for each in found), code])) - known) & bound
        text = "\n".join(one.text for one in found)
        if any(one.mentions for one in found):
            text = f"try:\n{indented(text)}\nexcept Exception:\n    pass"
        code = "\n".join(filter(None, [text, code]))
    return code


def _with_assertions(step: Step) -> str:
    """The code of a step; if it expects an output, with an assertion about it."""
    body, code = ast.parse(step.code).body, step.code
    if step.output is None and not step.at_least:
        return code
    if body and isinstance(last := body[-1], ast.Expr):
        lines = code.encode().split(b"\n")
        before = b"\n".join([*lines[: last.lineno - 1], lines[last.lineno - 1][: last.col_offset].rstrip(b"; ")])
        value = ast.get_source_segment(code, last) or ""
        if step.output is None:
            least = f"assert not isinstance(_score, int | float) or _score >= {step.at_least:g}"
            return f"{before.decode().strip(chr(10))}\n_score = {value}\n{least}"
        if not step.output.strip() and not step.printed and not isinstance(last.value, ast.Call | ast.Constant):
            raise CannotKeep(
                "shows a value, but its output is not in the notebook: run all cells, save it and adopt it"
            )
        code = "\n".join(filter(None, [before.decode().strip("\n"), _about_value(value, last.value, step)]))
    if step.printed:
        code += f"\n{_about_text('capsys.readouterr().out', step.printed, step.flags)}"
    return code


def _about_text(given: str, expected: str, flags: int) -> str:
    """A statement that compares a text, as doctest does it if that is not the same."""
    if flags or "<BLANKLINE>" in expected:
        return f"import doctest\nassert doctest.OutputChecker().check_output({expected!r}, {given}, {flags})"
    return f"assert {given}.strip() == {expected.strip()!r}"


def _about_value(text: str, value: ast.expr, step: Step) -> str:
    """A statement that compares a value with the output that shows it."""
    expected = (step.output or "").strip("\n")
    if not expected.strip():
        return text
    bare = text if isinstance(value, _BARE) else f"({text})"
    plain = _OF_NUMPY.sub(lambda found: found[1] or found[2] or found[3], expected)
    try:
        wanted = ast.literal_eval(plain.strip() if not step.flags else "")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        if step.printed is not None:
            return f"assert repr({bare}) == {expected!r}"
        shown = "capsys.readouterr().out + ('' if found is None else f'{found!r}\\n')"
        return f"found = {text}\nshown = {shown}\n{_about_text('shown', step.output or '', step.flags)}"
    if wanted is True and (isinstance(value, ast.Compare) or text.startswith(_SAYS_WHETHER)):
        return f"assert ({text})" if "\n" in text else f"assert {text}"
    flat = wanted if isinstance(wanted, list | tuple) else [wanted]
    are_numbers = all(isinstance(one, int | float) for one in flat)
    is_near = are_numbers and any(isinstance(one, float) for one in flat)
    if expected.startswith("array("):
        return f"found = {text}\nassert type(found).__name__ == 'ndarray'\nassert found == pytest.approx({wanted!r})"
    return f"assert {bare} == " + (f"pytest.approx({wanted!r})" if is_near else repr(wanted))


def _without_docstring(code: str) -> str:
    tree = ast.parse(code)
    has_docstring = ast.get_docstring(tree) is not None
    return "\n".join(code.split("\n")[tree.body[0].end_lineno if has_docstring else 0 :])


def indented(code: str) -> str:
    """Code one step further in; lines inside of a text stay as they are."""
    texts = (one for one in ast.walk(ast.parse(code)) if isinstance(one, ast.Constant | ast.JoinedStr))
    inside = {number for one in texts for number in range(one.lineno + 1, (one.end_lineno or 0) + 1)}
    lines = enumerate(code.split("\n"), start=1)
    return "\n".join(line if number in inside or not line.strip() else f"    {line}" for number, line in lines)


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
    imports: dict[str, str] = {}
    counting: set[str] = set()
    needs: dict[str, set[str]] = {}  # of the functions that are given, which names they read when they are called
    for question, code in cells:
        marked = list(_MARKED.finditer(code))
        spans = [(code.count("\n", 0, one.start()) + 1, code.count("\n", 0, one.end()) + 1) for one in marked]
        for one in ast.parse(code).body:
            reads, changed = names_in(one), set(_changed_in(one))
            if isinstance(one, Definition):
                in_globals = (node.names for node in ast.walk(one) if isinstance(node, ast.Global))
                reads = free_names(ast.unparse(one)).union(*in_globals)
                counting |= reads & changed
                changed = set()
            if isinstance(one, ast.Import | ast.ImportFrom):
                line = ast.unparse(one)
                imports |= {line if name == "*" else name: line for name in names_bound_by(one)}
            elif any(one.lineno <= end and at <= (one.end_lineno or 0) for at, end in spans):
                known = sorted(changed & given.union(*written.values()))
                written.setdefault(question, {}).update(dict.fromkeys([*written_in([one]), *known]))
            else:
                given |= set(written_in([one]))
                needs |= {one.name: reads} if isinstance(one, Definition) else {}
                if reads & derived.union(*written.values()):
                    derived |= {*written_in([one]), *changed_parts(one)}
    all_written = frozenset(name for names in written.values() for name in names)
    while late := {name for name, reads in needs.items() if reads & (derived | all_written)} - derived:
        derived |= late
    own = frozenset(given) - all_written
    names = NotebookNames(all_written, own, frozenset(derived), imports, frozenset(counting))
    return names, {number: list(found) for number, found in written.items()}


def _changed_in(node: ast.AST) -> Iterator[str]:
    """The variables that code may change: ``global x``, ``base["b"] = 2``, ``numbers.append(4)``."""
    for one in ast.walk(node):
        match one:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name)))):
                yield name
            case ast.Global(names):
                yield from names
    yield from changed_parts(node)


def changed_parts(node: ast.AST) -> Iterator[str]:
    """The variables of which code gives a part another value: ``base["b"] = 2``."""
    for one in ast.walk(node):
        match one:
            case ast.Subscript(value, _, ast.Store()) | ast.Attribute(value, _, ast.Store()):
                yield from names_in(value)
