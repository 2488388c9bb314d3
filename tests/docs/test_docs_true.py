"""What people read is true: pages name what is there. Examples in docstrings: `tests/grading/test_written_examples`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import PAGES
from shared import DEVICES_AND_RANKS, REPO


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
