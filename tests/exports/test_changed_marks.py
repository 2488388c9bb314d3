"""Marks that are in a downloaded file already: each change is listed with the mark before; EX and kept ones stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from classrooms import OWN, gradebook
from lms_files import fill_canvas, fill_moodle
from test_exports_lms import GRADES, WORKSHEET, came, file

from grader.cli.app import app
from grader.errors import UserError
from grader.exports.mark_column import number
from grader.exports.write import ExportSettings, export


def canvas(*cells: str) -> str:
    lines = "".join(f'"Nr, S{n}",{n},{cell}\n' for n, cell in enumerate(cells, start=1))
    return f"Student,ID,Week 1 (77)\n    Points Possible,,10.00\n{lines}"


def test_a_mark_that_is_replaced_is_named_with_the_mark_before(tmp_path: Path) -> None:
    text = canvas("3.50", "", "5.00", "10")
    content, notes = fill_canvas(file(tmp_path, text), [came("1"), came("2"), came("3", 0.5), came("4")])
    assert content.decode() == canvas("10", "10", "5.00", "10"), "an equal mark stays as it is written"
    assert notes[:3] == ["column: Week 1 (77)", "1 empty cell is filled", "mark changes: Nr, S1: 3.50 → 10"]
    assert sum("mark changes" in note for note in notes) == 1


def test_a_long_list_is_bounded_and_whole_on_demand(tmp_path: Path) -> None:
    path = file(tmp_path, canvas(*["1"] * 30, ""))
    entries = [came(str(n)) for n in range(1, 32)]
    _, notes = fill_canvas(path, entries)
    assert sum(note.startswith("mark changes: Nr, S") for note in notes) == 20
    assert "and 10 more marks change (--all-changes: each of them)" in notes
    _, notes = fill_canvas(path, entries, all_changes=True)
    assert sum(note.startswith("mark changes: Nr, S") for note in notes) == 30
    assert "mark filled in: Nr, S31: 10" in notes and not any("more mark" in note for note in notes)


def test_only_empty_cells_are_filled(tmp_path: Path) -> None:
    text = canvas("3.50", "", "-", "EX", " ex ")
    entries = [came(str(n)) for n in range(1, 6)]
    content, notes = fill_canvas(file(tmp_path, text), entries, only_empty=True)
    assert content.decode() == canvas("3.50", "10", "10", "EX", " ex ")
    assert "mark kept: Nr, S1: 3.50, not 10" in notes


@pytest.mark.parametrize("zeros", [False, True])
def test_excused_stays_excused(tmp_path: Path, zeros: bool) -> None:
    text = canvas("EX", "EX", "Ex")
    content, notes = fill_canvas(file(tmp_path, text), [came("1")], unread_as_zero=zeros, missing_as_zero=zeros)
    assert content.decode() == text and "not filled in: 1: excused (EX)" in notes


def test_moodles_feedback_goes_with_the_mark_that_is_written(tmp_path: Path) -> None:
    entries = [came("x", 0.5, "7", "moodle"), came("Pat Neil")]
    text = WORKSHEET.replace("Well done", "")
    content, notes = fill_moodle(file(tmp_path, text), entries, only_empty=True)
    said = "Automatic feedback: 1/2 points. Not passed: vectors.normalize."
    assert content.decode() == text.replace('late",,"100,00",-,', f'late",50,"100,00",-,{said}')
    assert "mark kept: Pat Neil: 1, not 100" in notes


def test_the_list_is_there_before_the_file_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gradebook(tmp_path / "gradebook.sqlite", [came("pn")])
    into = file(tmp_path, GRADES)
    (tmp_path / "blocked").write_text("a file, so no file can be below it")
    with pytest.raises(UserError):
        settings = ExportSettings(
            grades=tmp_path, course=OWN, into=into, column=("77",), to=tmp_path / "blocked" / "x.csv"
        )
        export("canvas", settings)
    assert "mark changes: =Neil, Pat: 4 → 10" in capsys.readouterr().err


def test_the_command_has_both_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gradebook(tmp_path / "gradebook.sqlite", [came("pn"), came("jm")])
    into = file(tmp_path, GRADES)
    words = ["export", "canvas", "--into", str(into), "--column", "77", "--out", str(tmp_path), "--course", str(OWN)]
    app([*words, "--only-empty", "--all-changes"], standalone_mode=False)
    said = capsys.readouterr()
    assert "mark kept: =Neil, Pat: 4, not 10" in said.err and "mark filled in: Müller, Jürgen: 10" in said.err
    expected = GRADES.replace('""x""",,7', '""x""",10,7')
    assert (tmp_path / "canvas.csv").read_bytes() == expected.encode()


def test_no_export_goes_over_the_download_that_has_the_name_of_the_result(tmp_path: Path) -> None:
    gradebook(tmp_path / "gradebook.sqlite", [came("pn")])
    into = tmp_path / "canvas.csv"
    into.write_bytes(GRADES.encode())
    with pytest.raises(UserError, match="is the file that you downloaded"):
        export("canvas", ExportSettings(grades=tmp_path, course=OWN, into=into, column=("77",)))
    assert into.read_bytes() == GRADES.encode()


TITLES = "Student,ID,Week 10 (70),Week 1 (late) (71),Week 1 (72),week 2 (73),Week 2 (74),Final Score\nAnn,1,,,,,,\n"


@pytest.mark.parametrize(
    ("column", "place"),
    [("Week 1", 4), ("week 1", 4), ("Week 1 (72)", 4), ("72", 4), ("Week 10", 2), ("late", 3), ("Week 2", 6)],
)
def test_an_exact_title_is_found_beside_titles_that_contain_it(tmp_path: Path, column: str, place: int) -> None:
    content, _ = fill_canvas(file(tmp_path, TITLES), [came("1")], column)
    cells = content.decode().splitlines()[1].split(",")
    assert [n for n, cell in enumerate(cells) if cell == "2"] == [place]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("WEEK 2", "several assignments"),
        ("Week", "several"),
        ("", "no such"),
        ("Week 7", "no such"),
        ("ek 1", "several"),
    ],
)
def test_a_title_that_several_have_is_a_question(tmp_path: Path, column: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        fill_canvas(file(tmp_path, TITLES), [came("1")], column)


@pytest.mark.parametrize("label", ["    Points Possible", "    Erreichbare Punkte", "    Points possibles"])
def test_the_line_of_most_points_is_found_in_other_languages(tmp_path: Path, label: str) -> None:
    text = f'Student,ID,Week 1 (77)\n{label},,"1,000.00"\nAnn,1,\n'
    content, _ = fill_canvas(file(tmp_path, text), [came("1", 0.5)])
    assert content.decode() == f"{text[:-1]}500\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3.50", 3.5),
        ("3,50", 3.5),
        ("1,000.00", 1000.0),
        ("1.000,00", 1000.0),
        ("1 000,5", 1000.5),
        (".5", 0.5),
        *[(one, None) for one in ("", "EX", "nan", "1e3", "٣", "8 %", "1_0", "-")],
    ],
)
def test_numbers_of_files_are_read(text: str, value: float | None) -> None:
    assert number(text) == value
