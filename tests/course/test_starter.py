"""`grader new`: a new course is sound at once, and so is one with an exercise more."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_here import run_here
from shared import KIT_COURSE

from grader.course import Course
from grader.course.starter import new_course, new_exercise, with_imports
from grader.errors import CourseError, UserError


@pytest.mark.slow
def test_a_new_course_is_sound_and_has_all_that_an_author_looks_for(tmp_path: Path) -> None:
    made = run_here("new", "my-course", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    course = tmp_path / "my-course"
    for name in ("lines.halve", "shapes.widen"):
        added = run_here("new", "--exercise", name, "--course", "my-course", cwd=tmp_path)
        assert added.returncode == 0, added.stderr
    loaded = Course.load(course)
    assert [one.full_name for one in loaded.exercises] == [
        "lines.predict", "lines.squared_error", "lines.halve", "shapes.widen",
    ]  # fmt: skip
    verified = run_here("verify", "--course", "my-course", cwd=tmp_path)
    assert verified.returncode == 0 and "the course is sound" in verified.stdout, verified.stdout
    mutants = run_here("verify", "--mutants", "--course", "my-course", cwd=tmp_path)
    assert mutants.returncode == 0, mutants.stdout
    checks = (course / "checks" / "test_lines.py").read_text()
    assert "@given(" in checks and "@picture(" in checks
    assert "@misconception(" in (course / "solutions" / "misconceptions" / "lines.py").read_text()


def test_an_exercise_is_added_to_its_topic_and_imports_what_it_needs(tmp_path: Path) -> None:
    course = new_course(tmp_path / "c")
    new_exercise(Course.load(course), "later.first")
    solution = course / "solutions" / "lines.py"
    solution.write_text(solution.read_text().replace("from torch import Tensor", "from torch import *"))
    new_exercise(Course.load(course, complete=False), "lines.third")
    assert [one.full_name for one in Course.load(course).exercises][2:] == ["lines.third", "later.first"]
    assert "from torch import Tensor\n" in solution.read_text()


def test_only_imports_that_a_file_lacks_are_added_below_its_own() -> None:
    head = '"""Head."""\n\nimport torch\nfrom grader.testkit import exercise, tensors\n'
    source = '"""Mine."""\n\nfrom grader.testkit import (\n    exercise,\n)\n\nX = 1\n'
    assert with_imports(source, head).split("\n")[4:8] == [
        ")",
        "import torch",
        "from grader.testkit import tensors",
        "",
    ]
    assert with_imports(head, head) == head


@pytest.mark.parametrize(
    "name",
    ["vectors", "vectors.normalize", "vectors.two words", "class.f", "torch.ones", "json.dumps", "vectors.Tensor"],
)
def test_a_name_that_is_taken_or_is_none_is_refused(own_course: Path, name: str) -> None:
    before = (own_course / "course.toml").read_bytes()
    with pytest.raises(UserError):
        new_exercise(Course.load(own_course), name)
    assert (own_course / "course.toml").read_bytes() == before


@pytest.mark.parametrize("name", ["vectors.Tensor", "vectors.torch", "later.Tensor"])
def test_a_name_that_the_module_uses_for_something_else_is_refused(own_course: Path, name: str) -> None:
    topic, _, part = name.partition(".")
    with pytest.raises(UserError, match=rf"`{part}` means something else in {topic}\.py already"):
        new_exercise(Course.load(own_course), name)


def test_a_topic_with_the_name_of_the_kit_is_refused(tmp_path: Path) -> None:
    course = shutil.copytree(KIT_COURSE, tmp_path / "course")
    with pytest.raises(UserError, match="`kit` is the name of the course's kit"):
        new_exercise(Course.load(course), "kit.first")
    assert Course.load(course).kit is not None


def test_a_folder_with_files_is_left_alone(own_course: Path) -> None:
    with pytest.raises(UserError, match="not empty"):
        new_course(own_course)


def break_a_check(course: Path) -> None:
    (course / "checks" / "test_lines.py").write_text("def (")


def break_the_solution_of_another_topic(course: Path) -> None:
    solution = course / "solutions" / "later.py"
    solution.write_text(solution.read_text().replace("    # end\n", ""))


def put_a_folder_where_the_stub_must_go(course: Path) -> None:
    (course / "exercises" / "lines.py").unlink()
    (course / "exercises" / "lines.py").mkdir()


@pytest.mark.parametrize(
    "spoil", [break_a_check, break_the_solution_of_another_topic, put_a_folder_where_the_stub_must_go]
)
def test_an_exercise_that_cannot_be_added_leaves_the_course_as_it_was(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    course = new_course(tmp_path / "c")
    new_exercise(Course.load(course), "later.first")
    spoil(course)
    before = content_of(course)
    added = run_here("new", "--exercise", "lines.third", "--course", "c", cwd=tmp_path)
    assert added.returncode == 4 and "Traceback" not in added.stderr, added.stderr
    assert content_of(course) == before


def test_a_topic_that_cannot_be_added_leaves_the_course_as_it_was(tmp_path: Path) -> None:
    course = new_course(tmp_path / "c")
    break_a_marker = (course / "solutions" / "lines.py").read_text().replace("# end", "# ends", 1)
    (course / "solutions" / "lines.py").write_text(break_a_marker)
    shutil.rmtree(course / "solutions" / "misconceptions")
    before = content_of(course)
    with pytest.raises(CourseError):
        new_exercise(Course.load(course), "later.first")
    assert content_of(course) == before


def content_of(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
