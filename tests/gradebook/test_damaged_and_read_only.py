"""A damaged gradebook is one line that names the backup and the command; what people gave by hand is in that backup."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared import REPO

from grader.cli.app import main
from grader.errors import UserError
from grader.gradebook import Comment, Extension, Gradebook, LookedAt, Mark, MarkedItem, Override, restore
from grader.gradebook import book as gradebook_file
from grader.gradebook.backups import backups
from grader.gradebook.by_hand import Given
from grader.gradebook.schema import DamagedGradebook
from grader.marking.given import give_points
from grader.reports.status import status_lines
from grader.results import ExerciseResult, Manual, SubmissionResult

PAGE = 4096
MADE = "2026-01-01"


def start(book: Gradebook) -> int:
    return book.start_run("course", "hash", book.keep_seed(), "key", {})


LOOKED_AT = LookedAt(person="", digest="d", file="m.md", work="")
ITEMS = (MarkedItem("clear", 2.0, True),)
GIVEN = (
    Override(student="s1", exercise="t.e", points=0.5, max=1.0, why="kind", who="me", made=MADE),
    Extension(student="s1", due="2026-11-07", why="ill", who="me", made=MADE),
    Mark(student="s1", exercise="t.m", items=ITEMS, points=2.0, max=2.0, who="me", made=MADE),
    Comment(student="s1", exercise="t.e", text="well done", who="me", made=MADE),
)


def give(book: Gradebook) -> None:
    """One of each kind."""
    for one in GIVEN:
        book.give("course", one, LOOKED_AT)


def given(folder: Path) -> dict[str, Any]:
    """All that people gave."""
    with sqlite3.connect(folder / "gradebook.sqlite") as db:
        found = {"given": db.execute("SELECT * FROM given").fetchall()}
        found["seed"] = db.execute("SELECT value FROM kept WHERE name = 'seed'").fetchall()
    db.close()
    return found


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a gradebook of 60 students, for whom a person gave something after they were graded."""
    folder = tmp_path_factory.mktemp("graded")
    with Gradebook.open(folder / "gradebook.sqlite") as book:
        run = start(book)
        for number in range(60):
            exercise = ExerciseResult(name="t.e", score=1.0, max=2.0)
            manual = ExerciseResult(name="t.m", score=0.0, max=0.0, manual=Manual(2.0, "m.md"))
            result = SubmissionResult(submission=f"s{number}", score=1.0, max=2.0, exercises=(exercise, manual))
            book.record(run, result, "d", 0.1)
        book.finish_run(run)
        give(book)
    return folder


@pytest.fixture
def folder(graded: Path, tmp_path: Path) -> Path:
    """A copy of it, in a folder whose name a shell would take apart."""
    return shutil.copytree(graded, tmp_path / "week 1")


def overwrite(at: int, content: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with path.open("r+b") as stream:
            stream.seek(at, os.SEEK_SET if at >= 0 else os.SEEK_END)
            stream.write(content)

    return damage


DAMAGES = {
    "garbage header": overwrite(0, b"\xa5" * 100),
    "garbage first page": overwrite(0, b"\xa5" * PAGE),
    "no text of a database": overwrite(0, b"somebody's only copy"),
    "zeroed page": overwrite(4 * PAGE, bytes(PAGE)),
    "truncated": lambda path: os.truncate(path, path.stat().st_size - 3 * PAGE),
    "truncated in a page": lambda path: os.truncate(path, 5 * PAGE + 100),
    "empty": lambda path: os.truncate(path, 0),
    "gone": os.unlink,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_gradebook_is_one_line_whose_command_restores_what_people_gave(
    folder: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, before = folder / "gradebook.sqlite", given(folder)
    DAMAGES[damage](path)
    left = path.read_bytes() if path.exists() else None
    with pytest.raises(DamagedGradebook) as caught, Gradebook.open_existing(folder) as book:
        list(book.results())
        start(book)
    assert "\n" not in str(caught.value) and (path.read_bytes() if path.exists() else None) == left
    (backup,) = backups(path)
    fix = caught.value.fix or ""
    assert backup.name in fix
    command = shlex.split(fix.rpartition(": grader ")[2])
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert not ended.value.code and given(folder) == before
    aside = list(folder.glob("gradebook.aside-*.sqlite"))
    assert [one.read_bytes() for one in aside] == ([] if left is None else [left])
    assert backup.name in capsys.readouterr().out
    with Gradebook.open_existing(folder) as book:
        start(book)
        row = next(row for row in book.results() if row.result.submission == "s1")
    assert [(one.exercise, one.points) for one in row.overrides] == [("t.e", 0.5)]
    assert row.marks[0].points == 2.0 and row.comments[0].text == "well done"


@pytest.mark.parametrize("content", [b"\xa5" * PAGE, bytes(PAGE)], ids=["garbage", "zeros"])
def test_no_page_can_be_lost_in_silence(graded: Path, tmp_path: Path, content: bytes) -> None:
    pages = (graded / "gradebook.sqlite").stat().st_size // PAGE
    with Gradebook.open_existing(graded) as book:
        before = list(book.results())
    for page in range(pages):
        folder = shutil.copytree(graded, tmp_path / str(page))
        overwrite(page * PAGE, content)(folder / "gradebook.sqlite")
        try:
            with Gradebook.open_existing(folder) as book:
                start(book)
                assert list(book.results()) == before, page
        except DamagedGradebook as problem:
            assert "grader restore" in (problem.fix or "")
        assert backups(folder / "gradebook.sqlite")[-1].name == backups(graded / "gradebook.sqlite")[-1].name
        shutil.rmtree(folder)


def count_in(backup: Path) -> int:
    with sqlite3.connect(backup) as db:
        (count,) = db.execute("SELECT count(*) FROM given").fetchone()
    db.close()
    return int(count)


@pytest.mark.parametrize("one", GIVEN)
def test_the_first_thing_that_is_given_is_in_a_backup_at_once_and_all_when_the_gradebook_is_closed(
    tmp_path: Path, one: Given
) -> None:
    path = tmp_path / "gradebook.sqlite"
    with Gradebook.open(path) as book:
        for _ in range(3):
            book.give("course", one, LOOKED_AT)
            (backup,) = backups(path)
            assert count_in(backup) == 1
    (backup,) = backups(path)
    assert count_in(backup) == 3


def test_a_session_of_marking_copies_the_gradebook_twice_however_many_keys_it_has(
    graded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shutil.copytree(graded, tmp_path / "marked") / "gradebook.sqlite"
    copies: list[int] = []
    write = gradebook_file.write_backup
    monkeypatch.setattr(gradebook_file, "write_backup", lambda *given: (copies.append(1), write(*given))[1])
    with Gradebook.open(path) as book:
        for _ in range(30):
            book.give("course", GIVEN[2], LOOKED_AT)
        assert len(copies) == 1
    assert len(copies) == 2
    with Gradebook.open(path):
        pass
    assert len(copies) == 2, "nothing was given"


def test_every_table_is_given_by_people_or_made_again_by_grading(graded: Path) -> None:
    """A new table must be one of the two: what people give is backed up at once."""
    made_again = {"courses", "submissions", "runs", "results", "reused", "works", "arrivals"}
    with_a_run = {"kept", "class_lists"}
    with sqlite3.connect(graded / "gradebook.sqlite") as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    db.close()
    assert tables == made_again | with_a_run | {"given"}


def test_the_last_three_backups_are_kept_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "gradebook.sqlite"
    for _ in range(5):
        with Gradebook.open(path) as book:
            start(book)
            give(book)
    (tmp_path / "gradebook.backup-2.sqlite.partial").write_text("of a grader that was killed")
    with Gradebook.open(path) as book:
        start(book)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == [f"gradebook.backup-{number}.sqlite" for number in (10, 11, 8)] + ["gradebook.sqlite"]


def test_what_another_grader_is_writing_stays_while_it_may_be_one_of_the_last_three(tmp_path: Path) -> None:
    path = tmp_path / "gradebook.sqlite"
    with Gradebook.open(path) as book:
        start(book)
        start(book)
    partial = tmp_path / "gradebook.backup-1.sqlite.partial"
    partial.touch()
    with Gradebook.open(path) as book:
        start(book)
    assert partial.exists() and len(backups(path)) == 2


GIVES_AND_DIES = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = ["tests", "tests/gradebook"]
from test_damaged_and_read_only import give
from grader.gradebook import Gradebook
book = Gradebook.open(Path(sys.argv[1]))
give(book)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_gradebook_whose_journal_is_lost_is_found_out(folder: Path) -> None:
    path = folder / "gradebook.sqlite"
    ended = subprocess.run([sys.executable, "-c", GIVES_AND_DIES, str(path)], cwd=REPO, check=False)
    assert ended.returncode == -signal.SIGKILL
    Path(f"{path}-wal").unlink()
    Path(f"{path}-shm").unlink(missing_ok=True)
    with pytest.raises(DamagedGradebook, match="changes are missing"):
        Gradebook.open_existing(folder)
    restore(path)
    assert [len(rows) for rows in given(folder).values()] == [5, 1], "the first that was given is in it"


def test_an_older_backup_can_be_taken_and_the_next_run_goes_on_from_it(folder: Path) -> None:
    path = folder / "gradebook.sqlite"
    before = given(folder)
    with Gradebook.open(path) as book:
        give(book)
    newest, oldest = backups(path)
    restored = restore(path, 2)
    assert restored.backup == oldest and restored.aside is not None and given(folder) == before
    with Gradebook.open(path) as book:
        start(book)
    assert backups(path)[1:] == [newest, oldest]


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions there")
@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_backup_and_a_restored_gradebook_have_the_permissions_of_the_first(folder: Path, mode: int) -> None:
    path = folder / "gradebook.sqlite"
    path.chmod(mode)
    with Gradebook.open(path) as book:
        give(book)
    (newest, *_) = backups(path)
    assert newest.stat().st_mode & 0o777 == mode
    path.unlink()
    restore(path)
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize(
    ("damage", "words"), [("no text of a database", "is not a database"), ("zeroed page", "(?i)page 5")]
)
def test_a_damaged_backup_is_passed_over(folder: Path, damage: str, words: str) -> None:
    path = folder / "gradebook.sqlite"
    with Gradebook.open(path) as book:
        give(book)
    newest, oldest = backups(path)
    DAMAGES[damage](newest)
    path.unlink()
    with pytest.raises(UserError, match=words) as caught:
        restore(path, 4)
    assert "\n" not in str(caught.value)
    assert restore(path).backup == oldest


def test_a_gradebook_that_is_in_use_is_not_replaced(folder: Path) -> None:
    path = folder / "gradebook.sqlite"
    code = (
        "import sys; from pathlib import Path; from grader.gradebook import Gradebook\n"
        "book = Gradebook.open(Path(sys.argv[1])); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        DAMAGES["garbage first page"](path)
        with pytest.raises(UserError, match="another grader has"):
            restore(path)
        other.communicate()
    assert restore(path).aside is not None


@pytest.mark.parametrize("number", [None, 3])
def test_without_such_a_backup_nothing_is_moved(tmp_path: Path, number: int | None) -> None:
    path = tmp_path / "gradebook.sqlite"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(DamagedGradebook) as caught:
        Gradebook.open(path)
    assert "no backup" in (caught.value.fix or "") and "restore" not in (caught.value.fix or "")
    with pytest.raises(UserError, match="there is no backup"):
        restore(path, number)
    assert [file.name for file in tmp_path.iterdir()] == ["gradebook.sqlite"]


def closed(path: Path) -> None:
    """Nobody may write to the file and its folder."""
    path.chmod(0o444)
    path.parent.chmod(0o555)


def test_a_read_only_gradebook_is_read_and_nothing_is_made_beside_it(folder: Path) -> None:
    path = folder / "gradebook.sqlite"
    closed(path)
    before, names = path.read_bytes(), sorted(os.listdir(folder))
    try:
        lines = list(status_lines(folder, notes=True))
        assert any(line.startswith("run 1 ") for line in lines)
        with pytest.raises(UserError, match="readonly"):
            list(give_points(folder, "s1", "t.e", "1", "why", "me"))
        assert sorted(os.listdir(folder)) == names and path.read_bytes() == before
    finally:
        folder.chmod(0o755)
