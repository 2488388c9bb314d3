"""Keeps answers out of all that a course hands out: what lies in ``checks/reference/``, and what needs it.

Helpers of checks that know answers, such as a reference implementation, have that folder of their own; checks import
them: ``from checks.reference.attention import attend``. Students do not get the checks that use it or its files; if an
exercise has no other, its checks skip themselves there. Reads source, and never runs a line of it.
"""

import ast
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from grader.course.model import Course, checking_files, files_to_begin_with, lesson_files
from grader.course.source import Definition, Function, decorator, first_line, names_bound_by, names_in
from grader.course.suite_tests import without_hidden

_FOLDER: Final = "reference"
_REFERENCE: Final = f"checks.{_FOLDER}"
"""The folder in ``checks/`` that is never handed out, as a module."""
_PATH: Final = re.compile(rf"^(?:\S*/)?{_FOLDER}/\S*$")
"""A text that is the path of a file in it."""
_CONFTEST: Final = "conftest.py"
_SKIP: Final = """
def {name}(submission):
    import pytest
    pytest.skip("it needs the course's reference, so it is checked when your work is graded")
"""
_FEWEST_NODES: Final = 25
"""Nodes of the syntax tree of a function that is more than a coincidence when it is written twice."""


def handed_out(course: Course) -> Iterator[tuple[str, bytes]]:
    """Path and content of all that a course hands out: manifest, stubs, lessons, checks, kit.

    No answer, and no check with ``hidden="all"``.
    """
    for name, file in (*files_to_begin_with(course), *lesson_files(course)):
        yield name, file.read_bytes()
    if course.suite is not None:
        for name, file in checking_files(course):
            data = file.read_bytes()
            inside = name.partition("/")[2]
            yield name, without_hidden(data, inside, course.groups) if file.suffix == ".py" else data
        return
    answers = modules_with_answers(course.checks_dir.glob("*.py"))
    shared = course.checks_dir / _CONFTEST
    check_files = [course.check_file(topic.name) for topic in course.modules]
    cut = without_answers(
        [file.read_bytes() for file in check_files], answers, shared.read_bytes() if shared.is_file() else b""
    )
    contents = dict(zip([*check_files, shared], cut, strict=True))
    for name, file in checking_files(course):
        if not _is_of(".".join(Path(name).with_suffix("").parts), answers):
            yield name, contents.get(file) or file.read_bytes()


def files_that_students_read(course: Course, topic: str) -> list[Path]:
    """The Python files of a course beside the stubs that a student gets for a topic: its checks, helpers, the kit."""
    if course.suite is not None:
        return sorted(course.checks_dir.rglob("*.py"))
    beside = [one for one in sorted(course.checks_dir.glob("*.py")) if not one.stem.startswith("test_")]
    return [course.check_file(topic), *beside, *(course.kit.files if course.kit else ())]


def modules_with_answers(files: Iterable[Path]) -> set[str]:
    """The modules that know answers, of the Python files in ``checks/``: the reference, and helpers that import it."""
    found = {_REFERENCE}
    helpers = {one for one in files if not one.stem.startswith("test_") and one.name != _CONFTEST}
    trees = {f"checks.{one.stem}": ast.parse(one.read_bytes()) for one in helpers}
    while more := {name for name, tree in trees.items() if name not in found and _needs(tree, found)}:
        found |= more
    return found


def without_answers(contents: Sequence[bytes], modules: set[str], conftest: bytes = b"") -> list[bytes]:
    """Files of checks as students get them, and then `conftest`.

    Checks that are hidden from students are left out, and what uses a module with answers. So is what only those need,
    such as an expected value above them. The checks of an exercise that has no other stay, but do nothing but skip
    themselves.

    Args:
        modules: those that know answers.
        conftest: the fixtures that all of these files share.
    """
    shared = ast.parse(conftest).body
    lost, fixtures = _users(shared, modules)
    trees = [ast.parse(content).body for content in contents]
    users = [_users([one for one in tree if not _is_secret(one)], modules, fixtures)[0] for tree in trees]
    left_out = [{*found, *filter(_is_secret, tree)} for found, tree in zip(users, trees, strict=True)]
    for tree, nodes in zip(trees, left_out, strict=True):
        nodes |= _only_for(nodes, tree, [])
    kept = [one for tree, nodes in zip(trees, left_out, strict=True) for one in tree if one not in nodes]
    lost |= _only_for({*lost, *itertools.chain(*left_out)}, shared, kept)
    made = []
    for content, tree, nodes, found in zip(contents, trees, left_out, users, strict=True):
        others = {_exercise_of(one) for one in tree if one not in nodes}
        skipping = {one: _skipping(one) for one in found if _exercise_of(one) not in others}
        made.append(_without(content, nodes, skipping))
    return [*made, _without(conftest, lost, {})]


def _users(tree: Iterable[ast.stmt], modules: set[str], fixtures: Iterable[str] = ()) -> tuple[set[ast.stmt], set[str]]:
    """The statements of a file that need one of these modules or fixtures, and the fixtures among what they define."""
    users: set[ast.stmt] = set()
    names: set[str] = set()
    requested = {*fixtures}
    while more := {
        one
        for one in tree
        if one not in users and (_needs(one, modules) or names_in(one) & names or _requests(one) & requested)
    }:
        users |= more
        names |= {name for node in more for name in names_bound_by(node)}
        requested |= {name for node in more for name in _fixtures_of(node)}
    return users, requested


def _only_for(left_out: set[ast.stmt], tree: Sequence[ast.stmt], others: Iterable[ast.stmt]) -> set[ast.stmt]:
    """The helpers in a file that the parts which are left out need, and nothing else of the file or of `others`."""
    found: set[ast.stmt] = set()

    def mentioned(nodes: Iterable[ast.stmt]) -> set[str]:
        return {name for node in nodes for name in names_in(node) | _requests(node)}

    while more := {
        one
        for one in tree
        if isinstance(one, Definition | ast.Assign | ast.AnnAssign)
        and one not in left_out | found
        and not _exercise_of(one)
        and (names := names_bound_by(one) | {*_fixtures_of(one)}) & mentioned(left_out | found)
        and not names & mentioned([*others, *(node for node in tree if node not in left_out | found | {one})])
    }:
        found |= more
    return found


def _without(content: bytes, left_out: Collection[ast.stmt], instead: Mapping[ast.stmt, str]) -> bytes:
    """A file without some statements and the comments above them, and with others in their place."""
    lines = content.splitlines(keepends=True)
    for node in sorted(left_out, key=lambda one: one.lineno, reverse=True):
        start = first_line(node) - 1
        while start and lines[start - 1].startswith(b"#") and b"# ---" not in lines[start - 1]:
            start -= 1
        lines[start : node.end_lineno] = [instead[node].encode()] if instead.get(node) else []
    return b"".join(lines)


def given_away(
    topic: str, solution: bytes, stub: bytes, handed_out: Mapping[Path, bytes]
) -> Iterator[tuple[Path, int, str, str]]:
    """The functions of files that are handed out which are equal to functions of a solution, except for names.

    Args:
        stub: what students get of the solution: its functions are no answers.
        handed_out: Python files, and their content.

    Returns:
        File, line and name of each, and the full name of the solution's.
    """
    known = {_shape(one): f"{topic}.{one.name}" for one in _functions(solution)}
    for shape in ["", *map(_shape, _functions(stub))]:
        known.pop(shape, None)
    for file, content in handed_out.items():
        for function in _functions(content):
            if of := known.get(_shape(function)):
                yield file, function.lineno, function.name, of


def _is_secret(node: ast.stmt) -> bool:
    call = decorator(node, "exercise")
    return call is not None and any(one.arg == "hidden" and ast.unparse(one.value) == "'all'" for one in call.keywords)


def _exercise_of(node: ast.stmt) -> str:
    """The exercise that a statement is a check of, as it is written; empty if it is none."""
    call = decorator(node, "exercise")
    return ast.unparse(call.args[0]) if call and call.args else ""


def _skipping(check: ast.stmt) -> str:
    """A check with the same name, exercise and sentence that skips itself; empty if the statement is no check."""
    call = decorator(check, "exercise")
    if call is None or not isinstance(check, ast.FunctionDef):
        return ""
    (made,) = ast.parse(_SKIP.format(name=check.name)).body
    assert isinstance(made, ast.FunctionDef)
    made.decorator_list = [call]
    made.body[:0] = check.body[:1] if ast.get_docstring(check) is not None else []
    return f"{ast.unparse(made)}\n"


def _fixtures_of(node: ast.stmt) -> Iterator[str]:
    """The fixtures that a statement defines, or may import."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from names_bound_by(node)
    for one in node.decorator_list if isinstance(node, Function) else ():
        if "fixture" in ast.unparse(one):
            named = [key.value for key in one.keywords if key.arg == "name"] if isinstance(one, ast.Call) else []
            yield from (one.value for one in named if isinstance(one, ast.Constant) and isinstance(one.value, str))
            yield from names_bound_by(node)


def _requests(node: ast.stmt) -> set[str]:
    """The fixtures that a statement may ask for: its parameters, and texts, as in ``usefixtures``."""
    nodes = list(ast.walk(node))
    texts = {one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return texts | {one.arg for one in nodes if isinstance(one, ast.arg)}


def _needs(tree: ast.AST, modules: set[str]) -> bool:
    """Whether something in a tree imports one of these modules, or something of them, or reads a file beside them."""
    imported: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                imported += [one.name for one in names]
            case ast.ImportFrom(module, names):
                imported += [f"{module}.{one.name}" for one in names]
            case ast.BinOp(op=ast.Div(), right=ast.Constant(str(part))):  # Path(__file__).parent / "reference"
                imported += [_REFERENCE] if part == _FOLDER else []
            case ast.Call(ast.Attribute(attr="join" | "joinpath"), args):  # os.path.join(HERE, "reference")
                imported += [_REFERENCE for one in args if isinstance(one, ast.Constant) and one.value == _FOLDER]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _PATH.search(node.value):
            imported.append(_REFERENCE)
    return any(_is_of(name, modules) for name in imported)


def _is_of(name: str, modules: set[str]) -> bool:
    return any(f"{name}.".startswith(f"{one}.") for one in modules)


def _functions(source: bytes) -> Iterator[Function]:
    return (node for node in ast.walk(ast.parse(source)) if isinstance(node, Function))


def _shape(function: Function) -> str:
    """The code of a function without its names; empty for one that is too short to tell."""
    body = ast.Module(function.body[1:] if ast.get_docstring(function) is not None else function.body, [])
    nodes = list(ast.walk(body))
    if len(nodes) < _FEWEST_NODES:
        return ""
    arguments = [one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)]
    stored = [one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    numbers = {name: f"_{number}" for number, name in enumerate(dict.fromkeys([*arguments, *stored]))}
    return re.sub(
        r"(Name\(id=|arg\(arg=)'(\w+)'", lambda found: found[1] + numbers.get(found[2], found[2]), ast.dump(body)
    )
