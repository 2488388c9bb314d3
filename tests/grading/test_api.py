"""Grading from Python: what `from grader import Course, grade` promises."""

from __future__ import annotations

import json
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from shared import OWN_COURSE

import grader
from grader import Course, Results, grade
from grader.errors import UserError
from grader.intake.reader import Reader
from grader.intake.sources import Source
from grader.intake.submission import Submission, Unreadable

SOLUTION = OWN_COURSE / "solutions" / "vectors.py"


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("class")
    for name, text in (
        ("ada", SOLUTION.read_text()),
        ("=bob", "import torch\n\n\ndef normalize(x):\n    return x\n\n\nprint(no_such_name)\n"),
        ("empty", ""),
    ):
        (folder / name).mkdir()
        (folder / name / "vectors.py").write_text(text)
    return folder


@pytest.fixture(scope="module")
def results(class_folder: Path) -> Results:
    return grade(class_folder, OWN_COURSE, seed=3, jobs=1)


@pytest.mark.slow
def test_results_are_structs_in_order_of_names(results: Results) -> None:
    assert [(one.submission, one.score, one.max) for one in results] == [("=bob", 0, 3), ("ada", 3, 3), ("empty", 0, 3)]
    assert results["ada"] is results[1] and len(results) == 3
    assert (results.seed, results.faults) == (3, {})
    assert list(results.notes) == ["=bob"] and "no_such_name" in results.notes["=bob"][0]
    with pytest.raises(KeyError):
        results["nobody"]


@pytest.mark.slow
def test_records_are_flat_and_of_one_shape(results: Results) -> None:
    by_exercise = results.to_records()
    assert len(by_exercise) == 6
    assert by_exercise[2] == {
        "submission": "ada",
        "topic": "vectors",
        "exercise": "normalize",
        "verdict": "passed",
        "score": 1.0,
        "max": 1.0,
        "bonus": 0.0,
        "not_assessed": 0.0,
        "to_mark": 0.0,
        "misconception": None,
    }
    for by in ("submission", "exercise", "check"):
        records = results.to_records(by)  # type: ignore[arg-type]
        assert len({tuple(record) for record in records}) == 1
        json.dumps(records)
    assert {record["check"] for record in results.to_records("check")} >= {"three_four_five"}
    with pytest.raises(ValueError, match="not by 'student'"):
        results.to_records("student")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_loaded_course_one_file_and_a_part_of_it(class_folder: Path) -> None:
    file = class_folder / "ada" / "vectors.py"
    (only,) = grade(str(file), Course.load(OWN_COURSE), only=["normalize"], jobs=1)
    assert [exercise.name for exercise in only.exercises] == ["vectors.normalize"]


@pytest.mark.slow
def test_what_the_grader_cannot_read_is_its_own_fault_and_the_class_goes_on(
    class_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    read = Reader.read

    def broken(reader: Reader, source: Source) -> Submission | Unreadable:
        reads.append(source.name)
        return Unreadable("empty", "KeyError: a long story") if source.name == "empty" else read(reader, source)

    monkeypatch.setattr(Reader, "read", broken)
    found = grade(class_folder, OWN_COURSE, only=["normalize"], jobs=1)
    assert [(one.submission, one.score, one.max) for one in found] == [("=bob", 0, 1), ("ada", 1, 1), ("empty", 0, 0)]
    assert found["empty"].verdicts == {"error"} and found.faults == {"empty": "KeyError: a long story"}
    assert sorted(reads) == ["=bob", "ada", "empty"], "each is read once"


def test_what_cannot_be_graded_is_said_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not there"):
        grade(tmp_path / "nowhere", OWN_COURSE)
    with pytest.raises(UserError, match="unknown topic or exercise `nothing`"):
        grade(tmp_path, OWN_COURSE, only=["nothing"])
    with pytest.raises(UserError, match="not a course"):
        grade(tmp_path, tmp_path)


PUBLIC = {
    *(
        "ask",
        "check",
        "grade",
        "hint",
        "show",
        "Compared",
        "Course",
        "Results",
        "Limits",
        "UserError",
        "CourseError",
        "__version__",
    ),
    *("SubmissionResult", "ExerciseResult", "CheckResult", "Cause", "Flag", "Frame", "Manual", "Picture", "Unread"),
    *("RankStep", "Stair"),
    *("SpentTime", "TooMuchMemory"),
}


def test_the_public_names_are_exactly_these() -> None:
    assert set(grader.__all__) == PUBLIC and list(grader.__all__) == sorted(grader.__all__)
    assert set(dir(grader)) >= PUBLIC
    for name in PUBLIC - {"__version__"}:
        assert getattr(grader, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = grader.nothing


def structs_in(hint: Any) -> set[type[msgspec.Struct]]:
    """The structs that a type is made of."""
    inside = set().union(*map(structs_in, typing.get_args(hint)))
    return inside | ({hint} if isinstance(hint, type) and issubclass(hint, msgspec.Struct) else set())


@pytest.mark.parametrize("name", ["Results", "SubmissionResult", "ExerciseResult", "CheckResult", "Cause"])
def test_the_type_of_every_part_of_a_result_is_public(name: str) -> None:
    for hint in typing.get_type_hints(getattr(grader, name)).values():
        assert {struct.__name__ for struct in structs_in(hint)} <= PUBLIC


@pytest.mark.parametrize("used", ["__version__", "UserError", "SubmissionResult", "Limits", "Course", "grade", "check"])
def test_the_public_names_load_nothing_slow(used: str) -> None:
    slow = {"torch", "pytest", "hypothesis", "numpy"} | ({"msgspec"} if used == "__version__" else set())
    code = f"import sys, grader; grader.{used}; print(sorted(set(sys.modules) & {slow}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
