"""What students read is true: every example in a docstring of a solution gives just what it says."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path

import pytest
from shared import OWN_COURSE, REPO

SOLUTIONS = [*sorted((REPO / "solutions").glob("*.py")), *sorted((OWN_COURSE / "solutions").glob("*.py"))]


@pytest.mark.parametrize("file", SOLUTIONS, ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_examples_in_docstrings_are_true(file: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"solved_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, f"solved_{file.stem}"):
        runner.run(test, out=told.append)
    assert runner.summarize(verbose=False).attempted > 0
    assert not told, "".join(told)
