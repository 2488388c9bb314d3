"""The files that a person marks, among what was handed in: which are read, where they may lie, and what is noted."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from grader.intake.find import find_submissions
from grader.intake.kinds import WORK_BYTES
from grader.intake.submission import Submission, digest
from grader.intake.topics import Topics

TOPICS = Topics(frozenset({"curves"}), {"curves": frozenset({"smooth"})}, frozenset({"report.md", "plots/loss.png"}))
PNG = b"\x89PNG\r\n\x1a\n\0\0"


def read(*paths: Path) -> list[Submission]:
    return [source.read() for source in find_submissions(paths, TOPICS)]


def folder(at: Path, **files: bytes) -> Path:
    for name, content in files.items():
        path = at / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return at


def test_only_files_that_a_person_marks_are_read_besides_code(tmp_path: Path) -> None:
    work = folder(tmp_path / "ada", curves_dot_py=b"x = 1", report_dot_md=b"why", diary_dot_md=b"secret")
    folder(work, plots__loss_dot_png=PNG)
    (one,) = read(work)
    assert one.files == {"curves.py": b"x = 1", "plots/loss.png": PNG, "report.md": b"why"} and not one.notes


def test_changed_work_is_other_work(tmp_path: Path) -> None:
    (before,) = read(folder(tmp_path / "ada", curves_dot_py=b"x = 1", report_dot_md=b"why"))
    (after,) = read(folder(tmp_path / "ada", report_dot_md=b"because"))
    assert digest(before) != digest(after)


def test_a_report_alone_is_a_submission(tmp_path: Path) -> None:
    folder(tmp_path / "class" / "ada", report_dot_md=b"why")
    folder(tmp_path / "class" / "bob", curves_dot_py=b"x = 1")
    ada, bob = read(tmp_path / "class")
    assert (ada.name, bob.name) == ("ada", "bob") and ada.files == {"report.md": b"why"} and not ada.notes
    assert read(tmp_path / "class" / "ada")[0].files == ada.files


def test_a_file_elsewhere_is_taken_with_a_note_and_one_in_doubt_is_not(tmp_path: Path) -> None:
    (one,) = read(folder(tmp_path / "ada", curves_dot_py=b"x = 1", text__Report_dot_md=b"why"))
    assert one.files["report.md"] == b"why" and one.note_lines == ("report.md: taken from text/Report.md",)
    (two,) = read(folder(tmp_path / "bob", curves_dot_py=b"", a__report_dot_md=b"1", b__report_dot_md=b"2"))
    assert "report.md" not in two.files and "could be any of a/report.md, b/report.md" in two.note_lines[0]


def test_links_and_files_that_are_too_large_are_left_out_with_a_note(tmp_path: Path) -> None:
    work = folder(tmp_path / "ada", curves_dot_py=b"x = 1", plots__loss_dot_png=b"\0" * (WORK_BYTES + 1))
    (tmp_path / "secret").write_text("other's")
    (work / "report.md").symlink_to(tmp_path / "secret")
    (one,) = read(work)
    assert set(one.files) == {"curves.py"}
    assert sorted(one.note_lines) == [
        "plots/loss.png: larger than 8 MiB: not read",
        "report.md: a symbolic link is not followed",
    ]


@pytest.mark.parametrize("inside", ["", "work/", "ada/work/"])
def test_archives_give_them_too(tmp_path: Path, inside: str) -> None:
    with zipfile.ZipFile(tmp_path / "ada.zip", "w") as archive:
        archive.writestr(f"{inside}curves.py", "x = 1")
        archive.writestr(f"{inside}report.md", "why")
    (one,) = read(tmp_path / "ada.zip")
    assert one.files == {"curves.py": b"x = 1", "report.md": b"why"}


def test_downloads_of_an_lms_give_them_too(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "moodle.zip", "w") as archive:
        archive.writestr("Ada Lee_11_assignsubmission_file_/curves.py", "x = 1")
        archive.writestr("Ada Lee_11_assignsubmission_file_/report.md", "why")
        archive.writestr("Bo Li_12_assignsubmission_file_/report.md", "how")
    ada, bo = read(tmp_path / "moodle.zip")
    assert (ada.files["report.md"], bo.files) == (b"why", {"report.md": b"how"}) and not bo.notes
    with zipfile.ZipFile(tmp_path / "canvas.zip", "w") as archive:
        archive.writestr("leeada_11_222_curves.py", "x = 1")
        archive.writestr("leeada_11_223_report-1.md", "why")
    (ada,) = read(tmp_path / "canvas.zip")
    assert ada.files == {"curves.py": b"x = 1", "report.md": b"why"}
