"""`grader similar --against`: earlier gradebooks, the course's solutions and other code; what is refused, and how."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
import test_similar
from shared import OWN_COURSE
from test_similar import COURSE, LONG_WAY, OTHER_WAY, RENAMED, SOLUTION, STUB, grader, made_up

from grader.course import Course
from grader.errors import UserError
from grader.gradebook import Gradebook
from grader.reports.entries import entries_of
from grader.similar.others import open_others
from grader.similar.page import write_page
from grader.similar.pairs import Findings, find_pairs

# What a student could write instead of the reference solution, in lines enough to be listed.
LONG_SOLUTION = (
    SOLUTION
    + """
def steps(x):
    total = x.sum(dim=0)
    for _ in range(3):
        total = total - x.mean(dim=0)
        total = total.clamp(min=0.5)
        x = x * total.sqrt()
    return x.cumsum(0)
"""
)


def gradebook(folder: Path, works: dict[str, str], topic: str = "vectors") -> Path:
    return test_similar.gradebook(folder, *works.items(), topic=topic)


def found(now: Path, *places: str | Path, course: Course = COURSE, least: float = 0.6) -> Findings:
    with Gradebook.open_existing(now) as book, open_others(list(map(str, places)), course, book) as others:
        return find_pairs(entries_of(book), course, least, others)


def with_others(findings: Findings) -> set[tuple[str, str, str]]:
    assert findings.with_others is not None
    return {(one.first.name, one.second.name, one.second.origin) for one in findings.with_others}


def refused(now: Path, *places: str | Path, course: Course = COURSE) -> UserError:
    with pytest.raises(UserError) as problem:
        found(now, *places, course=course)
    return problem.value


@pytest.fixture
def now(tmp_path: Path) -> Path:
    """The class: ann and bob are alike, eve wrote alone."""
    return gradebook(tmp_path / "now", {"ann": STUB + LONG_WAY, "bob": STUB + RENAMED, "eve": STUB + made_up(1)})


# ---------------------------------------------------------------- earlier gradebooks


def test_pairs_with_earlier_terms_are_listed_and_none_within_these(tmp_path: Path, now: Path) -> None:
    spring = gradebook(tmp_path / "spring", {"sue": RENAMED + STUB, "sam": STUB + RENAMED, "sid": STUB + OTHER_WAY})
    autumn = gradebook(tmp_path / "autumn", {"sue": STUB + made_up(1).replace("x", "value"), "al": STUB + made_up(2)})
    findings = found(now, spring, autumn)
    assert with_others(findings) == {
        ("ann", "sue", str(spring)),
        ("ann", "sam", str(spring)),
        ("bob", "sue", str(spring)),
        ("bob", "sam", str(spring)),
        ("eve", "sue", str(autumn)),
    }
    alone = found(now)
    assert alone.with_others is None
    assert findings.pairs == alone.pairs and [(one.first.name, one.second.name) for one in alone.pairs] == [
        ("ann", "bob")
    ], "pairs of the class depend on what it is compared with"
    assert (findings.submissions, findings.compared, findings.notes) == (3, 3, ())


def test_a_gradebook_given_twice_is_compared_once(tmp_path: Path, now: Path) -> None:
    spring = gradebook(tmp_path / "spring", {"sue": STUB + RENAMED})
    findings = found(now, spring, spring / "gradebook.sqlite", spring / ".." / "spring")
    assert with_others(findings) == {("ann", "sue", str(spring)), ("bob", "sue", str(spring))}


def test_stub_and_solution_are_nobodys_in_earlier_terms_either(tmp_path: Path) -> None:
    now = gradebook(tmp_path / "now", {"ann": STUB, "bob": SOLUTION, "eve": STUB + SOLUTION})
    spring = gradebook(tmp_path / "spring", {"sue": STUB, "sam": SOLUTION})
    findings = found(now, spring, least=0.01)
    assert findings.with_others == () and findings.compared == 0


@pytest.mark.parametrize("many", ["now", "spring"])
def test_what_more_than_20_of_either_class_have_is_common(many: str, tmp_path: Path) -> None:
    """As an older stub would be: all of an earlier class have it, and this year somebody who repeats the course."""
    sizes = {"now": 1, "spring": 1, many: 20}
    for count, pairs in ((20, 20), (21, 0)):
        folders = [
            gradebook(tmp_path / f"{name}{count}", {f"{name}{n}": STUB + LONG_WAY for n in range(size)})
            for name, size in (sizes | {many: count}).items()
        ]
        assert len(found(*folders).with_others or ()) == pairs


def test_an_earlier_term_without_the_topic_is_noted(tmp_path: Path, now: Path) -> None:
    """Another version of the course: no file of this topic, and a topic that this course has not."""
    spring = gradebook(tmp_path / "spring", {"sue": STUB + LONG_WAY}, topic="matrices")
    findings = found(now, spring)
    assert findings.with_others == ()
    assert findings.notes == (f"{spring}: nobody has vectors.py; not compared",)


def test_what_cannot_be_compared_is_noted_with_its_place(tmp_path: Path, now: Path) -> None:
    spring = gradebook(tmp_path / "spring", {"sue": "\0" * 90, "sam": "x = 1\n" * 20_000})
    assert found(now, spring).notes == (
        f"{spring}: sam: vectors.py is larger than 100 kB; not compared",
        f"{spring}: sue: vectors.py is not Python text; not compared",
    )


def test_where_too_much_is_alike_with_others_the_note_names_them(
    tmp_path: Path, now: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spring = gradebook(tmp_path / "spring", {name: STUB + LONG_WAY for name in "abc"})
    monkeypatch.setattr("grader.similar.pairs._MOST_SHARED", 250)
    findings = found(now, spring)
    count = len(findings.with_others or ())
    assert 1 <= count < 6 and len(findings.pairs) == 1
    assert findings.notes == (f"vectors, with {spring}: of 6 pairs with much in common, {count} were compared",)


def test_the_gradebook_of_the_class_is_refused(tmp_path: Path, now: Path) -> None:
    file = now / "gradebook.sqlite"
    (tmp_path / "link").symlink_to(now)
    (tmp_path / "hard.sqlite").hardlink_to(file)
    shutil.copy(file, tmp_path / "copy.sqlite")
    backup = next(now.glob("gradebook.backup-*.sqlite"))
    with Gradebook.open(file) as book:
        book.start_run("course", "hash", 0, "{}", {})  # what a backup has not
    places = (now, file, tmp_path / "link", tmp_path / "hard.sqlite", tmp_path / "copy.sqlite", backup)
    for place in places:
        before = place.read_bytes() if place.is_file() else b""
        problem = refused(now, place)
        assert "is the gradebook of this class, or a copy of it" in problem.message, place
        assert place != backup or before == place.read_bytes()
        assert problem.fix == "leave it out: the class is compared with itself anyway"


def test_an_older_gradebook_is_refused_by_its_version(tmp_path: Path, now: Path) -> None:
    spring = gradebook(tmp_path / "spring", {"sue": STUB + LONG_WAY})
    with sqlite3.connect(spring / "gradebook.sqlite") as database:
        database.execute("PRAGMA user_version = 1")
    done = grader("similar", "--out", now, "--course", OWN_COURSE, "--against", spring)
    assert done.returncode == 4 and not (now / "similar.html").exists()
    assert re.fullmatch(
        r"error: \S+gradebook\.sqlite is a gradebook of version 1; this grader reads version \d+\n"
        r"  use the grader that made it, or name another folder with --against PATH\n",
        done.stderr,
    )


def test_a_damaged_or_lost_gradebook_of_an_earlier_term_says_how_to_restore_it(tmp_path: Path, now: Path) -> None:
    for name, damage in (("damaged", b"no database"), ("lost", None)):
        spring = gradebook(tmp_path / name, {"sue": STUB + LONG_WAY})
        file = spring / "gradebook.sqlite"
        file.unlink()
        if damage:
            file.write_bytes(damage)
        problem = refused(now, spring)
        assert "is damaged" in problem.message and f"grader restore --out {spring}" in str(problem.fix)


# ---------------------------------------------------------------- solutions and other code


@pytest.fixture
def solved(own_course: Path) -> Course:
    """A course whose solution is long enough to be recognized."""
    (own_course / "solutions" / "vectors.py").write_text(LONG_SOLUTION)
    return Course.load(own_course, complete=False)


def test_with_the_courses_solutions_the_solution_is_not_taken_away(tmp_path: Path, solved: Course) -> None:
    copied = LONG_SOLUTION.replace("total", "summe")
    now = gradebook(tmp_path / "now", {"ann": copied, "bob": copied, "eve": STUB + OTHER_WAY, "sue": STUB})
    origin = "the course's solutions"
    for places in (["solutions"], [solved.solutions_dir], ["solutions", solved.solutions_dir]):
        findings = found(now, *places, course=solved)
        assert with_others(findings) == {("ann", "vectors.py", origin), ("bob", "vectors.py", origin)}
        assert findings.pairs == (), "in the class, the solution is taken away as ever"
        assert findings.compared == 3 and findings.notes == ()
    lines = LONG_SOLUTION.split("\n")
    (pair, _) = findings.with_others or ()
    assert {lines.index("        total = total - x.mean(dim=0)") + 1, len(lines) - 1} <= pair.second.lines
    stub = {line.strip() for line in STUB.split("\n")}
    assert all(lines[line - 1].strip() not in stub for line in pair.second.lines), "a line of the stub is marked"


def test_what_many_of_the_class_share_with_the_solution_is_common(tmp_path: Path, solved: Course) -> None:
    for size, pairs in ((20, 20), (21, 0)):
        now = gradebook(tmp_path / f"{size}", {f"s{n}": LONG_SOLUTION for n in range(size)})
        assert len(found(now, "solutions", course=solved).with_others or ()) == pairs


def test_solutions_are_refused_in_a_copy_of_the_course_without_them(
    tmp_path: Path, now: Path, own_course: Path
) -> None:
    shutil.rmtree(own_course / "solutions")
    problem = refused(now, "solutions", course=Course.load(own_course, complete=False))
    assert problem.message.startswith("similar --against solutions needs the solutions")


def test_a_folder_called_solutions_is_meant_with_a_path(
    tmp_path: Path, now: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "old.py").write_text(LONG_WAY)
    monkeypatch.chdir(tmp_path)
    assert with_others(found(now, "./solutions")) == {
        ("ann", "old.py", "./solutions"),
        ("bob", "old.py", "./solutions"),
    }
    assert with_others(found(now, "solutions")) == set()


def notebook(*cells: str) -> str:
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


CODE = {
    "vectors.py": LONG_WAY,
    "week 1/Vectors (2).py": RENAMED,
    "week 1/answers.py": "import torch\n" + LONG_WAY,
    "ünï/notes.ipynb": notebook("%matplotlib inline\nimport torch", LONG_WAY),
    "else.py": OTHER_WAY,
    ".venv/lib/vectors.py": LONG_WAY,
    "__pycache__/vectors.py": LONG_WAY,
    "report.md": LONG_WAY,
}
ALIKE = ("vectors.py", "week 1/Vectors (2).py", "week 1/answers.py", "ünï/notes.ipynb")


def written(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def zipped(file: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return file


def those(names: Iterable[str], origin: Path) -> set[tuple[str, str, str]]:
    return {(student, name, str(origin)) for student in ("ann", "bob") for name in names}


def test_files_of_any_name_in_a_folder_or_an_archive_are_compared(tmp_path: Path, now: Path) -> None:
    folder = written(tmp_path / "online", CODE)
    for place in (folder, zipped(tmp_path / "online.zip", CODE)):
        findings = found(now, place)
        assert with_others(findings) == those(ALIKE, place) and findings.notes == ()
    for name in ALIKE:
        single = folder / name
        assert with_others(found(now, single)) == those([single.name], single)
    (tmp_path / "link.py").symlink_to(folder / "vectors.py")
    assert with_others(found(now, tmp_path / "link.py")) == those(["link.py"], tmp_path / "link.py")


def test_a_file_named_for_one_topic_is_not_compared_with_another(tmp_path: Path, own_course: Path) -> None:
    """A file of another name is compared with each, and what cannot be compared is noted once."""
    manifest = own_course / "course.toml"
    second = manifest.read_text().partition("[[topics]]")[2].replace('"vectors"', '"matrices"', 1)
    manifest.write_text(f"{manifest.read_text()}\n[[topics]]{second}")
    for folder in ("exercises", "solutions"):
        shutil.copy(own_course / folder / "vectors.py", own_course / folder / "matrices.py")
    course = Course.load(own_course, complete=False)
    assert [topic.name for topic in course.modules] == ["vectors", "matrices"]
    now = gradebook(tmp_path / "now", {"ann": STUB + LONG_WAY}, topic="matrices")
    gradebook(now, {"bob": STUB + RENAMED})
    folder = written(tmp_path / "code", {"vectors.py": LONG_WAY, "any.py": LONG_WAY, "bad.py": "\0"})
    findings = found(now, folder, course=course)
    assert {(one.topic, one.first.name, one.second.name) for one in findings.with_others or ()} == {
        ("matrices", "ann", "any.py"),
        ("vectors", "bob", "any.py"),
        ("vectors", "bob", "vectors.py"),
    }
    assert findings.notes == (f"{folder}: bad.py is not Python text; not compared",)


def test_code_that_cannot_be_read_or_compared_is_noted(tmp_path: Path, now: Path) -> None:
    files = {"vectors.py": LONG_WAY, "big.py": "x = 1\n" * 20_000, "vast.py": "#" * 1_100_000, "no.ipynb": "{"}
    folder = written(tmp_path / "code", files)
    zipped(folder / "inside.zip", CODE)
    (folder / "link.py").symlink_to(folder / "vectors.py")
    gradebook(folder / "grades", {"sue": STUB + LONG_WAY})
    findings = found(now, folder)
    inside = "grades/gradebook.sqlite"
    assert with_others(findings) == those(["vectors.py"], folder)
    assert sorted(findings.notes) == [
        f"{folder}: archives inside are not opened: inside.zip",
        f"{folder}: big.py is larger than 100 kB; not compared",
        f"{folder}: link.py: a symbolic link is not followed",
        next(note for note in findings.notes if note.startswith(f"{folder}: no.ipynb: not a notebook")),
        f"{folder}: only Python files are compared; each gradebook inside needs its own --against: {inside}",
        f"{folder}: vast.py: larger than 1 MiB: not read",
    ]


def test_places_with_nothing_to_compare_are_refused(tmp_path: Path, now: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    written(tmp_path, {"report.md": "words", "broken.zip": "no zip", "text/a.txt": LONG_WAY, "nb/x.ipynb": "{"})
    gradebook(tmp_path / "years" / "2025", {"sue": STUB + LONG_WAY})
    kinds = "name a folder, a gradebook, or a file that ends with .py, .ipynb, .zip, .tar.gz, .tgz, .tar"
    refusals = {
        "gone": ("there is no gone", kinds),
        "gone.py": ("there is no gone.py", kinds),
        "report.md": ("report.md is neither a gradebook nor Python", kinds),
        "empty": ("empty has neither a gradebook nor Python files", None),
        "text": ("text has neither a gradebook nor Python files", None),
        "years": (
            "years has neither a gradebook nor Python files",
            "name each gradebook in it by its path: 2025/gradebook.sqlite",
        ),
        "broken.zip": ("broken.zip: damaged, or not an archive", "unpack it, and name its folder"),
        "nb": ("nb cannot be compared: x.ipynb: not a notebook", "name code that can be read"),
    }
    monkeypatch.chdir(tmp_path)
    for place, (message, fix) in refusals.items():
        problem = refused(now, place)
        assert problem.message.startswith(message) and fix in (None, problem.fix), place
    monkeypatch.setattr("grader.similar.others._MOST_FILES", 2)
    written(tmp_path / "many", {f"{n}.py": LONG_WAY for n in range(3)})
    assert refused(now, "many").message == "many holds more than 2 Python files"


def test_a_path_that_cannot_be_looked_at_is_refused(now: Path) -> None:
    problem = refused(now, "x" * 300)
    assert re.match(r"there is no x+$|x+ cannot be read \(File name too long\)$", problem.message)


# ---------------------------------------------------------------- what is shown


def test_the_command_and_the_page_name_where_the_others_are_from(tmp_path: Path) -> None:
    now = gradebook(tmp_path / "now", {"ann": STUB + LONG_WAY, "bob": STUB + RENAMED, "eve": STUB + OTHER_WAY})
    spring = gradebook(tmp_path / "spring<b>\x1b[31m", {"<i>sue\x1b[31m": STUB + RENAMED})
    code = written(tmp_path / "code", {"found.py": "\n\n" + LONG_WAY})
    places = ("--against", spring, "--against", code, "--against", "solutions")
    done = grader("similar", "--out", now, "--course", OWN_COURSE, *places)
    assert done.returncode == 0, done.stderr
    assert "1 pair and 4 pairs with others at least 60% alike in a topic; 3 of 3 submissions" in done.stdout
    lines = done.stdout.splitlines()
    headings = [lines.index("with others:"), lines.index("in the class:")]
    assert headings == [1, 6]
    shown = [line.split("vectors", 1)[1].split() for line in lines[2:6]]
    assert sorted(" ".join(words) for words in shown) == [
        f"ann · <i>sue from {tmp_path}/spring<b>",
        f"ann · found.py from {code}",
        f"bob · <i>sue from {tmp_path}/spring<b>",
        f"bob · found.py from {code}",
    ]
    assert lines[7].endswith("ann  ·  bob")
    page = (now / "similar.html").read_text()
    assert "\x1b" not in page and "<i>sue" not in page and "<b>" not in page
    assert page.index("<h2>With others</h2>") < page.index("<h2>In the class</h2>")
    assert f"<bdi>&lt;i&gt;sue</bdi> from <bdi>{tmp_path}/spring&lt;b&gt;</bdi>" in page
    assert f"with {tmp_path}/spring&lt;b&gt;: course, run 1 of " in page
    assert f"with {code}: 1 file" in page and "with the course&#39;s solutions" in page
    assert f"<figcaption><bdi>found.py</bdi> from <bdi>{code}</bdi>, " in page
    assert page.count('<details class="pair"') == 5


def test_many_pairs_of_the_class_leave_room_for_those_with_others(tmp_path: Path) -> None:
    now = gradebook(tmp_path / "now", {f"s{n:02}": STUB + LONG_WAY for n in range(16)})
    spring = gradebook(tmp_path / "spring", {f"old{n}": STUB + RENAMED for n in range(7)})
    findings = found(now, spring)
    assert (len(findings.pairs), len(findings.with_others or ())) == (120, 112)
    write_page(findings, COURSE, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count('<details class="pair"') == 200
    assert "12 more: only the most similar 100 pairs" in page and "20 more: only the most similar 100 pairs" in page
