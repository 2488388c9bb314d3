"""What students and instructors read about work that cannot be used: file, line and reason, said once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from judge_here import grade_here
from make_class_zips import notebook
from shared import OWN_COURSE

from grader.course import Course
from grader.exports.gradescope import results
from grader.exports.lms import _comment
from grader.gradebook import Row
from grader.grading.settings import topics_of
from grader.intake.find import find_submissions
from grader.reports.entries import Entry


def entry(folder: Path, name: str, content: bytes) -> Entry:
    (folder / "class" / "ann").mkdir(parents=True)
    (folder / "class" / "ann" / name).write_bytes(content)
    (source,) = find_submissions([folder / "class"], topics_of(Course.load(OWN_COURSE)))
    submission = source.read()
    (result,) = grade_here(OWN_COURSE, submission)
    return Entry(Row(result, "d", 0.1, notes=(*submission.note_lines, *result.notes)))


def test_moodle_names_the_file_and_the_line_of_a_syntax_error(tmp_path: Path) -> None:
    said = _comment(entry(tmp_path, "vectors.py", b"import torch\n\ndef normalize(x):\n    return (x\n"))
    assert "vectors.py cannot be imported: SyntaxError in line 4: '(' was never closed." in said
    assert said.count("SyntaxError") == 1


def test_moodle_names_the_cell_that_is_no_python(tmp_path: Path) -> None:
    said = _comment(
        entry(
            tmp_path,
            "vectors.ipynb",
            notebook("x = 1", "def normalize(x:\n    return x", "def cosine(a, b):\n    return a"),
        )
    )
    assert "vectors.py: vectors.ipynb: cell 3: cannot be parsed (line 1: " in said


@pytest.mark.parametrize(
    "said", [_comment, lambda one: json.loads(results(one))["output"]], ids=["moodle", "gradescope"]
)
def test_that_work_could_not_be_read_is_said_once(tmp_path: Path, said) -> None:  # type: ignore[no-untyped-def]
    text = said(entry(tmp_path, "vectors.py", b"%PDF-1.7"))
    assert text.count("could not be read") == 1 and "vectors.py: it is a PDF, not Python text" in text


def test_a_name_that_says_no_topic_gets_no_advice_about_a_topic_that_may_not_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "class" / "ann").mkdir(parents=True)
    (tmp_path / "class" / "ann" / "homework.py").write_bytes(b"def helper():\n    return 1\n")
    (source,) = find_submissions([tmp_path / "class"], topics_of(Course.load()))
    (note,) = source.read().note_lines
    assert note.endswith("; call it TOPIC.py, by the name of its topic")
