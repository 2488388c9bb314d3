"""Mutants: one small change each, of code that runs, and each a module that Python accepts."""

from __future__ import annotations

import ast
import textwrap

import pytest
from shared import REPO

from grader.grading.mutants import mutants_of


def changes(body: str, head: str = "def f(x, y=None):") -> list[str]:
    source = f"import torch\n\n{head}\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    return [mutant.change for mutant in mutants_of(source)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x + y", {"x + y -> (x - y)"}),
        ("return x - y", {"x - y -> (x + y)", "x - y -> (y - x)"}),
        ("return x @ y", {"x @ y -> (x * y)", "x @ y -> (y @ x)"}),
        ("return x < y", {"x < y -> (x <= y)"}),
        ("return x is not None", {"x is not None -> (x is None)"}),
        ("return x and y", {"x and y -> (x or y)"}),
        ("return not x", {"not x -> x"}),
        ("return -x", {"-x -> x"}),
        ("return x[3]", {"3 -> 4", "3 -> 2"}),
        ("return x[0]", {"0 -> 1"}),
        ("return True", {"True -> False"}),
        ("return 0.5", {"0.5 -> 1.0"}),
        ("return x.sum(dim=0)", {"x.sum(dim=0) -> x.sum()", "x.sum(dim=0) -> x", "0 -> 1"}),
        ("return torch.exp(x)", {"torch.exp(x) -> x"}),
        ("return torch.outer(x, y)", {"torch.outer(x, y) -> torch.outer(y, x)", "torch.outer(x, y) -> x"}),
        ("return torch.dot(x, y)", {"torch.dot(x, y) -> x"}),
        ("return x.transpose(y, x)", {"x.transpose(y, x) -> x"}),
        ("return torch.cat(*x)", set()),
        ("x.zero_()", {"x.zero_() -> pass", "x.zero_() -> x"}),
        ("x.grad = None", {"x.grad = None -> pass"}),
        ("x += y", {"x += y -> x -= y", "x += y -> pass"}),
        ("raise ValueError", {"raise ValueError -> pass"}),
        ("if x:\n    return y", {"x -> (not x)"}),
        ("with torch.no_grad():\n    return y", {'torch.no_grad() -> __import__("contextlib").nullcontext()'}),
        ('"""A docstring, 1 + 1."""\nz: tuple[int, 3] = y\nreturn f"{x + 1}"', set()),
    ],
)
def test_every_kind_of_change(body: str, expected: set[str]) -> None:
    found = changes(body)
    assert expected <= set(found)
    assert len(found) == len(set(found))
    more = set(found) - expected
    assert not more or body.startswith(("with", "if")), more


def test_a_decorator_is_left_out() -> None:
    source = "class A:\n    @staticmethod\n    @torch.no_grad()\n    def f(x):\n        return x\n"
    mutant = next(mutant for mutant in mutants_of(source) if "lambda" in mutant.change)
    assert (mutant.definition, mutant.line, mutant.change) == ("A", 3, "torch.no_grad() -> (lambda it: it)")
    assert mutant.text == source.replace("@torch.no_grad()", "@(lambda it: it)")


def test_only_the_piece_changes_also_behind_wide_letters() -> None:
    source = 'def f(x):\n    π = "ü"; return π * (x + 1)\n'
    texts = {mutant.change: mutant.text for mutant in mutants_of(source)}
    assert texts["x + 1 -> (x - 1)"] == source.replace("x + 1", "(x - 1)")
    assert all(mutant.source_line == 'π = "ü"; return π * (x + 1)' for mutant in mutants_of(source))


def test_of_long_pieces_the_part_that_differs_is_shown() -> None:
    assert "…e one another').sum(dim=0) -> …e one another').sum()" in changes(
        "return torch.cat('many words that take up all of the line, if they stand beside one another').sum(dim=0)"
    )


@pytest.mark.slow
def test_every_mutant_of_the_courses_solutions_is_another_module() -> None:
    for file in (REPO / "solutions").glob("*.py"):
        source = file.read_text(encoding="utf-8")
        mutants = mutants_of(source)
        assert mutants
        assert len({mutant.text for mutant in mutants} | {source}) == len(mutants) + 1
        names = {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert {mutant.definition for mutant in mutants} <= names
