"""Gradescope, GitHub and GitLab read what is made for them, and no print of a student's becomes a command."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from classrooms import OWN, check, classroom, entry, exercise, gradebook, result

from grader.course import Course
from grader.exports import code_hosts, gradescope
from grader.exports.write import ExportSettings, export
from grader.judge import explain
from grader.reports.entries import Entry
from grader.results import Cause, Frame

COURSE = Course.load(OWN)
CODE = "import torch\n\n\ndef cosine(a, b):\n    return a / 0\n\n\ndef normalize(x):\n    return x\n"
COMMANDS = (
    "printed:\n  ::error file=x::forged\n::set-output name=result::forged\n\r::stop-commands::x\n##[add-mask]x\n"
    "##vso[task.complete]\n\x1b[0K::warning::x\n\u2028::error::x\n```\n# heading\n</details>"
)


def given() -> Entry:
    at = (Frame("vectors.py", 5, "cosine", "return a / 0"),)
    raised = Cause(
        kind="exception", sentence="Cosines.", call="cosine(1)", exception_type="ZeroDivisionError", frames=at
    )
    checks = exercise("vectors.cosine", explain.result("a", raised), check("b", "failed", f"other\n{COMMANDS}"))
    more = exercise("vectors.normalize", check("c", "timeout", f"slow\n{COMMANDS}"), check())
    return entry(result("me", checks, more, exercise("vectors.third", check())), {"vectors.py": CODE})


def test_gradescope_has_a_visible_test_for_each_exercise() -> None:
    read = json.loads(gradescope.results(given()))
    assert [(t["name"], t["status"], t["score"], t["max_score"], t["number"]) for t in read["tests"]] == [
        ("vectors.cosine", "failed", 0, 1, "1"),
        ("vectors.normalize", "failed", 0, 1, "2"),
        ("vectors.third", "passed", 1, 1, "3"),
    ]
    assert read["score"] == sum(test["score"] for test in read["tests"]) and read["visibility"] == "visible"
    assert all(test["visibility"] == "visible" for test in read["tests"])
    assert "ZeroDivisionError" in read["tests"][0]["output"] and "\x1b" not in read["tests"][0]["output"]


def test_gradescope_says_what_was_not_assessed() -> None:
    read = json.loads(gradescope.results(entry(result("me", exercise("vectors.cosine", check(verdict="error"))))))
    assert "status" not in read["tests"][0] and "THE GRADER FAILED" in read["output"] and read["score"] == 0


def test_gradescope_of_a_class_is_a_file_for_each(tmp_path: Path) -> None:
    gradebook(tmp_path / "gradebook.sqlite", classroom(COURSE, 5))
    export("gradescope", ExportSettings(grades=tmp_path, course=OWN))
    files = list((tmp_path / "gradescope").iterdir())
    assert len(files) == 5 and all("tests" in json.loads(file.read_text()) for file in files)


def test_annotations_point_at_the_line_that_raised_or_the_definition(tmp_path: Path) -> None:
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "vectors.py").write_text(CODE)
    first, second = code_hosts.commands([given()], tmp_path)
    assert first.startswith(
        "::error file=exercises/vectors.py,line=5,title=vectors.cosine%3A failed::your code raised ZeroDivisionError"
    )
    assert second.startswith(
        "::error file=exercises/vectors.py,line=8,title=vectors.normalize%3A took too long::slow%0A"
    )


def test_student_prints_never_emit_a_command(tmp_path: Path) -> None:
    for line in code_hosts.commands([given()], tmp_path):
        assert line.startswith("::error file=vectors.py,line=") and len(line.splitlines()) == 1
        assert "##[" not in line and "##vso[" not in line and "\x1b" not in line


def test_at_most_ten_annotations_and_the_rest_is_counted(tmp_path: Path) -> None:
    many = [exercise(f"vectors.e{n}", check("a", "failed", f"wrong {n}\nx"), check()) for n in range(14)]
    lines = list(code_hosts.commands([entry(result("me", *many), {})], tmp_path))
    assert sum(line.startswith("::error ") for line in lines) == 10 and "4 more" in lines[-1]


def test_one_cause_is_annotated_once(tmp_path: Path) -> None:
    at = (Frame("vectors.py", 2, text="x"),)
    broken = explain.result(
        "a", Cause(kind="exception", stage="import", file="vectors.py", exception_type="SyntaxError", frames=at)
    )
    both = [exercise(name, broken, broken) for name in ("vectors.cosine", "vectors.normalize")]
    (line,) = code_hosts.commands([entry(result("me", *both), {"vectors.py": CODE})], tmp_path)
    assert ",line=2," in line


def test_summary_keeps_text_of_students_inside_its_code_blocks() -> None:
    text = code_hosts.summary([given()], COURSE)
    assert "### me: 1/3 points, 33.3%" in text and "| ✗ | `vectors.cosine` | 0/1 |" in text
    assert "````text\nother" in text
    inside = text.split("````")[1::2]
    assert all("</details>" in part for part in inside if "heading" in part)
    assert text.count("\n</details>\n") - sum(part.count("\n</details>\n") for part in inside) == 2


def test_summary_stays_below_githubs_limit() -> None:
    one = exercise("vectors.cosine", check("a", "failed", "é" * 2000 + "\n" + "x" * 100_000), check())
    text = code_hosts.summary([entry(result(f"s{n}", one)) for n in range(400)], COURSE)
    assert len(text.encode()) < 1 << 20 and "more than GitHub shows" in text


def test_classroom_result_is_what_its_reporter_sums(tmp_path: Path) -> None:
    read = json.loads(base64.b64decode(code_hosts.classroom(given(), tmp_path)))
    assert (read["version"], read["status"], read["max_score"]) == (1, "fail", 3)
    assert sum(test["score"] for test in read["tests"]) == 1
    assert set(read["tests"][0]) >= {
        "name",
        "status",
        "message",
        "test_code",
        "filename",
        "line_no",
        "duration",
        "score",
    }
    assert read["tests"][0]["line_no"] == 5


def test_github_export_writes_summary_and_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gradebook(tmp_path / "gradebook.sqlite", [given()])
    for variable in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    export("github", ExportSettings(grades=tmp_path, course=OWN))
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text().startswith("## ")
    assert (tmp_path / "GITHUB_OUTPUT").read_text().startswith("result=")
    assert all(line.startswith("::error ") for line in capsys.readouterr().out.splitlines())


def test_gitlab_report_names_file_and_line_of_each_failure(tmp_path: Path) -> None:
    issues = json.loads(code_hosts.code_quality([given()], tmp_path))
    assert [issue["location"] for issue in issues] == [
        {"path": "vectors.py", "lines": {"begin": 5}},
        {"path": "vectors.py", "lines": {"begin": 4}},
        {"path": "vectors.py", "lines": {"begin": 8}},
    ]
    assert len({issue["fingerprint"] for issue in issues}) == 3
