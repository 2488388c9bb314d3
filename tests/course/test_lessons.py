"""Lessons: read strictly, handed out, brought by an update, and in notebooks before their exercises."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from shared import OWN_COURSE, REPO

from grader.course import Course, content_hash
from grader.course.answers import handed_out
from grader.course.handout import init, notebook_of
from grader.course.home import Origin
from grader.course.lessons import lesson_of, markdown_of
from grader.course.model import lesson_files
from grader.course.update import update
from grader.errors import CourseError
from grader.exports.package import wheel
from grader.grading.settings import topics_of
from grader.intake.find import open_submission
from grader.intake.notebook import module_of

TAUGHT = REPO / "tests" / "courses" / "taught"
SHIPPED = Course.load(None, complete=False)
Edit = Callable[[Path, str, str], None]


@pytest.fixture
def taught(tmp_path: Path) -> Path:
    """A copy of the course with lessons."""
    return Path(shutil.copytree(TAUGHT, tmp_path / "taught", ignore=shutil.ignore_patterns("__pycache__")))


def test_a_lesson_is_read_with_its_ideas_examples_and_drawings() -> None:
    lesson = lesson_of(Course.load(TAUGHT), "lines")
    assert lesson is not None and lesson.title == "Straight lines" and lesson.about.startswith("A line is")
    assert [(one.title, one.exercises) for one in lesson.ideas] == [
        ("Rise over run", ("lines.slope",)),
        ("Back to zero", ("lines.intercept",)),
        ("Lines that stand up", ()),
    ]
    kinds = [[part.kind for part in idea.parts] for idea in lesson.ideas]
    assert kinds == [["prose", "example", "drawing"]] * 3
    lines = lesson.file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lesson.examples.splitlines()):
        assert line in ("", lines[number])
    assert [line for line in lines if line.startswith(">>> ")] == re.findall(r"^>>> .*", lesson.examples, re.MULTILINE)
    compile(lesson.code, "lesson", "exec")


def test_a_course_has_no_lessons_unless_it_wants_some() -> None:
    assert lesson_of(Course.load(OWN_COURSE), "vectors") is None and not list(lesson_files(Course.load(OWN_COURSE)))


TITLE = "# Straight lines"
ABOUT = (
    "A line is the simplest thing that can be fitted to data.\n"
    "It comes again as `nn.Linear`, with many inputs instead of one.\n"
)
EXAMPLE = (
    "```python\n>>> 1.0 / 0.0\nTraceback (most recent call last):\nZeroDivisionError: float division by zero\n```\n"
)
DRAWING = "```text\n│ no run\n│ at all\n```\n"
LAST = "## Lines that stand up"
MANY = "".join(f"## {n}\n\nA.\n\n```python\n>>> 1\n1\n```\n\n```text\na\n```\n\n" for n in range(6))
WRONG = {
    "no title": (f"{TITLE}\n", "", ABOUT[:20], "a lesson begins with `# Title`"),
    "nothing about it": (ABOUT, "", TITLE, "says nothing between title and first idea"),
    "an exercise that there is not": ("For: slope", "For: slop", "For: slop", "has no exercise `slop`.*`slope`"),
    "an exercise twice": (
        "For: inter",
        "For: slope, inter",
        "## Back",
        r"`lines\.slope` is under `Rise over run` already",
    ),
    "an exercise nowhere": ("For: intercept\n", "", TITLE, r"`lines\.intercept` is under no idea"),
    "a long line": ("The **slope**", f"{'x' * 101}\n\nThe", "xxx", "a line has at most 100 characters, not 101"),
    "a long idea": ("The **slope**", "One.\n" * 20, "## Rise", "`Rise over run` has 2. lines without its drawing"),
    "no drawing": (DRAWING, "", LAST, "`Lines that stand up` has no drawing"),
    "two drawings": (DRAWING, DRAWING + DRAWING, "│ no run", "has a second drawing"),
    "a wide drawing": ("│ at all", "─" * 61, "───", "a line of a drawing has at most 60 columns, not 61"),
    "a high drawing": ("│ at all", "│\n" * 12, "│ no run", "a drawing has at most 12 lines, not 14"),
    "no example": (EXAMPLE, "", LAST, "`Lines that stand up` has no worked example"),
    "a program for an example": (">>> 1.0 / 0.0", "1.0 / 0.0", "1.0 / 0.0", "a worked example is what Python's prompt"),
    "an example that is not Python": (">>> 1.0 / 0.0", ">>> 1.0 /", ">>> 1.0 /", "the worked example is not Python"),
    "another kind of block": ("```text\n│ no run", "```sh\n│ no run", "```sh", "a block is ```python, .*```text"),
    "a block without an end": (
        "│ at all\n```\n",
        "│ at all\n",
        "```text",
        "the block that begins here has no ``` at its end",
    ),
    "the name of an exercise": ("def steps_back(", "def steeper(", ">>> def steeper", "`steeper` is an exercise"),
    "a picture that there is not": (
        DRAWING,
        "![up](picture:slope)\n",
        "![up]",
        r"no exercise `lines\.slope` has a picture",
    ),
    "many ideas": (LAST, MANY + LAST, "## 5", "a lesson has at most 7 ideas, not 9"),
    "a second title": (LAST, f"# More\n\n{LAST}", "# More", "a second `# Title`"),
}


@pytest.mark.parametrize("what", WRONG)
def test_each_fault_of_a_lesson_is_one_line_with_file_and_line(what: str, taught: Path, edit: Edit) -> None:
    before, after, where, message = WRONG[what]
    file = taught / "lessons" / "lines.md"
    edit(file, before, after)
    with pytest.raises(CourseError, match=message) as problem:
        lesson_of(Course.load(taught), "lines")
    assert "\n" not in str(problem.value) and str(problem.value).startswith(f"{file}:{problem.value.line}: ")
    assert file.read_text(encoding="utf-8").splitlines()[(problem.value.line or 0) - 1].startswith(where)


def test_headings_and_lists_of_exercises_in_blocks_are_text(taught: Path, edit: Edit) -> None:
    edit(taught / "lessons" / "lines.md", "│ no run", "## no run\nFor: nobody")
    lesson = lesson_of(Course.load(taught), "lines")
    assert lesson is not None and len(lesson.ideas) == 3 and "## no run" in lesson.ideas[2].parts[2].text


def test_a_picture_of_the_course_may_be_named_for_the_drawing(taught: Path, edit: Edit) -> None:
    edit(taught / "lessons" / "lines.md", DRAWING, "![it climbs](picture:lines.slope)\n")
    picture = '\n\n@picture("lines.slope", title="A line")\ndef picture_of_it(submission):\n    return None\n'
    checks = taught / "checks" / "test_lines.py"
    checks.write_text(checks.read_text() + picture)
    lesson = lesson_of(Course.load(taught), "lines")
    assert lesson is not None and lesson.ideas[2].parts[-1].picture == "lines.slope"
    assert "*it climbs* (`grader show lines.slope`)" in markdown_of(lesson.ideas[2])


def test_lessons_change_no_result_and_are_part_of_what_a_course_hands_out(taught: Path) -> None:
    course = Course.load(taught)
    before = content_hash(course)
    assert {name for name, _ in handed_out(course)} >= {"lessons/lines.md", "lessons/bugs.md"}
    (taught / "lessons" / "bugs.md").unlink()
    assert content_hash(Course.load(taught)) == before


@pytest.mark.parametrize("for_students", [True, False])
def test_lessons_are_in_the_wheel_of_a_course(for_students: bool, tmp_path: Path) -> None:
    file = wheel(Course.load(TAUGHT), tmp_path, "1.0", for_students=for_students)
    assert "torchkata_course_taught/lessons/lines.md" in zipfile.ZipFile(file).namelist()


def test_lessons_are_handed_out_and_an_update_keeps_what_a_reader_wrote(
    taught: Path, tmp_path: Path, edit: Edit
) -> None:
    folder, lesson = tmp_path / "kata", tmp_path / "kata" / "lessons" / "lines.md"
    written = init(Course.load(taught), folder, Origin(has_course=True))
    assert lesson in written and "`lessons/`" in (folder / "README.md").read_text(encoding="utf-8")
    assert init(Course.load(taught), folder, Origin(has_course=True)) == []
    edit(taught / "lessons" / "lines.md", "Two points", "Two different points")
    assert [one.text for one in update(Course.load(taught), folder, Origin(has_course=True))] == [
        "lessons/lines.md: changed"
    ]
    assert lesson.read_text(encoding="utf-8") == (taught / "lessons" / "lines.md").read_text(encoding="utf-8")
    assert [file.name for file in lesson.parent.iterdir() if ".bak" in file.name] == []
    edit(lesson, "different", "(remember!)")
    (folder / "lessons" / "bugs.md").unlink()
    found = {one.text for one in update(Course.load(taught), folder, Origin(has_course=True))}
    assert found == {"lessons/lines.md: changed", "lessons/bugs.md: new"}
    assert "(remember!)" in lesson.with_name("lines.md.bak").read_text(encoding="utf-8")
    assert update(Course.load(taught), folder, Origin(has_course=True)) == []


def test_a_notebook_has_each_idea_in_a_cell_before_its_exercises_and_begins_with_what_it_needs() -> None:
    course = Course.load(TAUGHT)
    whole = notebook_of(course, course.topic("lines"), course.stub_file("lines").read_bytes())
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(whole)["cells"]]
    first = [text.splitlines()[0] for _, text in cells]
    assert first == [
        "# Straight lines",
        "try:  # installs the grader where it is missing, as in Colab",
        "A line is the simplest thing that can be fitted to data.",
        "from grader import check, hint, show",
        "## Rise over run",
        "**slope**, easy, about 5 minutes: how fast something grows",
        "def slope(p: tuple[float, float], q: tuple[float, float]) -> float:",
        'check("lines.slope")',
        "## Back to zero",
        "**intercept**, medium, about 10 minutes: where it began",
        "def intercept(p: tuple[float, float], q: tuple[float, float]) -> float:",
        'check("lines.intercept")',
        "## Lines that stand up",
    ]
    assert "[Open in Colab](https://colab.example/of/taught/lines.ipynb)" in cells[0][1]
    assert "%pip install --quiet torchkata torchkata-course-taught\n" in cells[1][1]
    assert cells[1][1].endswith("grader init . --course taught")
    assert ">>> rise / run\n0.5" in cells[4][1] and "▶" not in cells[4][1] and "● there" in cells[4][1]


def test_the_cell_that_installs_is_no_part_of_what_is_handed_in_and_worth_no_note() -> None:
    course = Course.load(TAUGHT)
    for one, topic in ((course, "lines"), (SHIPPED, "tensor_ops")):
        code = module_of(notebook_of(one, one.topic(topic), one.stub_file(topic).read_bytes()))
        assert code.module is not None and code.notes == []
        assert b"pip" not in code.module and b"import grader" not in code.module


def test_lessons_are_not_taken_for_work_that_a_person_marks(own_course: Path, tmp_path: Path) -> None:
    """Neither the files nor the cells of a notebook: nobody has written anything yet."""
    manifest = own_course / "course.toml"
    manifest.write_text(
        manifest.read_text(encoding="utf-8")
        + '\n[[topics.exercises]]\nname = "report"\nkind = "manual"\nfile = "report.md"\n'
        + '\n[[topics.exercises.rubric]]\ntext = "says why"\npoints = 1\n',
        encoding="utf-8",
    )
    names = ", ".join(one.name for one in Course.load(own_course, complete=False).all_exercises)
    (own_course / "lessons").mkdir()
    (own_course / "lessons" / "vectors.md").write_text(
        f"# Vectors\n\nThey point.\n\n## Length\nFor: {names}\n\nA length.\n\n"
        "```python\n>>> 3\n3\n```\n\n```text\n──▶\n```\n"
    )
    course = Course.load(own_course)
    for notebooks in (False, True):
        folder = tmp_path / f"work-{notebooks}"
        init(course, folder, Origin(has_course=True), notebooks=notebooks)
        work = open_submission(folder, topics_of(course)).read()
        assert set(work.files) == {"vectors.py"}, work.notes


@pytest.mark.parametrize("topic", [topic.name for topic in SHIPPED.topics if SHIPPED.lesson_file(topic.name).is_file()])
def test_lessons_of_the_shipped_course_have_three_ideas_and_more(topic: str) -> None:
    lesson = lesson_of(SHIPPED, topic)
    assert lesson is not None and 3 <= len(lesson.ideas) <= 7
