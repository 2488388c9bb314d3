"""What people read is true: examples in docstrings of solutions give what they say, pages name what is there."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from pathlib import Path

import pytest
from pages import PAGES
from shared import DEVICES_AND_RANKS, OWN_COURSE, REPO

SOLUTIONS = [
    *sorted((REPO / "solutions").glob("*.py")),
    *sorted((OWN_COURSE / "solutions").glob("*.py")),
    DEVICES_AND_RANKS / "solutions" / "gpus.py",
]


@pytest.mark.parametrize("file", SOLUTIONS, ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_examples_in_docstrings_are_true(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(file.parent)  # an exercise may use those of another topic
    for other in file.parent.glob("*.py"):
        monkeypatch.setitem(sys.modules, other.stem, sys)  # so that it is as before afterwards
        del sys.modules[other.stem]
    spec = importlib.util.spec_from_file_location(f"solved_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    wrong: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, f"solved_{file.stem}"):
        runner.run(test, out=wrong.append)
    assert runner.summarize(verbose=False).attempted > 0
    assert not wrong, "".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(r"\bexamples/[\w/]+", page.read_text())
    assert [name for name in named if not (REPO / name).exists()] == []


@pytest.mark.parametrize(("page", "topic"), [("devices.md", "gpus"), ("ranks.md", "team")])
def test_pages_of_the_testkit_name_a_topic_that_uses_it(page: str, topic: str) -> None:
    text = (REPO / "docs" / page).read_text()
    assert f"The topic `{topic}` of the course `examples/{DEVICES_AND_RANKS.name}`" in text
    facility = page.removesuffix(".md")
    assert re.search(rf"\b{facility}\.\w+", (DEVICES_AND_RANKS / "checks" / f"test_{topic}.py").read_text())
