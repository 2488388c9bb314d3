"""Finds checks and misconceptions by reading source, so that a course is listed without importing torch or pytest.

Never runs a line of the files that it reads.
"""

import ast
import functools
import math
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import msgspec

from grader.course.tables import Topic, full_name
from grader.errors import CourseError

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


class CheckInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One check as written: ``exercise`` is the full name, ``function`` the test's name, ``line`` that of its ``def``.

    Attributes:
        hidden: whether a failure keeps back the expected value.
        is_secret: whether students see neither its name nor its docstring.
        points: its weight among the checks of its exercise; None: 1.
        bonus: the points above the exercise's that it gives; 0 for a check that is part of the exercise.
        file: its file below the folder of the suite; empty outside of suites.
    """

    exercise: str
    function: str
    line: int
    docstring: str
    hidden: bool
    is_secret: bool
    points: float | None = None
    bonus: float = 0.0
    file: str = ""


class Misconception(msgspec.Struct, frozen=True):
    """A named, classic wrong answer: ``exercise`` is the full name, ``function`` the name to import from the module,
    ``part`` the name in the topic's module that it takes the place of, ``seen`` the matcher that finds it in code."""

    name: str
    exercise: str
    tell: str
    topic: str
    function: str
    part: str
    line: int
    seen: str = ""


class _Decorated(msgspec.Struct, frozen=True):
    """A definition with a decorator that names an exercise, such as ``@exercise("vectors.cosine", hidden=True)``."""

    file: Path
    node: Definition
    line: int
    target: str
    """The exercise as it is written."""
    exercise: str
    """Its full name."""
    options: dict[str, object]

    def error(self, message: str, line: int = 0) -> CourseError:
        return CourseError(self.file, line or self.line, message)

    def points(self, name: str) -> float | None:
        """Takes an option that is a number, of points or of seconds; None if it is not there."""
        value = self.options.pop(name, None)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise self.error(f"{name} must be a number that is not below 0, not {value!r}")
        return float(value)


def parse(file: Path, content: bytes | str | None = None) -> ast.Module:
    """The syntax tree of `file`, or of a `content` that it has or shall have.

    Raises:
        CourseError: if it is missing or is not Python.
    """
    try:
        return _parsed(file.read_bytes() if content is None else content, file)
    except FileNotFoundError:
        raise CourseError(file, None, "there is no such file") from None
    except SyntaxError as error:
        raise CourseError(file, error.lineno, f"not valid Python: {error.msg}") from None


@functools.lru_cache(maxsize=32)
def _parsed(content: bytes | str, file: Path) -> ast.Module:
    """The tree of a file that is read more than once: for its checks and for its pictures."""
    return ast.parse(content, filename=str(file))


def checks_in(file: Path, topic: Topic) -> tuple[CheckInfo, ...]:
    """The checks in a topic's file of checks, in order.

    Raises:
        CourseError: if the file is missing, or holds a test that belongs to no exercise of the topic, or that is not
            at the top of the file.
    """
    return _checks_in(parse(file), file, topic)


@functools.lru_cache(maxsize=32)
def _checks_in(tree: ast.Module, file: Path, topic: Topic) -> tuple[CheckInfo, ...]:
    for node in tree.body:
        if isinstance(node, Function) and node.name.startswith("test_") and decorator(node, "exercise") is None:
            raise CourseError(file, node.lineno, f'`{node.name}` has no @exercise("{topic.name}.NAME")')
        if (inner := next(_tests_inside(node), None)) is not None:
            where = f"class `{node.name}`" if isinstance(node, ast.ClassDef) else "another statement"
            message = f"`{inner.name}` is inside {where}, where no check is found"
            raise CourseError(file, inner.lineno, f"{message}: make it a function at the top of the file")
    found: dict[str, CheckInfo] = {}
    for one in _decorated(file, topic, "exercise"):
        name, line, options = one.node.name, one.node.lineno, one.options
        hidden, may_change = options.pop("hidden", False), options.pop("may_change", False)
        points, bonus, when = one.points("points"), one.points("bonus") or 0.0, options.pop("when", "")
        one.points("seconds")
        is_hidden_right = isinstance(hidden, bool) or hidden == "all"
        if options or not is_hidden_right or not isinstance(may_change, bool) or not isinstance(when, str):
            known = 'hidden=True or "all", may_change=True, points=, bonus=, when="", seconds='
            raise one.error(f"@exercise takes one name, and {known}")
        if bonus and points is not None:
            raise one.error("a check has points of the exercise or a bonus beside them, not both")
        if not name.startswith("test_"):
            raise one.error(f"`{name}` is not collected: a check's name begins with test_", line)
        if name in found:
            raise one.error(f"`{name}` is defined twice, so the first one never runs", line)
        found[name] = CheckInfo(
            exercise=one.exercise,
            function=name,
            line=line,
            docstring=ast.get_docstring(one.node) or "",
            hidden=bool(hidden),
            is_secret=hidden == "all",
            points=points,
            bonus=bonus,
        )
    return tuple(found.values())


def pictured_in(file: Path, topic: Topic) -> set[str]:
    """The exercises (full names) that have pictures in a topic's file of checks.

    Raises:
        CourseError: if the file is missing, or a picture belongs to no exercise of the topic.
    """
    found = set()
    for one in _decorated(file, topic, "picture"):
        if list(one.options) != ["title"] or not isinstance(one.options["title"], str):
            raise one.error('@picture takes an exercise and title="..."')
        found.add(one.exercise)
    return found


def misconceptions_in(file: Path, topic: Topic) -> tuple[Misconception, ...]:
    """The wrong answers in a topic's file of misconceptions, in order; none if there is no such file.

    Raises:
        CourseError: if a decorator's arguments are not literals, its exercise is unknown, or two have one name.
    """
    found: list[Misconception] = []
    for one in _decorated(file, topic, "misconception") if file.is_file() else ():
        function, line, options = one.node.name, one.node.lineno, one.options
        texts = {"tell": "", "name": function, "part": one.target, "seen": ""} | options
        tell, name, part, seen = (text if isinstance(text, str) else "" for text in texts.values())
        if len(texts) > 4 or not (tell.strip() and name and part and isinstance(texts["seen"], str)):
            raise one.error(
                '@misconception takes an exercise, tell="..." and perhaps name="...", part="...", seen="..."'
            )
        if any(other.name == name or other.function == function for other in found):
            raise one.error(f"a second misconception called `{name}` in this topic", line)
        found.append(Misconception(name, one.exercise, tell, topic.name, function, part, line, seen))
    return tuple(found)


def _tests_inside(node: ast.stmt | ast.excepthandler) -> Iterator[Function]:
    """The tests in a class, or below an ``if`` or the like: nothing that reads checks would find them."""
    if isinstance(node, Function):
        return
    bases = [ast.unparse(one) for one in node.bases] if isinstance(node, ast.ClassDef) else []
    holds_tests = not isinstance(node, ast.ClassDef) or node.name.startswith("Test") or "TestCase" in "".join(bases)
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, Function):
            if decorator(inner, "exercise") or (holds_tests and inner.name.startswith("test_")):
                yield inner
        elif isinstance(inner, ast.stmt | ast.excepthandler):
            yield from _tests_inside(inner)


def decorator(node: ast.stmt, name: str) -> ast.Call | None:
    """The decorator of a definition that is a call of `name`, with or without a module before it."""
    for one in node.decorator_list if isinstance(node, Definition) else ():
        if isinstance(one, ast.Call) and last_name(one.func) == name:
            return one
    return None


def last_name(function: ast.expr) -> str:
    """The name of a function or class, without the module before it; empty for another expression."""
    return getattr(function, "id", "") or getattr(function, "attr", "")


def first_line(statement: ast.stmt) -> int:
    """The line of a statement, or that of its first decorator."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def names_bound_by(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module imports, defines or assigns."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name).partition(".")[0] for one in statement.names}
    if isinstance(statement, Definition):
        return {statement.name}
    return {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def assigned_by(statement: ast.AST) -> Iterator[str]:
    """The names that a statement gives a value, in order: not those that it imports, defines or loops over."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda() | ast.comprehension():
            return
        case ast.Assign(targets=targets):
            yield from (one.id for target in targets for one in _stored_in(target))
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target) | ast.NamedExpr(target=target):
            yield from (one.id for one in _stored_in(target))
    for child in ast.iter_child_nodes(statement):
        yield from assigned_by(child)


def names_of_code(code: object) -> set[str]:
    """The global names, attributes and modules in the code of a function and of those in it."""
    return {*code.co_names}.union(*map(names_of_code, code.co_consts)) if isinstance(code, CodeType) else set()


def _stored_in(target: ast.expr) -> Iterator[ast.Name]:
    return (one for one in ast.walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))


def variables_in(file: Path) -> frozenset[str]:
    """The names that a stub or a solution gives a value at its top: no functions and no classes; none without a file.

    Not those of the part that runs only if the file is a script.

    Raises:
        CourseError: if it is not Python.
    """
    body = parse(file).body if file.is_file() else []
    body = [one for one in body if not (isinstance(one, ast.If) and "__name__" in names_in(one.test))]
    defined = {one.name for one in body if isinstance(one, Definition)}
    return frozenset(name for one in body for name in assigned_by(one)) - defined


def _decorated(file: Path, topic: Topic, name: str) -> Iterator[_Decorated]:
    """The definitions at the top of a file that have the decorator `name`, in order."""
    exercises = {one.full_name for one in topic.exercises}
    for node in parse(file).body:
        call = decorator(node, name)
        if call is None or not isinstance(node, Definition):
            continue
        try:
            positional = [ast.literal_eval(argument) for argument in call.args]
            options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        except ValueError:
            message = "decorator arguments must be literals: they are read, not run"
            raise CourseError(file, call.lineno, message) from None
        if len(positional) != 1 or not isinstance(positional[0], str):
            raise CourseError(file, call.lineno, "the decorator's first argument is the name of an exercise")
        exercise = full_name(topic.name, positional[0])
        if exercise not in exercises:
            raise CourseError(file, call.lineno, f"topic `{topic.name}` has no exercise `{positional[0]}`")
        yield _Decorated(file, node, call.lineno, positional[0], exercise, options)


def swapped_comparisons(file: Path) -> Iterator[tuple[str, int]]:
    """The checks of a file that compare with the expected value first: students would read that it was returned.

    Such a comparison has nothing from the submission in first place, and something from it in the second one.

    Returns:
        The name of each check, and the line of its first such comparison.

    Raises:
        CourseError: the file is missing or is not Python.
    """
    for check in parse(file).body:
        if not (isinstance(check, ast.FunctionDef) and check.name.startswith("test_")):
            continue
        if any(isinstance(one, ast.keyword) and one.arg == "may_change" for one in ast.walk(check)):
            continue  # an argument may then be in the place of a returned value
        returned = _names_from_the_submission(check)
        for node in ast.walk(check):
            match node:
                case ast.Call(ast.Name("assert_close" | "assert_equal"), [first, second, *_]):
                    if names_in(second) & returned and not names_in(first) & returned:
                        yield check.name, node.lineno
                        break


def _names_from_the_submission(check: ast.FunctionDef) -> set[str]:
    """The names of a check for the submission, and for all that comes from it or may hold something from it."""
    statements = [one for one in ast.walk(check) if isinstance(one, ast.stmt) and one is not check]
    local = {name for one in statements for name in names_bound_by(one)}
    found = {"submission"}
    while True:
        more: set[str] = set()
        for statement in statements:
            if found & names_in(statement):
                more |= names_bound_by(statement)
                match statement:
                    case ast.Expr(ast.Call(ast.Attribute(holder))) | ast.For(iter=holder):
                        more |= local & names_in(holder)  # filled by a method, or in a loop over it
        if more <= found:
            return found
        found |= more


def names_in(*nodes: ast.AST) -> set[str]:
    """The names that expressions or statements mention."""
    return {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}
