"""A course with a suite: its manifest, what it hands out and takes in, and what is to be known of it."""

import re
import shutil
from pathlib import Path

import pytest
from judge_here import grade_here

from grader.course import Course, checks_of
from grader.course.answers import handed_out
from grader.course.handout import init
from grader.errors import CourseError
from grader.files import python_files
from grader.grading.promises import Defect
from grader.grading.settings import topics_of
from grader.grading.verify import verify_course
from grader.intake.find import open_submission
from grader.intake.submission import Submission
from grader.notebook.cells import defined_topics, submission_of
from grader.reports.where import Locations
from grader.suites.honesty import places_in
from grader.text import by_kind

COURSE = Path(__file__).parent.parent / "courses" / "suite"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return Path(shutil.copytree(COURSE, tmp_path / "course", ignore=shutil.ignore_patterns("__pycache__")))


def test_tests_are_the_checks_of_their_exercise() -> None:
    found = {one.function: one for one in checks_of(Course.load(COURSE), "pkg")}
    assert found["TestMany.uses"].exercise == "pkg.scalars" and not found["TestMany.uses"].hidden
    assert found["secret"].exercise == "pkg.clock" and found["secret"].is_secret


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('tests = ["test_files.py"]', 'tests = ["test_none.py"]', "`adapters.files` names the test `test_none.py`"),
        ('tests = ["test_files.py"]', "", "course.toml:20: exercise `adapters.files` names no `tests`"),
        ('modules = ["tests.adapters"]', "", "topic `adapters` is none of \\[suite\\]'s modules and packages"),
        ('[suite]\nmodules = ["tests.adapters"]\npackages = ["pkg"]', "", "`tests` needs a \\[suite\\]"),
        ("[suite]", '[suite]\npath = "../tests"', "cannot be a folder or a module"),
        ("seconds = 2", "seconds = -2", "seconds must be a number above 0"),
        ("[suite]", '[suite]\npaths = "tests"', "unknown key `paths`; did you mean `path`"),
    ],
)
def test_manifest_that_fits_no_suite_is_refused(course: Path, old: str, new: str, message: str) -> None:
    manifest = course / "course.toml"
    text = manifest.read_text()
    assert old in text
    manifest.write_text(text.replace(old, new, 1))
    with pytest.raises(CourseError, match=message):
        Course.load(course)


def test_students_get_the_packages_and_no_hidden_test(tmp_path: Path) -> None:
    loaded = Course.load(COURSE)
    given = dict(handed_out(loaded))
    assert {"exercises/pkg/deep/ops.py", "tests/data/snap.json", "tests/common.py"} <= given.keys()
    assert b"4711" not in b"".join(given.values())
    assert b"def test_fast" in given["tests/test_clock.py"]
    init(loaded, tmp_path / "work")
    assert python_files(tmp_path / "work") == python_files(COURSE / "exercises")


def test_exercise_of_a_package_is_in_the_file_that_defines_it(tmp_path: Path) -> None:
    init(Course.load(COURSE), tmp_path)
    files = python_files(tmp_path)
    for places in (Locations(tmp_path), Locations(tmp_path, files)):
        assert re.search(r"pkg/deep/ops.py:\d+$", places.of("pkg.add"))
        assert places.of("pkg.nothing").endswith("pkg/__init__.py")


@pytest.mark.parametrize("place", ["", "exercises/"])
def test_submission_keeps_the_folders_of_a_package(tmp_path: Path, place: str) -> None:
    shutil.copytree(COURSE / "solutions", tmp_path / "in" / place, dirs_exist_ok=True)
    read = open_submission(tmp_path / "in", topics_of(Course.load(COURSE))).read()
    assert read.files == python_files(COURSE / "solutions") and not read.notes and not read.unread
    shutil.rmtree(tmp_path / "in")
    shutil.copytree(COURSE / "solutions" / "pkg", tmp_path / "in" / "pkg")
    read = open_submission(tmp_path / "in", topics_of(Course.load(COURSE))).read()
    assert read.files.keys() == {name for name in python_files(COURSE / "solutions") if "/" in name}


@pytest.mark.slow
def test_notebooks_cells_are_the_module_of_a_topic() -> None:
    course = Course.load(COURSE)
    cells = [(COURSE / "solutions" / "adapters.py").read_text()]
    assert defined_topics(cells, course) == ["adapters"] and defined_topics(["x = 1"], course) == []
    (result,) = grade_here(COURSE, submission_of(cells, course, ["adapters"], None), only=["adapters.files"])
    assert {one.verdict for one in result.exercises[0].checks} == {"passed"}


def test_places_where_the_student_has_a_say_are_listed_with_their_lines(tmp_path: Path) -> None:
    found = places_in(COURSE / "tests", ["tests.adapters", "pkg"])
    lines = {(one.file.name, line_of(one.file, one.line), one.kind) for one in found}
    assert ("test_tensors.py", "class Twice(Layer):", "source-sent") in lines
    assert ("test_pkg.py", "assert ops.add(1, 2) == pkg.add(1, 2)", "own-code") in lines
    assert ("test_clock.py", "import resource", "not-here") in lines
    assert not any("s.data + 1.0" in line and file == "test_files.py" for file, line, _ in lines)
    assert all(str(one).startswith(f"{one.file}:{one.line}: ") for one in found)
    loops = "def test_it():\n    from work import f, g\n    for k in range(3):\n        assert f(k) == k\n"
    (tmp_path / "test_loops.py").write_text(f"{loops}    for n in g():\n        assert f(n) == n\n")
    assert [one.line for one in places_in(tmp_path, ["work"])] == [6]
    (tmp_path / "test_loops.py").write_text(loops)
    assert not list(places_in(tmp_path, ["work"]))


def line_of(file: Path, line: int) -> str:
    return file.read_text().splitlines()[line - 1].strip()


@pytest.mark.slow
def test_verify_notes_what_a_suite_lacks_and_counts_no_defect(capfd: pytest.CaptureFixture[str]) -> None:
    found: list[Defect] = []
    looked_at = verify_course(Course.load(COURSE), found.append, is_quick=True)
    devices, memory, off = (check for exercise in looked_at for check in exercise.not_assessed)
    assert "needs a TPU" in devices
    assert "`TestMemory.little`: it limits its own process" in memory
    assert "asked_while_collecting" in off
    assert "a print of the test's own" not in capfd.readouterr().out
    assert [str(one) for one in found if not one.is_note] == []
    notes = "\n".join(str(one) for one in found)
    lines = by_kind((one.place, one.message) for one in found)
    assert any(re.search(r"`adapters.tensors` has no hints \(\d+ more: `adapters.files`, ", one) for one in lines)
    assert any(re.search(r"`\w+` has no docstring: .* \(\d+ more: test_\w+.py:\d+, ", one) for one in lines)
    # Seen while the tests ran.
    assert re.search(r"test_tensors.py:11: class `Model` is sent to the student's process", notes)
    assert "`step` is handed out and does the same as `adapters.step`; students get it with the tests" in notes
    (own,) = (one for one in lines if "asks the student's own `==`" in one)
    assert "test_pkg.py:40: asks the student's own `==`" in notes  # other tests of this process may have seen more
    assert re.search(r"test_\w+.py:\d+: asks .* \(\d+ more: test_\w+.py:\d+, ", own)


def test_use_of_an_object_is_one_small_exchange(course: Path) -> None:
    """A method's call is one, too, and names of classes come along with the first object alone."""
    (course / "tests" / "test_objects.py").write_text(
        "import pkg.derived as derived\n"
        "import pkg.objects as objects\n"
        "from grader.suites.bridge import running\n\n\n"
        "def test_uses():\n"
        "    record, machine = running[-1].channel.record, objects.Machine()\n"
        "    uses = (lambda: machine.start(2), lambda: machine.started, lambda: objects.area(2), objects.Machine)\n"
        "    for use in uses:\n"
        "        use()\n"
        "        before = len(record)\n"
        "        use()\n"
        "        assert len(record) == before + 1 and len(record[-1].request) + len(record[-1].reply) < 200\n"
        "    lists = [machine.started for _ in range(3)]\n"
        "    assert lists[0] is lists[2] and len(running[-1].contents._numbers) == 1\n"
        "    assert derived.take(3, (one for one in 'ab')) == ['a', 'b'] and not running[-1]._may_ask()\n"
    )
    (result,) = grade_here(course, Submission("right", python_files(COURSE / "solutions")), only=["pkg.objects"])
    assert [(one.verdict, one.message) for one in result.exercises[0].checks] == [("passed", "")]


def test_temporary_folders_are_those_of_this_judge(course: Path) -> None:
    """Those of pytest itself are tidied up by any other pytest of this user."""
    (course / "tests" / "test_objects.py").write_text(
        "import pkg.objects as objects\n\n\n"
        "def test_own(tmp_path):\n"
        "    assert objects.area(2) and tmp_path.parent.parent.name.startswith('torchkata-suite-')\n"
    )
    (result,) = grade_here(course, Submission("right", python_files(COURSE / "solutions")), only=["pkg.objects"])
    assert [(one.verdict, one.message) for one in result.exercises[0].checks] == [("passed", "")]


@pytest.mark.slow
def test_file_that_cannot_be_collected_costs_its_own_exercise_only(course: Path) -> None:
    file = course / "tests" / "test_files.py"
    file.write_text(f"import not_there\n{file.read_text()}")
    file = course / "tests" / "test_pkg.py"
    waits = "@pytest.mark.asyncio\nasync def test_waits(one):\n    assert await pkg.objects.fetch(1) == 2\n"
    file.write_text(f"{file.read_text()}\n\nimport pkg.objects\n\n\n{waits}")
    solution = Submission("right", python_files(COURSE / "solutions"))
    (result,) = grade_here(course, solution, only=["adapters.files", "pkg.scalars"])
    broken, right = result.exercises
    assert [one.verdict for one in broken.checks] == ["error"] and broken.max == 0
    assert "test_files.py:1: ModuleNotFoundError: No module named 'not_there'" in broken.checks[0].message
    assert [one for one in right.checks if one.verdict != "passed"] == []
    assert right.checks[-1].name == "waits"
