"""Times as an LMS writes them, in the languages of its users; what could mean two times means none."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from grader.errors import UserError
from grader.intake.dates import read_time
from grader.intake.roster import Roster
from grader.intake.worksheet import columns_of


@pytest.mark.parametrize(
    "text",
    [
        "2026-09-30T11:05",
        "Wednesday, 30 September 2026, 11:05 AM",
        "Wednesday, 30 September 2026, 11:05",
        "Wednesday, September 30, 2026, 11:05 a.m.",
        "Mittwoch, 30. September 2026, 11:05",
        "Mittwoch, 30. September 2026, 11:05 Uhr",
        "mercredi 30 septembre 2026, 11:05",
        "miércoles, 30 de septiembre de 2026, 11:05",
        "mercoledì, 30 settembre 2026, 11:05",
        "quarta-feira, 30 de setembro de 2026 às 11:05",
        "woensdag, 30 september 2026, 11:05",
        "środa, 30 września 2026, 11:05",
        "středa, 30. září 2026, 11:05",
        "Çarşamba, 30 Eylül 2026, 11:05",
        "среда, 30 сентября 2026, 11:05",
        "Τετάρτη, 30 Σεπτεμβρίου 2026, 11:05 πμ",
        "الأربعاء، 30 سبتمبر 2026، 11:05 ص",
        "2026年09月30日 星期三 11:05",
        "2026年 09月 30日(水曜日) 11:05",
        "2026년 9월 30일 수요일 오전 11:05",
        "30/09/2026 11:05",
        "30.9.2026 11:05",
    ],
)
def test_times_of_many_languages_are_read(text: str) -> None:
    assert read_time(text).startswith("2026-09-30T11:05:00")


@pytest.mark.parametrize(
    ("text", "month"),
    [
        ("วันจันทร์ 9 มีนาคม 2026, 11:05", "03"),
        ("9 มิถุนายน 2026, 11:05", "06"),
        ("9 กุมภาพันธ์ 2026, 11:05", "02"),
        ("सोमवार, 9 मार्च 2026, 11:05", "03"),
        ("9 जून 2026, 11:05", "06"),
        ("9 जुलाई 2026, 11:05", "07"),
        ("9 নভেম্বর 2026, 11:05", "11"),
        ("9 ມັງກອນ 2026, 11:05", "01"),
    ],
)
def test_a_month_is_read_with_the_marks_that_are_its_vowels(text: str, month: str) -> None:
    """Else June would be July: work of four weeks ago."""
    assert read_time(text).startswith(f"2026-{month}-09T11:05")


@pytest.mark.parametrize("half", ["PM", "p.m.", "μμ", "م"])
def test_the_second_half_of_the_day_is_twelve_hours_later(half: str) -> None:
    assert read_time(f"30 September 2026, 11:05 {half}").startswith("2026-09-30T23:05")
    assert read_time("30 September 2026, 12:05 AM").startswith("2026-09-30T00:05")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "11:05",
        "30 September",
        "03/04/2026 11:05",  # the third of April, or the fourth of March
        "30 listopad 2026, 11:05",  # November in Polish, October in Croatian
        "Tuesday, 30 September 2026, 11:05",  # it was a Wednesday
        "31 September 2026, 11:05",
        "30 September 2026, 25:05",
        "30 September 2026, 13:05 PM",
        "30 September 2026, 11:05 hocus",
        "30 September 2026 and 1 October 2026, 11:05",
        "9" * 5000,
        "20260930110542123",
        "=cmd|' /C calc'!A0",
        "\x1b[31m30\x00",
    ],
)
def test_what_is_no_time_or_could_be_two_is_none(text: str) -> None:
    assert read_time(text) == ""


def test_a_time_zone_by_its_name_is_read_or_the_time_means_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a time of another zone would be taken for a local one, hours away."""
    monkeypatch.setattr("time.tzname", ("CET", "CEST"))
    for text in ("2026-09-30 11:05:00 UTC", "30 September 2026, 11:05 AM GMT"):
        assert datetime.fromisoformat(read_time(text)) == datetime(2026, 9, 30, 11, 5, tzinfo=timezone.utc)
    for text in ("2026-09-30 11:05 CEST", "30 September 2026, 11:05 AM CEST"):
        assert read_time(text).startswith("2026-09-30T11:05:00")
    for text in ("2026-09-30 11:05 PDT", "30 September 2026, 11:05 AM PDT", "30 September 2026, 11:05 a.m. EST"):
        assert read_time(text) == ""


def test_a_weekday_decides_between_languages() -> None:
    assert read_time("pondělí, 30. listopadu 2026, 11:05").startswith("2026-11-30")
    assert read_time("petak, 30. listopada 2026, 11:05").startswith("2026-10-30")


GERMAN = (
    'ID,"Vollständiger Name",E-Mail-Adresse,Status,Bewertung,Bestwertung,"Bewertung kann geändert werden",'
    '"Zuletzt geändert (Abgabe)","Zuletzt geändert (Bewertung)","Feedback als Kommentar"\n'
    'Teilnehmer/in1001,"Anna Groß",a@x.de,Abgegeben,,"100,00",Ja,"Mittwoch, 30. September 2026, 11:05",-,\n'
    'Teilnehmer/in1002,"Bo Ü",b@x.de,"Keine Abgabe",,"100,00",Ja,-,-,\n'
)
POLISH = (  # No name of a column is known: their places, and what is in them, tell.
    'Identyfikator,"Imię i nazwisko","Adres e-mail",Status,Ocena,"Maks. ocena","Można zmienić",'
    '"Zmieniono (zadanie)","Zmieniono (ocena)",Komentarz\n'
    'Uczestnik 1001,"Anna Groß",a@x.pl,Przesłane,,"100,00",Tak,"środa, 30 września 2026, 11:05",-,\n'
    'Uczestnik 1002,"Bo Ü",b@x.pl,Brak,,"100,00",Tak,-,-,\n'
)


@pytest.mark.parametrize("text", [GERMAN, POLISH])
def test_a_worksheet_in_another_language_is_a_class_list(tmp_path: Path, text: str) -> None:
    (tmp_path / "worksheet.csv").write_text(text, encoding="utf-8-sig")
    roster = Roster.read(tmp_path / "worksheet.csv")
    anna, bo = roster.participant("1001"), roster.participant("1002")
    assert anna is not None and bo is not None and roster.notes == []
    assert (anna.name, anna.submitted[:16], anna.by) == ("Anna Groß", "2026-09-30T11:05", "Moodle worksheet")
    assert (bo.name, bo.submitted, bo.by) == ("Bo Ü", "", "")


@pytest.mark.parametrize("text", [GERMAN, POLISH])
def test_columns_of_a_worksheet_have_english_names(text: str) -> None:
    rows = [line.split(",") for line in text.replace('"100,00"', "100").replace('"', "").splitlines()]
    rows = [[cell for cell in row if cell.strip() not in ("30. September 2026", "11:05")] for row in rows]
    found = columns_of(rows[:1] + [row for row in rows[1:] if len(row) == 10])
    assert {found[name] for name in ("full name", "grade", "maximum grade", "feedback comments")} == {1, 4, 5, 9}


INVENTED = (  # No column and no month is known.
    'Naqiv,"Tolu naqiv",Elpost,Gost,Prunt,"Prunt mak","Prunt jol","Lat dorn","Lat prunt",Kolm\n'
    'Osal 1001,"Anna Groß",a@x.example,Ved,,"100,00",Ja,"plon, 30 zorbember 2026, 11:05",-,\n'
    'Osal 1002,"Bo Ü",b@x.example,Ned,,"100,00",Ja,-,-,\n'
)


def test_a_worksheet_whose_times_nobody_can_read_is_a_class_list_and_nobody_is_late(tmp_path: Path) -> None:
    file = tmp_path / "worksheet.csv"
    file.write_text(INVENTED, encoding="utf-8-sig")
    roster = Roster.read(file)
    anna = roster.participant("1001")
    assert anna is not None and (anna.name, anna.submitted, anna.by) == ("Anna Groß", "", "")
    head = columns_of([line.split(",") for line in INVENTED.replace('"', "").replace("100,00", "100").splitlines()])
    assert (head["grade"], head["maximum grade"]) == (4, 5)

    german = GERMAN.replace("Mittwoch, 30. September 2026, 11:05", "plon, 30 zorbember 2026, 11:05")
    file.write_text(german, encoding="utf-8-sig")
    (note,) = Roster.read(file).notes
    assert note.startswith("worksheet.csv: 1 time of handing in cannot be read, so nothing there counts as late")


def test_a_student_with_two_lines_is_refused_not_guessed(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("id,name,extension\n1,Ann,2026-10-03\n1,Ann,2026-10-08\n")
    with pytest.raises(UserError, match="`1` is the id of Ann and of Ann"):
        Roster.read(file)


def test_times_that_cannot_be_read_are_noted_and_nobody_is_late_for_them(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("id,name,submitted,extension\n1,Ann,yesterday,\n2,Bob,=1+1,soon\n3,Cy,2026-10-03,2026-10-05\n")
    roster = Roster.read(file)
    assert [student.submitted[:10] for student in roster.students] == ["", "", "2026-10-03"]
    assert [student.extension[:16] for student in roster.students] == ["", "", "2026-10-05T23:59"]
    assert roster.notes == [
        "list.csv: 2 times of handing in cannot be read, so nothing there counts as late; the first: Ann: yesterday",
        "list.csv: 1 extension cannot be read, write them as 2026-10-31; the first: Bob: soon",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "id,name\nstud1,Ann\nstud2,Bob\n",
        "name,id,a,b,c,d\nStudent 1,s1,,,,\nStudent 2,s2,,,,\n",
        "student,id,sis user id,sis login id,section,week 1 (7)\nStud 1,s1,,l1,A,3\nStud 2,s2,,l2,A,\n",
    ],
)
def test_a_class_list_whose_ids_or_names_end_with_numbers_is_no_worksheet(tmp_path: Path, text: str) -> None:
    (tmp_path / "list.csv").write_text(text)
    roster = Roster.read(tmp_path / "list.csv")
    assert roster.find("stud1") or roster.find("s1")
    assert roster.find("1") is None
