"""Course: what a manifest says, and that every way to write a wrong one is refused with file and line."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from grader.course import Course, CourseError, UnknownName, checks_of, content_hash, misconceptions_of

REPO = Path(__file__).resolve().parent.parent.parent
OWN = REPO / "examples" / "own_course"

MANIFEST = """\
[course]
name = "tiny"
title = "A tiny course"

[[topics]]
name = "first"
title = "First"

[[topics.exercises]]
name = "one"
points = 1
hints = ["a", "b"]

[[topics.exercises]]
name = "two"
points = 2
needs = ["one"]

[[topics]]
name = "second"
title = "Second"

[[topics.exercises]]
name = "one"
points = 0.5
needs = ["first.two"]
"""
CHECKS = {
    "first": '''\
"""Checks of first."""

@exercise("first.one")
def test_a(submission):
    """It is one."""

@exercise("first.two", hidden=True)
def test_b(submission):
    """It is two."""
''',
    "second": '@testkit.exercise("second.one")\ndef test_c(submission):\n    pass\n',
}
METHODS = {
    "unmarked": "    pass\nclass TestMore:\n    def test_m(self, submission): pass\n",
    "hidden": '    pass\nclass More:\n    @exercise("one", hidden="all")\n    def test_m(self, submission): pass\n',
    "below_if": "    pass\nif True:\n    def test_m(submission): pass\n",
}
"""Tests that pytest would collect, but that no reader of checks finds: hidden ones would be handed out."""
MISCONCEPTIONS = '''\
"""Wrong answers."""

@misconception("one", tell="First half, "
               "second half.")
def off_by_one(x):
    return 2

@misconception("first.two", tell="A class.", name="as_a_class")
class AsAClass:
    pass
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A complete course of two topics."""
    for topic, checks in CHECKS.items():
        _write(tmp_path / "exercises" / f"{topic}.py", "")
        _write(tmp_path / "checks" / f"test_{topic}.py", checks)
    _write(tmp_path / "solutions" / "misconceptions" / "first.py", MISCONCEPTIONS)
    _write(tmp_path / "course.toml", MANIFEST)
    return tmp_path


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) >= 1, f"{old!r} is not in {file}"
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_order_points_hints_and_full_needs_come_from_the_manifest(folder: Path) -> None:
    course = Course.load(folder)
    assert (course.name, course.title, course.root) == ("tiny", "A tiny course", folder)
    assert [(e.full_name, e.points, e.hints, e.needs) for e in course.exercises] == [
        ("first.one", 1.0, ("a", "b"), ()),
        ("first.two", 2.0, (), ("first.one",)),
        ("second.one", 0.5, (), ("first.two",)),
    ]


@pytest.mark.parametrize("where", [".", "exercises", "exercises/course.toml"])
def test_manifest_may_be_in_exercises(folder: Path, where: str) -> None:
    (folder / "course.toml").rename(folder / "exercises" / "course.toml")
    course = Course.load(folder / where)
    assert (course.root, course.checks_dir) == (folder, folder / "checks")


def test_course_survives_the_way_to_a_worker(folder: Path) -> None:
    course = Course.load(folder)
    assert pickle.loads(pickle.dumps(course)) == course
    error = CourseError(folder, 3, "wrong", fix="right it")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.fix) == (str(error), "right it")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("points = 2", "point = 2", 16, "unknown key `point`; did you mean `points`"),
        ("[course]", "[course]\nlate_until = 7", 2, "late_until: 7 is not a date: write 2026-10-31 or"),
        ("[course]", '[course]\ndue = "tomorrow"', 2, "due: 'tomorrow' is not a date: write 2026-10-31 or"),
        ("[course]", "[course]\nletter = {}", 2, "unknown key `letter`; did you mean `letters`"),
        ("[course]", "[course]\ntopic = {}", 2, "unknown key `topic`$"),
        ("points = 2", "", 14, "missing key `points`"),
        ("points = 2\n", "points = 2\ncolour = 'red'\n", 17, "unknown key `colour`"),
        ("points = 2\n", "points = 2\ntopic = ''\n", 17, "unknown key `topic`"),
        ('title = "A tiny course"', 'title = "A"\nyear = 2', 4, "unknown key `year`"),
        ('title = "Second"', "", 19, "missing key `title`"),
        ("points = 2", 'points = "2"', 16, '`points` must be a number, not "2"'),
        ("points = 2", "points = true", 16, "`points` must be a number, not true"),
        ('hints = ["a", "b"]', 'hints = "a"', 12, '`hints` must be a list of text in quotes, not "a"'),
        ('hints = ["a", "b"]', 'hints_for = { x = "1" }', 12, "each value of `hints_for` must be a whole number, not"),
        ("points = 2", 'points = 2\ncredit = "some"', 17, '`credit` must be "all" or "per-check", not "some"'),
        ('title = "A tiny course"', 'title = "A"\nshow_solutions = true', 4, '"after_passing" or "never", not true'),
        ('title = "A tiny course"', 'title = "A"\nstrict_import = "no"', 4, 'must be true or false, not "no"'),
        ('hints = ["a", "b"]', 'hints = ["a"]\nhints_for = { x = 2 }', 13, "`x` wants hint 2 of 1"),
        ('hints = ["a", "b"]', 'hints = ["a"]\nhints_for = { nothing = 1 }', 13, "has no check `nothing`"),
        ('hints = ["a", "b"]', 'hints = ["a", 3]', 12, "an entry of `hints` must be text in quotes, not 3"),
        ("points = 2", "points = 0", 16, "above 0"),
        ("points = 2", "points = -1", 16, "above 0"),
        ("points = 2", "points = inf", 16, "above 0"),
        ("points = 2", "points = nan", 16, "above 0"),
        ('name = "second"', 'name = "first"', 20, "`name` is taken: line 6 has the topic `first` already"),
        ('name = "second"', 'name = "First"', 20, "`name` is taken: line 6 has the topic `first` already"),
        ('name = "second"', 'name = "json"', 20, "`name`: Python has a module `json`; give the topic another name"),
        ('name = "two"', 'name = "one"', 15, "`name` is taken: line 10 has the exercise `first.one` already"),
        ('name = "two"', 'name = "t wo"', 15, "cannot be a name in Python"),
        ('name = "second"', 'name = "../etc"', 20, "cannot be a name in Python"),
        ('needs = ["one"]', 'needs = ["on"]', 17, "needs `first.on`.*did you mean `first.one`"),
        ('needs = ["one"]', 'needs = ["two"]', 17, "`first.two` needs itself"),
        ('needs = ["one"]', 'needs = ["second.one"]', 17, "`first.two` needs itself"),
        ("points = 2", "points = ", 16, "not valid TOML"),
    ],
)
def test_wrong_manifest_is_refused_with_its_line(folder: Path, old: str, new: str, line: int, message: str) -> None:
    _edit(folder / "course.toml", old, new)
    with pytest.raises(CourseError, match=message) as info:
        Course.load(folder)
    assert info.value.line == line
    assert str(info.value).startswith(f"{folder / 'course.toml'}:{line}: ")


def test_topic_without_exercises_is_refused(folder: Path) -> None:
    _write(folder / "course.toml", MANIFEST + '\n[[topics]]\nname = "third"\ntitle = "Third"\n')
    with pytest.raises(CourseError, match=r":28: topic `third` has no \[\[topics.exercises\]\]"):
        Course.load(folder)


def test_course_without_topics_is_refused(folder: Path) -> None:
    _write(folder / "course.toml", '[course]\nname = "a"\ntitle = "b"\n')
    with pytest.raises(CourseError, match="at least one"):
        Course.load(folder)


def test_folder_without_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"no course\.toml"):
        Course.load(tmp_path)


@pytest.mark.parametrize(
    ("missing", "message"), [("exercises/second.py", "no stub module"), ("checks/test_second.py", "no checks")]
)
def test_topic_without_its_files_is_refused_unless_incomplete_is_fine(folder: Path, missing: str, message: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(CourseError, match=rf"course\.toml:20: topic `second` has {message}"):
        Course.load(folder)
    assert len(Course.load(folder, complete=False).topics) == 2


def test_exercise_without_check_is_refused_at_its_line(folder: Path) -> None:
    _edit(folder / "checks" / "test_first.py", '"first.two", hidden=True', '"first.one"')
    with pytest.raises(CourseError, match=r"course\.toml:15: exercise `first.two` has no check"):
        Course.load(folder)


def test_checks_are_found_with_line_docstring_and_hidden(folder: Path) -> None:
    course = Course.load(folder)
    assert [(c.exercise, c.function, c.line, c.docstring, c.hidden) for c in checks_of(course, "first")] == [
        ("first.one", "test_a", 4, "It is one.", False),
        ("first.two", "test_b", 8, "It is two.", True),
    ]
    assert [(c.exercise, c.docstring) for c in checks_of(course, "second")] == [("second.one", "")]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('"first.one"', '"first.onn"', 3, "no exercise `first.onn`"),
        ('"first.one"', '"second.one"', 3, "topic `first` has no exercise `second.one`"),
        ('"first.one"', "NAME", 3, "literals"),
        ("hidden=True", "hiden=True", 7, "hidden"),
        ("test_b", "test_a", 8, "defined twice"),
        ("test_b", "b_test", 8, "begins with test_"),
        ('@exercise("first.one")\n', "", 3, "has no @exercise"),
        ("def test_a(submission):", "def test_a(submission:", 4, "not valid Python"),
        ('    """It is one."""\n', METHODS["unmarked"], 7, "`test_m` is inside class `TestMore`, where no check is"),
        ('    """It is one."""\n', METHODS["hidden"], 8, "`test_m` is inside class `More`, .* top of the file"),
        ('    """It is one."""\n', METHODS["below_if"], 7, "`test_m` is inside another statement"),
    ],
)
def test_wrong_check_is_refused_with_its_line(folder: Path, old: str, new: str, line: int, message: str) -> None:
    file = folder / "checks" / "test_first.py"
    _edit(file, old, new)
    with pytest.raises(CourseError, match=message) as info:
        Course.load(folder)
    assert (info.value.file, info.value.line) == (file, line)


def test_misconceptions_are_read_without_running_them(folder: Path) -> None:
    course = Course.load(folder)
    assert [(m.name, m.exercise, m.tell, m.topic, m.function) for m in misconceptions_of(course, "first")] == [
        ("off_by_one", "first.one", "First half, second half.", "first", "off_by_one"),
        ("as_a_class", "first.two", "A class.", "first", "AsAClass"),
    ]
    assert misconceptions_of(course, "second") == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('"one"', '"three"', 3, "no exercise `three`"),
        ('tell="A class."', "tell=TEXT", 8, "literals"),
        ('tell="A class."', 'tell=""', 8, "tell"),
        ('tell="A class.", ', "", 8, "tell"),
        ('"as_a_class"', '"off_by_one"', 9, "second misconception called `off_by_one`"),
    ],
)
def test_wrong_misconception_is_refused_with_its_line(
    folder: Path, old: str, new: str, line: int, message: str
) -> None:
    file = folder / "solutions" / "misconceptions" / "first.py"
    _edit(file, old, new)
    with pytest.raises(CourseError, match=message) as info:
        misconceptions_of(Course.load(folder), "first")
    assert (info.value.file, info.value.line) == (file, line)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], ["first.one", "first.two", "second.one"]),
        (["second"], ["second.one"]),
        (["two", "first"], ["first.one", "first.two"]),
        (["second.one", "first.one"], ["first.one", "second.one"]),
    ],
)
def test_selection_is_in_course_order_and_without_repeats(folder: Path, names: list[str], expected: list[str]) -> None:
    assert Course.load(folder).select(names) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("first.tow", "unknown exercise `first.tow`; did you mean `first.two`"),
        ("secnd", "unknown topic or exercise `secnd`; did you mean `second`?"),
        ("one", "`one` could be `first.one` or `second.one`"),
        ("zzzzzz", "unknown topic or exercise `zzzzzz`$"),
    ],
)
def test_unknown_name_says_what_is_near(folder: Path, name: str, message: str) -> None:
    with pytest.raises(UnknownName) as info:
        Course.load(folder).select([name])
    assert str(info.value).startswith(message.rstrip("$"))


@pytest.mark.parametrize(
    ("part", "more"),
    [
        ("course.toml", 'hints = ["another"]\n'),
        ("exercises/first.py", "\n"),
        ("solutions/misconceptions/first.py", "\n"),
        ("checks/test_second.py", "\n"),
    ],
)
def test_content_hash_follows_every_part(folder: Path, part: str, more: str) -> None:
    course = Course.load(folder)
    before = content_hash(course)
    (folder / "checks" / "__pycache__").mkdir()
    _write(folder / "checks" / "__pycache__" / "x.pyc", "noise")
    assert content_hash(course) == before
    _write(folder / part, (folder / part).read_text(encoding="utf-8") + more)
    assert content_hash(course) != before


def test_remarks_and_blank_lines_of_the_manifest_change_no_result(folder: Path) -> None:
    before = content_hash(Course.load(folder))
    _write(folder / "course.toml", "# A remark.\n\n" + MANIFEST.replace("points = 2", "points = 2  # two"))
    assert content_hash(Course.load(folder)) == before


def test_content_hash_does_not_depend_on_the_place(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = content_hash(Course.load(folder))
    moved = folder.rename(tmp_path_factory.mktemp("elsewhere") / "course")
    assert content_hash(Course.load(moved)) == before


def test_far_names_are_not_offered_beside_a_near_one() -> None:
    with pytest.raises(UnknownName, match=r"^unknown exercise `tensor_ops.gramm`; did you mean `tensor_ops.gram`\?$"):
        Course.load().select(["tensor_ops.gramm"])


def test_own_course_of_the_examples_loads() -> None:
    course = Course.load(OWN)
    assert [(e.full_name, e.needs) for e in course.exercises] == [
        ("vectors.normalize", ()),
        ("vectors.cosine", ("vectors.normalize",)),
    ]
    assert {m.exercise for m in misconceptions_of(course, "vectors")} == {e.full_name for e in course.exercises}
    assert all(check.docstring for check in checks_of(course, "vectors"))


def test_shipped_course_is_the_one_of_this_checkout_and_worth_1_to_4_points_an_exercise() -> None:
    course = Course.load()
    assert course == Course.load(REPO)
    assert course.checks_dir == REPO / "grader" / "checks"
    assert {exercise.points for exercise in course.exercises} <= {1.0, 2.0, 3.0, 4.0}
    assert all(len(exercise.hints) >= 2 for exercise in course.exercises)


def test_reading_a_course_imports_neither_torch_nor_pytest() -> None:
    code = "import sys; from grader.course import Course; Course.load(sys.argv[1]); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code, OWN], capture_output=True, text=True, check=True, cwd=REPO)
    assert not {"torch", "pytest", "hypothesis"} & set(run.stdout.split())
