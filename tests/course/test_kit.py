"""A course's kit: where it may be, what it may be called, what it may import, and what a misspelt name says."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from shared import KIT_COURSE, REPO

from grader.course import Course, CourseError, content_hash
from grader.kit import Kit, forbidden_imports, load, require_imported_names

Edit = Callable[[Path, str, str], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the course under ``examples/`` that a test may break."""
    return Path(shutil.copytree(KIT_COURSE, tmp_path / "course", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture(autouse=True)
def no_kit_around() -> Iterator[None]:
    """Neither a kit that another test has loaded, nor afterwards one of these tests."""

    def take() -> dict[str, ModuleType]:
        return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "kit"}

    before = take()
    yield
    take()
    sys.modules.update(before)


def kit_of(folder: Path) -> Kit:
    kit = Course.load(folder).kit
    assert kit is not None
    return kit


def test_a_kit_lies_beside_the_checks_or_among_them(folder: Path) -> None:
    assert kit_of(folder) == Kit(name="kit", folder=folder / "kit")
    (folder / "kit").rename(folder / "checks" / "kit")
    assert kit_of(folder) == Kit(name="kit", folder=folder / "checks" / "kit")


def test_the_shipped_course_names_its_kit_in_course_toml_as_any_course_does() -> None:
    assert Course.load().kit == Kit(name="kit", folder=REPO / "grader" / "checks" / "kit")
    assert 'kit = "kit"\n' in Course.load().manifest.read_text()


def test_a_course_without_a_kit_has_none(folder: Path, edit: Edit) -> None:
    edit(folder / "course.toml", 'kit = "kit"\n', "")
    assert Course.load(folder).kit is None
    assert load(None) == {}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("my kit", "cannot be the name of a module"),
        ("class", "cannot be the name of a module"),
        ("../kit", "cannot be the name of a module"),
        ("grader", "the name `grader` is taken"),
        ("layers", "the name `layers` is taken"),
        ("solutions", "the name `solutions` is taken"),
        ("test_layers", "the name `test_layers` is taken"),
        ("json", "`json` is the name of an installed module"),
        ("torch", "`torch` is the name of an installed module"),
        ("pieces", "there is no folder `pieces`"),
    ],
)
def test_a_name_that_means_something_else_is_refused_with_its_line(
    folder: Path, edit: Edit, name: str, reason: str
) -> None:
    edit(folder / "course.toml", 'kit = "kit"', f'kit = "{name}"')
    with pytest.raises(CourseError, match=f"course.toml:6: kit: .*{re.escape(reason)}"):
        Course.load(folder)


def test_another_name_than_kit_is_fine(folder: Path, edit: Edit) -> None:
    edit(folder / "course.toml", 'kit = "kit"', 'kit = "my_pieces"')
    (folder / "kit").rename(folder / "my_pieces")
    assert set(load(kit_of(folder))) == {"my_pieces.probes", "my_pieces.recipes"}


def test_the_hash_of_a_course_covers_its_kit(folder: Path) -> None:
    before = content_hash(Course.load(folder))
    with (folder / "kit" / "probes.py").open("a") as file:
        file.write("\n# a remark\n")
    assert content_hash(Course.load(folder)) != before


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("import solutions.layers", "must hold no answers"),
        ("from solutions import layers", "must hold no answers"),
        ("from checks.test_layers import BODY", "must hold no answers"),
        ("import misconceptions", "must hold no answers"),
        ("import test_layers", "must hold no answers"),
        ("import grader.checks.test_ddp", "must hold no answers"),
        ("from grader.shipped.solutions import ddp", "must hold no answers"),
        ("from .. import solutions", "outside its own folder"),
        ("from ..checks import test_layers", "outside its own folder"),
        ("from grader.judge import judge", "only devices, probes, ranks, recipes of grader.testkit"),
        ("from grader import judge", "only devices, probes, ranks, recipes of grader.testkit"),
        ("import grader", "only devices, probes, ranks, recipes of grader.testkit"),
        ("from grader.testkit import reference", "only devices, probes, ranks, recipes of grader.testkit"),
        ("from grader.testkit import assert_close", "only devices, probes, ranks, recipes of grader.testkit"),
        ("import importlib; importlib.import_module('solutions.layers')", "must hold no answers"),
        ("from importlib import import_module as m; __import__('checks')", "must hold no answers"),
        ("name = 'x'; __import__(name)", "a name that is not a literal"),
        ("def late():\n        from solutions import layers", "must hold no answers"),
    ],
)
def test_a_kit_that_could_hold_answers_is_refused_with_its_line(folder: Path, line: str, reason: str) -> None:
    file = folder / "kit" / "more.py"
    file.write_text(f"import torch\n\nif torch:\n    {line}\n")
    (found,) = forbidden_imports(kit_of(folder))
    assert (found.file, found.line) == (file, 5 if "\n" in line else 4)
    assert reason in found.message
    with pytest.raises(CourseError, match=r"more\.py:"):
        load(kit_of(folder))
    assert "kit" not in sys.modules


def test_what_a_kit_may_import(folder: Path) -> None:
    (folder / "kit" / "more.py").write_text(
        "import os, torch\nfrom torch import nn\nfrom . import probes\nfrom .recipes import net\nimport kit.recipes\n"
        "from grader.testkit import devices, probes as p, ranks, recipes\nfrom grader.testkit.recipes import mlp\n"
    )
    assert list(forbidden_imports(kit_of(folder))) == []
    assert set(load(kit_of(folder))) == {"kit.more", "kit.probes", "kit.recipes"}


def test_no_module_of_the_shipped_kit_could_hold_answers() -> None:
    kit = Course.load().kit
    assert kit is not None
    assert len(kit.files) > 5
    assert list(forbidden_imports(kit)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import torch\nx = 1 / 0\n", "recipes.py:2: the kit cannot be imported: ZeroDivisionError: division by zero"),
        ("import no_such_module\n", "recipes.py:1: the kit cannot be imported: ModuleNotFoundError"),
        ("x = 1\ny = = 2\n", "recipes.py:2: not valid Python: invalid syntax"),
    ],
)
def test_a_kit_that_cannot_be_imported_says_where(folder: Path, text: str, problem: str) -> None:
    (folder / "kit" / "recipes.py").write_text(text)
    with pytest.raises(CourseError, match=re.escape(problem)):
        load(kit_of(folder))
    assert "kit" not in sys.modules


def test_a_kit_is_imported_once_and_makes_way_for_that_of_another_course(folder: Path) -> None:
    first = load(kit_of(KIT_COURSE))
    assert load(kit_of(KIT_COURSE))["kit.recipes"] is first["kit.recipes"]
    second = load(kit_of(folder))
    assert second["kit.recipes"] is not first["kit.recipes"]
    assert Path(str(second["kit.recipes"].__file__)) == folder / "kit" / "recipes.py"


def test_a_misspelt_recipe_or_probe_names_the_nearest_one(folder: Path) -> None:
    from grader.testkit import probes, recipes

    kit = load(kit_of(folder))
    for module, name, message in [
        (recipes, "mpl", "grader.testkit.recipes has no recipe `mpl`; did you mean `mlp`?"),
        (probes, "wieghts", "grader.testkit.probes has no probe `wieghts`; did you mean `weights`?"),
        (kit["kit.recipes"], "nett", "kit.recipes has no recipe `nett`; did you mean `net`?"),
        (kit["kit.probes"], "forzen", "kit.probes has no probe `forzen`; did you mean `frozen`?"),
    ]:
        with pytest.raises(AttributeError, match=re.escape(message)):
            getattr(module, name)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("from kit.recipes import nett", "`kit.recipes` has no `nett`; did you mean `net`?"),
        ("from kit import recipe", "`kit` has no `recipe`; did you mean `recipes`?"),
        ("from grader.testkit import asert_close", "has no `asert_close`; did you mean `assert_close`?"),
        ("from grader.testkit.probes import stat", "has no `stat`; did you mean `state`"),
    ],
)
def test_a_misspelt_name_in_an_import_is_refused_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    kit = kit_of(KIT_COURSE)
    load(kit)
    file = tmp_path / "test_layers.py"
    file.write_text(f"import torch\nfrom kit import probes, recipes\n{line}\n")
    with pytest.raises(CourseError, match=re.escape("test_layers.py:3: ") + ".*" + re.escape(message)):
        require_imported_names(file, kit)
    file.write_text("from kit import probes, recipes\nfrom grader.testkit import assert_close, recipes as r\n")
    require_imported_names(file, kit)
