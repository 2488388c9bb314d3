"""Work that a person marks, in another format, place or name: it is there, and the person is told where."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from marked_class import ADA, COURSE
from shared import MARKED_COURSE

from grader.grading.settings import topics_of
from grader.intake.by_hand import works_of
from grader.intake.find import find_submissions
from grader.intake.submission import Submission
from grader.judge.points import manual_of, wanted_by_hand
from grader.results import Manual

CODE = ADA["curves.py"]
TEMPLATE = (MARKED_COURSE / "exercises" / "report.md").read_bytes()
DOCX = b"PK\x03\x04\x14\0\0\0"


def read(*paths: Path) -> list[Submission]:
    return [source.read() for source in find_submissions(paths, topics_of(COURSE))]


def folder(at: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_bytes(content)
    return at


def cells(*of: tuple[str, str]) -> bytes:
    return json.dumps({"nbformat": 4, "cells": [{"cell_type": kind, "source": text} for kind, text in of]}).encode()


def work(submission: Submission, exercise: str = "findings.report") -> Manual:
    """What the judge says of it."""
    instead = works_of(submission.files, *wanted_by_hand(COURSE))
    one = COURSE.exercise(exercise)
    return manual_of(one, submission.files, COURSE.template_file(one), instead.get(one.work_file, ()))


@pytest.mark.parametrize(
    "name",
    [
        *("report.docx", "report.pdf", "report.md.txt", "Report.odt", "report (1).md", "Ada Lee - final report.docx"),
        *("hw1.pdf", "Bericht.docx", "소논문.hwp", "отчёт.pdf", "IMG_2031.HEIC", "docs/hw1.pdf", "report"),
    ],
)
def test_a_report_in_another_format_or_by_another_name_is_there(tmp_path: Path, name: str) -> None:
    (one,) = read(folder(tmp_path / "class", {"ada/curves.py": CODE, f"ada/{name}": DOCX}))
    assert work(one) == Manual(4, "report.md", "there", (name,)) and one.files[name] == DOCX
    assert f"report.md: not there, but {name}: a person looks at that" in one.note_lines
    assert one.unread == ()


def test_a_report_in_another_format_beside_the_template_counts(tmp_path: Path) -> None:
    files = {"ada/curves.py": CODE, "ada/report.md": TEMPLATE, "ada/report.docx": DOCX}
    (one,) = read(folder(tmp_path / "class", files))
    assert work(one).instead == ("report.docx",)
    (two,) = read(folder(tmp_path / "two", {"bob/curves.py": CODE, "bob/report.md": TEMPLATE}))
    assert work(two) == Manual(4, "report.md", "untouched")


def test_a_report_in_its_own_file_is_the_work_whatever_else_is_there(tmp_path: Path) -> None:
    files = {"curves.py": CODE, "report.md": b"why", "report.docx": DOCX, "diary.pdf": DOCX, "plot.png": b"\0"}
    (one,) = read(folder(tmp_path / "class" / "ada", files))
    assert one.files.keys() == {"curves.py", "report.md", "plot.png"} and not one.notes


def test_what_can_be_nobodys_work_is_none(tmp_path: Path) -> None:
    files = {"curves.py": CODE, "README.md": b"# Hello", "data.csv": b"1,2", "requirements.txt": b"torch"}
    (one,) = read(folder(tmp_path / "class" / "ada", files))
    assert one.files.keys() == {"curves.py"} and work(one) == Manual(4, "report.md", "missing")


def test_several_documents_are_all_there_for_a_person(tmp_path: Path) -> None:
    files = {"curves.py": CODE, "a/report.md": b"1", "b/report.md": b"2", "plot.pdf": DOCX}
    (one,) = read(folder(tmp_path / "class" / "ada", files))
    assert work(one).instead == ("a/report.md", "b/report.md") and work(one, "findings.plot").instead == ("plot.pdf",)
    assert "report.md: could be any of a/report.md, b/report.md: a person has to choose" in one.note_lines


def test_a_report_alone_in_another_format_is_a_submission_and_no_code_was_lost(tmp_path: Path) -> None:
    folder(tmp_path / "class", {"ada/report.docx": DOCX, "bob/curves.py": CODE})
    ada, _ = read(tmp_path / "class")
    assert (ada.name, ada.unread, work(ada).instead) == ("ada", (), ("report.docx",))
    assert read(tmp_path / "class" / "ada")[0].files == ada.files
    (alone,) = read(folder(tmp_path / "flat", {"ada_report.docx": DOCX}))
    assert work(alone).instead == ("ada_report.docx",)


def test_files_of_several_students_are_not_one_submission(tmp_path: Path) -> None:
    found = read(
        folder(tmp_path / "class", {"ann_report.docx": b"PK1", "bob_report.pdf": b"%PDF", "bob_curves.py": CODE})
    )
    assert [one.name for one in found] == ["ann_report", "bob_curves", "bob_report"]


def test_a_document_that_is_not_named_as_the_report_may_hold_the_code_too(tmp_path: Path) -> None:
    (one,) = read(folder(tmp_path / "class", {"ada/homework.pdf": b"%PDF-1.7"}))
    assert work(one).instead == ("homework.pdf",) and [two.topic for two in one.unread] == ["curves"]


def test_downloads_give_it_too_and_what_was_typed_into_a_form(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "canvas.zip", "w") as archive:
        archive.writestr("leeada_11_222_report.docx", DOCX)
        archive.writestr("libo_12_223_curves.py", CODE)
        archive.writestr("libo_12_224_text.html", "<p>Wider is smoother.</p>")
    ada, bo = read(tmp_path / "canvas.zip")
    assert (work(ada).instead, ada.unread) == (("report.docx",), ())
    assert work(bo).instead == ("text.html",) and not any("left out" in note for note in bo.note_lines)
    with zipfile.ZipFile(tmp_path / "moodle.zip", "w") as archive:
        archive.writestr("Ada Lee_11_assignsubmission_file_/report.pdf", b"%PDF")
        archive.writestr("Bo Li_12_assignsubmission_onlinetext_/onlinetext.html", "<p>Because.</p>")
    ada, bo = read(tmp_path / "moodle.zip")
    assert (work(ada).instead, work(bo).instead) == (("report.pdf",), ("onlinetext.html",))


def test_answers_in_the_text_of_a_notebook_are_work(tmp_path: Path) -> None:
    content = cells(("markdown", "# Curves"), ("code", CODE.decode()), ("markdown", "Wider is smoother, as …"))
    (one,) = read(folder(tmp_path / "class" / "ada", {"curves.ipynb": content}))
    assert work(one).instead == ("curves.ipynb.md",) and work(one, "curves.style").instead == ("curves.ipynb.md",)
    shown = one.files["curves.ipynb.md"].decode()
    assert "Wider is smoother, as …" in shown and "def moving_average" in shown
    (two,) = read(folder(tmp_path / "two" / "bob", {"hw.ipynb": content, "report.md": b"why"}))
    assert work(two) == Manual(4, "report.md") and work(two, "curves.style").instead == ("curves.ipynb.md",)
    code = cells(("markdown", "# Curves"), ("code", CODE.decode()))
    (three,) = read(folder(tmp_path / "three" / "cy", {"curves.ipynb": code}))
    assert work(three).state == "missing" and work(three, "curves.style") == Manual(1.5, "curves.py")


def test_a_document_that_is_too_large_is_named_to_the_person(tmp_path: Path) -> None:
    (one,) = read(folder(tmp_path / "class" / "ada", {"curves.py": CODE, "report.pdf": bytes(9 << 20)}))
    assert work(one).instead == ("report.pdf.txt",)
    assert one.files["report.pdf.txt"].startswith(b"report.pdf is larger than 8 MiB")


def test_the_report_at_the_top_is_not_taken_from_anywhere(tmp_path: Path) -> None:
    """Though all code is in a folder."""
    (one,) = read(folder(tmp_path / "class" / "ada", {"src/curves.py": CODE, "report.md": b"why"}))
    assert one.files["report.md"] == b"why" and not any("report.md" in note for note in one.note_lines)
