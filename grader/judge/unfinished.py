"""Answers that do not run because of the stub's own `raise`, or because they are not indented.

Looks at the syntax tree of the file as it was handed in, and yields first sentences with their lines.
"""

import ast
from collections.abc import Callable, Iterator, Sequence

from grader.course.source import Definition

Place = Callable[[int], str]


def beside_the_stub(own: Definition, top: Sequence[ast.stmt], place: Place) -> Iterator[str]:
    """What a definition whose stub raises `NotImplementedError` has besides that line.

    Args:
        own: the definition, one of `top`.
        top: the statements of the file.
        place: names a line.
    """
    functions = _functions(own)
    stubs = [(one, line) for one in functions if (line := _stub_line(one))]
    for function, line in stubs:
        body = _code(function)
        before = [one for one in body if one.lineno < line]
        after = [one for one in body if one.lineno > line]
        if after:
            yield f"the stub's `raise` in {place(line)} comes before your code, which is never reached: delete it"
        elif before and any(isinstance(node, ast.Return) for one in before for node in ast.walk(one)):
            yield f"the stub's `raise` in {place(line)} comes when none of your `return`s was reached: delete it"
        elif before:
            yield f"the stub's `raise` in {place(line)} comes after your code: write `return` and your result instead"
        yield from _below(own, function, top, place)
    if isinstance(own, ast.ClassDef) and 0 < len(stubs) < len(functions):
        names = " and ".join(f"`{one.name}`" for one, _ in stubs)
        lines = " and ".join(place(line) for _, line in stubs)
        yield f"{names} of `{own.name}` {'is' if len(stubs) == 1 else 'are'} not written yet: {lines}"


def without_a_body(own: Definition, top: Sequence[ast.stmt], place: Place) -> Iterator[str]:
    """Says so if a function does nothing, because the code below it is not indented."""
    for function in _functions(own):
        if all(isinstance(one, ast.Pass) for one in _code(function)):
            yield from _below(own, function, top, place)


def outside_of(top: Sequence[ast.stmt], line: int) -> str:
    """The name of the function or class above a line at the top of the file; empty if there is none."""
    above = [one.name for one in top if isinstance(one, Definition) and one.lineno < line]
    return above[-1] if above else ""


def _below(own: Definition, function: ast.FunctionDef, top: Sequence[ast.stmt], place: Place) -> Iterator[str]:
    """Says so if the statement below a definition uses an argument of it, so that it was meant to be a part of it."""
    below = top[top.index(own) + 1 : top.index(own) + 2]
    names = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    for one in below:
        used = {node.id for node in ast.walk(one) if isinstance(node, ast.Name)}
        if not isinstance(one, Definition) and names & used:
            yield f"{place(one.lineno)} is not indented, so it is no part of `{own.name}`: move it to the right"


def _functions(own: Definition) -> list[ast.FunctionDef]:
    body = own.body if isinstance(own, ast.ClassDef) else [own]
    return [one for one in body if isinstance(one, ast.FunctionDef)]


def _code(function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a function that are not text, such as its docstring."""
    is_text = (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in function.body)
    return [one for one, text in zip(function.body, is_text, strict=True) if not text]


def _stub_line(function: ast.FunctionDef) -> int:
    """The line of the stub's `raise` in the body of a function; 0 if it has none."""
    for one in function.body:
        match one:
            case ast.Raise(ast.Call(ast.Name("NotImplementedError")) | ast.Name("NotImplementedError")):
                return one.lineno
    return 0
