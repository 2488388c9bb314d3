"""`init`, `init --update` and `reset`: no answer is lost or changed, and no answer of the course goes out."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from classrooms import OWN

from grader.course import Course
from grader.course.definitions import block_of, definition, lines_in
from grader.course.handout import init
from grader.course.home import HIDDEN, Home, LastCheck, Origin
from grader.course.stubs import solution_of
from grader.course.update import Change, reset, update, updated, with_stub_of
from grader.errors import UserError
from grader.reports.where import where_lines

BASE = '''"""Topic."""

import torch


def first(x):
    """The first."""
    raise NotImplementedError("write `first` here")


def second(x):
    """The second."""
    raise NotImplementedError("write `second` here")
'''
NEW = '''"""Topic."""

import math

import torch


def first(x):
    """The first, in other words."""
    raise NotImplementedError("write `first` here")


def between(x):
    """New."""
    raise NotImplementedError("write `between` here")


def second(x, y):
    """The second, of two."""
    raise NotImplementedError("write `second` here")
'''
ANSWER = BASE.replace('raise NotImplementedError("write `first` here")', "y = x + 1  # mine\n    return y")


def test_an_update_brings_what_is_new_and_touches_no_answer() -> None:
    text, changes = updated(ANSWER.encode(), NEW.encode(), BASE.encode())
    assert [one.text for one in changes] == ["new: between", "changed: second", "new docstring: first"]
    assert '"""The first, in other words."""\n    y = x + 1  # mine\n    return y\n' in text
    assert text.index("def first") < text.index("def between") < text.index("def second(x, y)")
    assert "import torch\nimport math\n" in text
    assert updated(text.encode(), NEW.encode(), NEW.encode()) == (text, [])
    compile(text, "t", "exec")


def test_an_answer_whose_signature_changed_is_kept_and_named() -> None:
    work = BASE.replace('raise NotImplementedError("write `second` here")', "return x")
    text, changes = updated(work.encode(), NEW.encode(), BASE.encode())
    assert "def second(x):\n" in text and "return x" in text
    problems = [one.text for one in changes if one.is_problem]
    assert problems == ["`second` is called in another way now: see its docstring"]


def test_a_docstring_that_the_student_changed_stays() -> None:
    work = ANSWER.replace("The first.", "My own notes.")
    text, changes = updated(work.encode(), NEW.encode(), BASE.encode())
    assert "My own notes." in text and not any("docstring: first" in one.text for one in changes)


def test_without_the_old_stub_only_untouched_stubs_are_replaced() -> None:
    text, changes = updated(ANSWER.encode(), NEW.encode(), None)
    assert Change("changed: second") in changes and "y = x + 1  # mine" in text


@pytest.mark.parametrize("broken", ["def first(x:\n    return (1\n", "class first:\n\n\n    def\n"])
def test_a_broken_file_can_be_updated_and_an_exercise_put_back(broken: str) -> None:
    work = f"import torch\n\n\n{broken}\n\nx = 3\n"
    assert with_stub_of(work.encode(), BASE.encode(), "first").count('"""The first."""') == 1
    assert "x = 3" in updated(work.encode(), NEW.encode(), BASE.encode())[0]


def test_windows_line_ends_are_kept() -> None:
    work = ANSWER.replace("\n", "\r\n").encode()
    text, _ = updated(work, NEW.encode(), BASE.encode())
    assert "\n" not in text.replace("\r\n", "") and "between" in text
    assert with_stub_of(work, BASE.encode(), "first") == BASE.replace("\n", "\r\n")


def test_what_is_handed_out_holds_no_answer(tmp_path: Path) -> None:
    init(Course.load(OWN), tmp_path / "work", Origin(has_course=True))
    inside = tmp_path / "work" / HIDDEN / "course"
    names = {path.relative_to(inside).as_posix() for path in inside.rglob("*") if path.is_file()}
    assert names == {"course.toml", "exercises/vectors.py", "checks/test_vectors.py"}
    home = Home.find(tmp_path / "work")
    assert home is not None and home.course is not None and Course.load(home.course).name == Course.load(OWN).name


@pytest.mark.parametrize("link", [HIDDEN, f"{HIDDEN}/course"])
def test_nothing_is_replaced_behind_a_link(tmp_path: Path, own_course: Path, link: str) -> None:
    init(Course.load(own_course), tmp_path / "work", Origin(has_course=True))
    elsewhere = (tmp_path / "work" / link).rename(tmp_path / "elsewhere")
    (tmp_path / "work" / link).symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(UserError, match="is a link"):
        update(Course.load(own_course), tmp_path / "work", Origin(has_course=True))
    assert sorted(elsewhere.rglob("*")) == before
    assert link != HIDDEN or Home.find(tmp_path / "work") is None


def test_update_of_a_folder_keeps_the_file_from_before(tmp_path: Path, own_course: Path) -> None:
    init(Course.load(own_course), tmp_path / "work")
    file = tmp_path / "work" / "vectors.py"
    mine = file.read_text().replace('raise NotImplementedError("write `cosine` here")', "return 1  # mine")
    file.write_text(mine)
    assert update(Course.load(own_course), tmp_path / "work") == []
    stub = own_course / "exercises" / "vectors.py"
    stub.write_text(stub.read_text().replace("def normalize(", "def scale(x):\n    pass\n\n\ndef normalize("))
    assert [one.text for one in update(Course.load(own_course), tmp_path / "work")] == ["vectors.py: new: scale"]
    assert "# mine" in file.read_text() and "def scale" in file.read_text()
    assert (tmp_path / "work" / "vectors.py.bak").read_text() == mine
    assert update(Course.load(own_course), tmp_path / "work") == []


def test_reset_puts_one_stub_back_and_keeps_the_text(tmp_path: Path) -> None:
    course = Course.load(OWN)
    init(course, tmp_path)
    file = tmp_path / "vectors.py"
    stub = file.read_text()
    mine = stub.replace('raise NotImplementedError("write `cosine` here")', "return 1")
    file.write_text(mine)
    backup = reset(course, tmp_path, "vectors.cosine")
    assert file.read_text() == stub and backup.read_text() == mine
    with pytest.raises(UserError, match="is not there"):
        reset(course, tmp_path / "elsewhere", "vectors.cosine")


def test_a_file_that_is_not_utf8_is_not_touched(tmp_path: Path) -> None:
    course = Course.load(OWN)
    init(course, tmp_path)
    data = "x = 'é'\n".encode("latin-1")
    (tmp_path / "vectors.py").write_bytes(data)
    (change,) = update(course, tmp_path)
    assert change.is_problem and "UTF-8" in change.text and (tmp_path / "vectors.py").read_bytes() == data
    with pytest.raises(UserError, match="UTF-8"):
        reset(course, tmp_path, "vectors.cosine")


def test_progress_is_kept_together_and_a_broken_file_of_it_is_no_harm(tmp_path: Path) -> None:
    init(Course.load(OWN), tmp_path)
    home = Home.find(tmp_path)
    assert home is not None and home.progress() == {}
    home.note({"vectors.cosine": LastCheck("passed", 2, 2)})
    home.note({"vectors.normalize": LastCheck("failing", 0, 1)})
    assert home.progress() == {
        "vectors.cosine": LastCheck("passed", 2, 2),
        "vectors.normalize": LastCheck("failing", 0, 1),
    }
    (tmp_path / HIDDEN / "progress.json").write_text("{")
    assert home.progress() == {}
    assert Home.find(tmp_path / "vectors.py") is not None and Home.find(tmp_path.parent) is None


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        init(Course.load(OWN), tmp_path / "file" / "work")
    assert stat.S_ISREG((tmp_path / "file").stat().st_mode)


def earlier_version(root: Path, shipped: Course) -> Course:
    """The shipped course as it was: checkpoints at the end, without two topics and without an exercise of training."""
    text = shipped.manifest.read_text(encoding="utf-8").replace('kit = "kit"\n', "")
    head, *topics = text.split("[[topics]]\n")
    by_name = {topic.split('"')[1]: topic for topic in topics}
    gone = by_name.pop("debugging"), by_name.pop("spirals")
    assert "nobody_waits_for_ever" in gone[0]
    first, *exercises = by_name["training"].split("[[topics.exercises]]\n")
    kept = [one for one in exercises if 'name = "warmup_cosine"' not in one]
    by_name["training"] = "[[topics.exercises]]\n".join([first, *kept])
    by_name["checkpoints"] = by_name.pop("checkpoints")
    (root / "exercises").mkdir(parents=True)
    (root / "course.toml").write_text("[[topics]]\n".join([head, *by_name.values()]), encoding="utf-8")
    for name in by_name:
        stub = shipped.stub_file(name).read_text(encoding="utf-8")
        start, _, rest = stub.partition("\n\n\ndef warmup_cosine(")
        end = rest.find("\n\n\ndef ")
        stub = start + (rest[end:] if rest and end >= 0 else "" if not rest else "\n")
        (root / "exercises" / f"{name}.py").write_text(stub, encoding="utf-8")
    return Course.load(root, complete=False)


def test_a_folder_of_the_version_before_gets_the_new_topic_and_order_and_keeps_its_answers(tmp_path: Path) -> None:
    shipped, work = Course.load(None), tmp_path / "work"
    old = earlier_version(tmp_path / "old", shipped)
    assert "debugging" not in [topic.name for topic in old.topics] and old.topics[-1].name == "checkpoints"
    init(old, work)
    answered: dict[str, list[str]] = {}
    for number, exercise in enumerate(old.exercises):
        if number % 2:
            continue
        file = work / f"{exercise.topic}.py"
        lines, solved = lines_in(file.read_bytes()), solution_of(shipped.solution_file(exercise.topic), exercise.name)
        start, end = definition(lines, exercise.name)
        answered[exercise.full_name] = [*solved.splitlines(), "    # mine"]
        lines[start - 1 : end] = answered[exercise.full_name]
        file.write_text("\n".join(lines), encoding="utf-8")
    marks = {name: LastCheck("passed", 1, 1) for name in answered}
    Home(work).note(marks)

    changes = [one.text for one in update(shipped, work)]

    assert {"debugging.py: new", "spirals.py: new", "training.py: new: warmup_cosine"} <= {*changes}
    for name, lines in answered.items():
        topic, _, own = name.partition(".")
        assert block_of(lines_in((work / f"{topic}.py").read_bytes()), own) == lines, name
    assert (work / "debugging.py").read_bytes() == shipped.stub_file("debugging").read_bytes()
    assert Home(work).progress() == marks
    shown = list(where_lines(shipped, work, Home(work).progress(), 80))
    topics = [line.split()[1] if line[0] == "★" else line.split()[0] for line in shown[2 : 2 + len(shipped.topics)]]
    assert topics == [topic.name for topic in shipped.topics]
    assert topics.index("checkpoints") == topics.index("training") + 1
    assert update(shipped, work) == []
