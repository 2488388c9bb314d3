"""The call of the submission's function that a probe makes, read in the probe's source: what a message can show.

Looks at the kit's own text only. Where that leaves a doubt, there is no such call.
"""

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from grader.border.proxies import Call, RemoteFunction


def call_within(call: Call) -> Call | None:
    """The call that a probe makes with what it was given; None if `call` is of no probe, or that is not plain to see.

    ``there(probe, submission.f, x, y)`` with ``def probe(f, x, y): first = f(x); ...`` is ``f(x)``.
    """
    if call.probe is None:
        return None
    try:
        bound = inspect.signature(call.probe).bind(*call.args, **call.kwargs)
        bound.apply_defaults()
        calls = _calls_in(call.probe)
    except (TypeError, ValueError, OSError, SyntaxError):
        return None
    given = bound.arguments
    made = [(node, name, attribute) for node, name, attribute in calls if isinstance(given.get(name), RemoteFunction)]
    if len({ast.dump(node) for node, _, _ in made}) != 1:
        return None
    node, name, attribute = made[0]
    function = given[name]._name + (f".{attribute}" if attribute else "")
    try:
        args = tuple(value for one in node.args for value in _values(one, given))
        kwargs = {key: value for one in node.keywords for key, value in _named(one, given).items()}
    except LookupError:
        return None
    return Call(function, args, kwargs, result=call.result, answered=call.answered)


@functools.cache
def _calls_in(probe: Callable[..., Any]) -> list[tuple[ast.Call, str, str]]:
    """The calls of a parameter, or of an attribute of one, that a probe makes: each with both names.

    None if it does something else with that parameter, or calls it with what it was not given.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(probe))).body[0]
    parameters = set(inspect.signature(probe).parameters)
    copies = {id(one.targets[0]) for one in ast.walk(tree) if isinstance(one, ast.Assign) and _is_copy(one)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    changed = {node.id for node in names if isinstance(node.ctx, ast.Store) and id(node) not in copies}
    calls: list[tuple[ast.Call, str, str]] = []
    called: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Name(name) as function) | ast.Call(ast.Attribute(ast.Name(name) as function)):
                attribute = node.func.attr if isinstance(node.func, ast.Attribute) else ""
                calls.append((node, name, attribute))
                called.add(id(function))
    elsewhere = {node.id for node in names if isinstance(node.ctx, ast.Load) and id(node) not in called}
    calls = [one for one in calls if one[1] in parameters - changed - elsewhere]
    return calls if all(_used(node) <= parameters - changed for node, _, _ in calls) else []


def _is_copy(node: ast.Assign) -> bool:
    """Whether a name gets a copy of its own value: ``x = x.clone()``."""
    match node:
        case ast.Assign([ast.Name(name)], ast.Call(ast.Attribute(ast.Name(other), "clone"), [])):
            return name == other
    return False


def _used(node: ast.Call) -> set[str]:
    parts = [*node.args, *(one.value for one in node.keywords)]
    return {one.id for part in parts for one in ast.walk(part) if isinstance(one, ast.Name)}


def _values(node: ast.expr, given: dict[str, Any]) -> Iterator[object]:
    match node:
        case ast.Name(name):
            yield given[name]
        case ast.Constant(value):
            yield value
        case ast.Starred(ast.Name(name)):
            yield from given[name]
        case _:
            raise LookupError


def _named(node: ast.keyword, given: dict[str, Any]) -> dict[str, object]:
    if node.arg is None and isinstance(node.value, ast.Name):
        return dict(given[node.value.id])
    (value,) = _values(node.value, given)
    return {node.arg or "": value}
