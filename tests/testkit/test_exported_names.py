"""The public names of the testkit are exactly those that checks and docs use, and checks and kits use nothing else."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from shared import REPO

from grader import testkit
from grader.kit import STUDENT_SIDE

SHIPPED = REPO / "grader" / "checks"
CHECKS = [
    *sorted(SHIPPED.glob("test_*.py")),
    *sorted(REPO.glob("examples/*/checks/test_*.py")),
    *sorted(REPO.glob("solutions/misconceptions/*.py")),
    *sorted(REPO.glob("examples/*/solutions/misconceptions/*.py")),
]
KITS = [*sorted((SHIPPED / "kit").glob("*.py")), *sorted(REPO.glob("examples/*/kit/*.py"))]
PAGES = [*sorted((REPO / "docs").glob("*.md")), REPO / "README.md"]
MODULES = sorted(name for name in testkit.__all__ if hasattr(getattr(testkit, name), "__file__"))


def imported(file: Path) -> Iterator[str]:
    """The full names that a file imports of the grader."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "grader")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "grader":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def used_in_docs() -> set[str]:
    """The words in code, of blocks and of single words, on the pages."""
    code = " ".join(part for page in PAGES for part in re.findall(r"```python.*?```|`[^`\n]+`", page.read_text(), re.S))
    return set(re.findall(r"\w+", code))


def test_every_public_name_is_used_by_a_check_or_the_docs() -> None:
    used = {name.split(".")[2] for file in [*CHECKS, *KITS] for name in imported(file)} | used_in_docs()
    assert [name for name in testkit.__all__ if name not in used] == []


def test_public_names_are_sorted_and_can_be_imported() -> None:
    assert list(testkit.__all__) == sorted(testkit.__all__)
    assert all(getattr(testkit, name) is not None for name in testkit.__all__)


@pytest.mark.parametrize("file", CHECKS, ids=lambda file: str(file.relative_to(REPO)))
def test_checks_import_nothing_of_the_grader_but_public_names_of_the_testkit(file: Path) -> None:
    public = {f"grader.testkit.{name}" for name in testkit.__all__}
    modules = {f"grader.testkit.{name}" for name in MODULES}
    found = list(imported(file))
    assert [name for name in found if name not in public and name.rpartition(".")[0] not in modules] == []


@pytest.mark.parametrize("file", KITS, ids=lambda file: str(file.relative_to(REPO)))
def test_kits_import_nothing_of_the_grader_but_what_runs_in_the_student_process(file: Path) -> None:
    assert [name for name in imported(file) if name.split(".")[1:3] not in [["testkit", s] for s in STUDENT_SIDE]] == []


def test_what_a_kit_may_import_is_public() -> None:
    assert set(STUDENT_SIDE) <= set(MODULES)


def test_every_function_of_a_public_module_of_the_student_side_is_used() -> None:
    """Dead recipes and probes go: each is used by a check, a kit, the docs, or the module itself."""
    texts = {file: file.read_text() for file in [*CHECKS, *KITS, *PAGES]}
    for module in ("recipes", "probes"):
        text = (REPO / "grader" / "testkit" / f"{module}.py").read_text()
        names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        used = {name for name in names for page in texts.values() if re.search(rf"\b{name}\b", page)}
        assert [name for name in names if name not in used] == []


@pytest.mark.slow
def test_the_student_side_loads_neither_pytest_nor_hypothesis_nor_the_judge() -> None:
    modules = ", ".join(f"grader.testkit.{name}" for name in (*STUDENT_SIDE, "watching", "models"))
    code = f"import sys, {modules}; print([n for n in sys.modules if n in ('pytest', 'hypothesis') or 'judge' in n])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "[]"
