"""Every topic's stub says where to read, with links that can be followed from an editor."""

from __future__ import annotations

import ast
import re

import pytest

from grader.course import Course

COURSE = Course.load(None)


@pytest.mark.parametrize("topic", [topic.name for topic in COURSE.topics])
def test_a_topic_names_public_pages_to_read(topic: str) -> None:
    words = ast.get_docstring(ast.parse(COURSE.stub_file(topic).read_text(encoding="utf-8"))) or ""
    _, _, reading = words.partition("\nRead:\n")
    entries = reading.splitlines()
    assert len(entries) >= 3
    for entry in entries:
        assert re.fullmatch(r"- [^:]+: https://[a-z0-9.]+/\S*", entry), entry
