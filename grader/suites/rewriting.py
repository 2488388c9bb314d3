"""Rewrites a suite's tests in memory, as pytest does: ``is`` and ``match`` know what stands for something over there.

``type(shape) is Circle`` compares a class of proxies with a name in a module; ``case Circle(r)`` takes only classes.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import unittest
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from _pytest.assertion import rewrite

from grader.errors import UserError
from grader.suites.bridge import running
from grader.suites.deferred import Deferred
from grader.suites.proxies import Class, Handle, Used

_HERE: Final = "@grader"
"""This module, for a file of the suite: no name that somebody could write."""


class _Pattern(type):
    """The class of what stands for a class of the submission in a pattern."""

    late: Used

    def __instancecheck__(cls, value: object) -> bool:
        return cls.late.__instancecheck__(value)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.late, name)


def same(one: Any, other: Any) -> bool:
    """Whether both are one thing: functions and classes have several proxies, so it is asked over there."""
    pair = [value._now() if running and type(value) is Deferred else value for value in (one, other)]
    if pair[0] is pair[1]:
        return True
    are_proxies = [issubclass(type(value), Used | Class) for value in pair]
    if not running or not any(are_proxies) or not all(map(callable, pair)):
        return False
    with contextlib.suppress(TypeError, UserError):  # of something that is here alone
        return running[-1].run("is", *pair) is True
    return False


def class_of(value: Any) -> Any:
    """Its class, of which a proxy says another one to those who ask for a list."""
    return type(value) if issubclass(type(value), Handle) else value.__class__


def in_pattern(value: Any) -> Any:
    """A class that a pattern may have."""
    return _Pattern(value.__name__, (), {"late": value}) if issubclass(type(value), Used) else value


class _Rewriter(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Compare(left, [ast.Is() | ast.IsNot() as asked], [right]) if not _is_constant(left, right):
                call = _call("same", left, right)
                return ast.copy_location(ast.UnaryOp(ast.Not(), call), node) if isinstance(asked, ast.IsNot) else call
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return _call("class_of", node.value) if node.attr == "__class__" and isinstance(node.ctx, ast.Load) else node

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        self.generic_visit(node)
        first: list[ast.stmt] = []
        for pattern in (one for case in node.cases for one in ast.walk(case.pattern)):
            if isinstance(pattern, ast.MatchClass):
                name = f"{_HERE}{len(first)}"
                target = ast.copy_location(ast.Name(name, ast.Store()), pattern)
                first.append(ast.copy_location(ast.Assign([target], _call("in_pattern", pattern.cls)), node))
                pattern.cls = ast.copy_location(ast.Name(name, ast.Load()), pattern)
        return [*first, node]


def _is_constant(*values: ast.expr) -> bool:
    return any(isinstance(one, ast.Constant) for one in values)


def _call(name: str, *values: ast.expr) -> ast.expr:
    function = ast.Attribute(ast.Name(_HERE, ast.Load()), name, ast.Load())
    return ast.fix_missing_locations(ast.copy_location(ast.Call(function, [*values], []), values[0]))


def _rewrite(tree: ast.Module) -> None:
    """Rewrites a module of which pytest has rewritten the asserts; the import that it needs stands beside pytest's."""
    for place, node in enumerate(tree.body):
        if isinstance(node, ast.Import) and node.names[0].asname == "@pytest_ar":
            _Rewriter().visit(tree)
            own = copy.deepcopy(node)
            own.names[0].name, own.names[0].asname = __name__, _HERE
            tree.body.insert(place, own)
            return


@contextlib.contextmanager
def rewritten() -> Iterator[None]:
    """A suite that is imported meanwhile is rewritten."""
    asserts = rewrite.rewrite_asserts

    def rewrite_asserts(tree: ast.Module, *args: Any, **kwargs: Any) -> None:
        asserts(tree, *args, **kwargs)
        _rewrite(tree)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewrite, "rewrite_asserts", rewrite_asserts)
        for name in ("assertIs", "assertIsNot"):
            patch.setattr(unittest.TestCase, name, _knowing(getattr(unittest.TestCase, name)))
        yield


def _knowing(check: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(check)
    def checked(test: object, first: object, second: object, msg: object = None) -> None:
        check(test, first, first if same(first, second) else second, msg)

    return checked
