"""Puts the markers of `stubs.py` into a solution that somebody wrote without them.

Each function keeps its signature and docstring in the stub, each class its attributes and its methods' signatures. What
only the solution needs is left out. Never changes the solution's behaviour.
"""

import ast
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from grader.course.source import Definition, Function, first_line, names_bound_by, names_in, parse

_Mark = tuple[int, int, int]
"""First line and last line of a part, from 1, and its column."""


def with_markers(source: str, file: Path, wanted: Collection[str], absent: Collection[str]) -> tuple[str, list[str]]:
    """The solution with markers round everything that its stub must not have.

    Args:
        file: for messages.
        wanted: the functions and classes that students write. Other private ones are left out, unless the stub uses
            them.
        absent: the packages and modules of the solution that students do not get.

    Returns:
        The text, and the functions that stand whole in its stub, because they decorate others.

    Raises:
        CourseError: it is not Python.
    """
    source = _with_bodies_below(source, file)
    tree, lines = parse(file, source), source.split("\n")
    definitions = {node.name: node for node in tree.body if isinstance(node, Definition)}
    whole = [name for name in definitions if name in names_in(*_decorators(tree))]
    helpers = {name for name in definitions if _is_private(name) and name not in (*wanted, *whole)}
    missing = {name for node in tree.body if _imports(node, absent) for name in names_bound_by(node)}
    while True:
        left_out = [node for node in tree.body if _is_left_out(node, helpers, missing, set(definitions) - set(whole))]
        kept = [node for node in tree.body if node not in left_out]
        used = helpers & names_in(*_shown(kept, whole))
        if not used:
            break
        helpers -= used
    marks: list[_Mark] = [(first_line(node), node.end_lineno or node.lineno, node.col_offset) for node in left_out]
    for node in kept:
        if isinstance(node, Definition) and node.name not in whole:
            marks += _inside(node, lines)
    for start, end, column in sorted(marks, reverse=True):
        lines.insert(end, " " * column + "# end")
        lines.insert(start - 1, " " * column + "# solution:")
    return "\n".join(lines), whole


def _is_left_out(node: ast.stmt, helpers: set[str], missing: set[str], unwritten: set[str]) -> bool:
    """Whether a statement at the top level would fail in a stub, or shows how the solution is used.

    Args:
        missing: names that only the solution has.
        unwritten: functions and classes that raise in a stub when they are called.
    """
    if isinstance(node, Definition):
        return node.name in helpers
    if missing.intersection(names_bound_by(node)) and isinstance(node, ast.Import | ast.ImportFrom):
        return True
    called = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
    uses = (missing | helpers).intersection(names_in(node)) or unwritten.intersection(names_in(*called))
    return bool(uses) or (isinstance(node, ast.If) and "__name__" in names_in(node.test))


def _imports(node: ast.stmt, absent: Collection[str]) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").partition(".")[0] in absent
    return isinstance(node, ast.Import) and any(one.name.partition(".")[0] in absent for one in node.names)


def _shown(nodes: Iterable[ast.stmt], whole: Collection[str]) -> Iterator[ast.AST]:
    """The parts of statements that a stub has."""
    for node in nodes:
        if isinstance(node, Function) and node.name not in whole:
            yield from (node.args, *node.decorator_list, *filter(None, [node.returns]))
        elif isinstance(node, ast.ClassDef) and node.name not in whole:
            yield from (*node.bases, *node.keywords, *node.decorator_list)
            yield from _shown(node.body, ())
        else:
            yield node


def _decorators(tree: ast.Module) -> Iterator[ast.AST]:
    """The code that runs when the functions and classes of a module are defined: decorators and metaclasses."""
    for node in ast.walk(tree):
        if isinstance(node, Definition):
            yield from node.decorator_list
        if isinstance(node, ast.ClassDef):
            yield from node.keywords


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _inside(node: Definition, lines: list[str]) -> Iterator[_Mark]:
    """The parts of a function or class that students write."""
    if isinstance(node, Function):
        has_docstring = ast.get_docstring(node) is not None
        body = node.body[has_docstring:]
        if body:
            start = first_line(body[0])
            while lines[start - 2].lstrip().startswith("#"):
                start -= 1  # comments above the first statement are part of the answer
            yield start, _last_line(node, lines), node.body[0].col_offset
        return
    methods: list[Function] = []
    for one in [*node.body, None]:
        if isinstance(one, Function):
            methods.append(one)
            continue
        if any(not _is_private(method.name) for method in methods):
            yield first_line(methods[0]), _last_line(methods[-1], lines), methods[0].col_offset
        else:
            for method in methods:
                yield from _inside(method, lines)
        methods = []
        if isinstance(one, ast.ClassDef):
            yield from _inside(one, lines)


def _last_line(node: Function, lines: list[str]) -> int:
    """The last line of a function with the comments at its end."""
    end = node.end_lineno or node.lineno
    column = node.body[0].col_offset
    for number in range(end + 1, len(lines) + 1):
        text = lines[number - 1]
        if text.strip() and not (text.lstrip().startswith("#") and len(text) - len(text.lstrip()) >= column):
            break
        end = number if text.strip() else end
    return end


def _with_bodies_below(source: str, file: Path) -> str:
    """The text with each ``def f(): return 1`` on two lines."""
    lines = source.split("\n")
    for node in sorted(ast.walk(parse(file, source)), key=lambda one: getattr(one, "lineno", 0), reverse=True):
        if not isinstance(node, Function):
            continue
        first = node.body[0]
        head = lines[first.lineno - 1].encode()[: first.col_offset].decode()
        if head.strip():
            rest = lines[first.lineno - 1][len(head) :]
            lines[first.lineno - 1 : first.lineno] = [head.rstrip(), " " * (node.col_offset + 4) + rest]
    return "\n".join(lines)
