"""A term of 40 students and four assignments by the commands alone; every mark of it against tables written by hand."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from command_here import run_here
from term_course import answers, write_course

from grader.gradebook import Gradebook

FIRST = ("Ann", "Bo", "Cy", "Di", "Eve", "Gus", "Hal", "Ida", "José", "अनिल")
LAST = ("Lee", "Kim", "Ott", "Nix")
NAMES = [f"{first} {last}" for last in LAST for first in FIRST]
WEEKS = ("w1", "w2", "w3", "w4")
TOPICS = {
    "week_a": ("one", "two"),
    "week_b": ("three", "four"),
    "week_c": ("five", "six"),
    "week_d": ("seven", "eight"),
}
DUE = {week: datetime(2026, 10, 2 + 7 * at, 12) for at, week in enumerate(WEEKS)}
# A character for each student: right answers of two; `-`: handed in nothing; a space: not in the class.
RIGHT = {
    "w1": "22210122122212222-2211222212220222212-2 ",
    "w2": "2-2-222122122222222222122-2222222-2222 2",
    "w3": "22-12122222222021222222221222221222222 2",
    "w4": "22122222222122222-22222222022222222222 1",
}
# Days late; a dot: in time.
LATE = {
    "w1": "1...2................5..................",
    "w2": "1...2...................................",
    "w3": "4...1...3............................2..",
    "w4": "....1.............9.....................",
}
GROUPS = {"w2": {0: "Rho", 1: "Rho", 2: "Tau", 3: "Tau"}, "w3": {1: "Phi", 2: "Phi"}}
EXCUSED = {("w3", 5), ("w4", 6)}  # by the command; by the class list
PLAN = "".join(
    f'[[assignments]]\nname = "{week}"\nexercises = ["{topic}"]\ndue = "{DUE[week]:%Y-%m-%dT%H:%M}"\n'
    f"late_penalty_per_day = 0.1\nweight = {2 if week == 'w4' else 1}\n"
    for week, topic in zip(WEEKS, TOPICS, strict=True)
)
PLAN = PLAN + "[term]\ndrop_lowest = 1\nlate_days = 3\nletters = { A = 90, B = 75, C = 50, F = 0 }\n"
UPLOADS = {
    "w1": lambda i, name: f"{''.join(reversed(name.split())).lower()}_{i}_{5000 + i}_week_a.py",
    "w2": lambda i, name: f"{name}_{7000 + i}_assignsubmission_file/week_b.py",
    "w3": lambda i, name: f"Week 3_u{i}_attempt_2026-10-16-10-00-00_week_c.py",
    "w4": lambda i, name: f"{i}-1 - {name} - Oct 23, 2026 1000 AM/week_d.py",
}


def members(week: str) -> list[int]:
    return [at for at, right in enumerate(RIGHT[week]) if right != " "]


def hand_out(folder: Path, week: str) -> None:
    """The class list of a week, and the download of its platform."""
    with (folder / f"{week}.csv").open("w", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow(["id", "username", "name", "group", "submitted", "excused"])
        for at in members(week):
            late = LATE[week][at]
            came = DUE[week] + (timedelta(hours=-1) if late == "." else timedelta(days=int(late)))
            excused = "yes" if week == "w4" and (week, at) in EXCUSED else ""
            submitted = "" if RIGHT[week][at] == "-" else came.isoformat()
            lines.writerow(
                [1000 + at, f"u{1000 + at}", NAMES[at], GROUPS.get(week, {}).get(at, ""), submitted, excused]
            )
    number = 2 * WEEKS.index(week)
    first, second = list(TOPICS.values())[WEEKS.index(week)]
    with zipfile.ZipFile(folder / f"{week}.zip", "w") as made:
        for at in members(week):
            if (right := RIGHT[week][at]) != "-":
                work = answers(**{first: number + 1 if right in "12" else 0, second: number + 2 if right == "2" else 0})
                made.writestr(UPLOADS[week](1000 + at, NAMES[at]), work + f"# {at}\n".encode())


def by_hand() -> dict[str, dict[int, Fraction | None]]:
    """The points after lateness of everybody in every week; None: nothing was handed in, or it does not count."""
    found: dict[str, dict[int, Fraction | None]] = {week: {} for week in WEEKS}
    left = dict.fromkeys(range(len(NAMES)), 3)
    for week in WEEKS:
        for at in members(week):
            group = GROUPS.get(week, {}).get(at)
            mates = [one for one, other in GROUPS.get(week, {}).items() if group and other == group] or [at]
            source = next((one for one in mates if RIGHT[week][one] != "-"), None)
            if source is None or (week, at) in EXCUSED:
                found[week][at] = None
                continue
            days = 0 if LATE[week][source] == "." else int(LATE[week][source])
            free = min(days, left[at])
            left[at] -= free
            kept = max(Fraction(0), 1 - Fraction(days - free, 10))
            found[week][at] = 10 * int(RIGHT[week][source]) * kept
    return found


def total(marks: dict[str, dict[int, Fraction | None]], at: int) -> Fraction | None:
    """The share of the term if nothing handed in is 0: the lowest is dropped, week 4 counts twice."""
    counting = {week: (marks[week][at] or Fraction(0)) / 20 for week in WEEKS if at in marks[week]}
    counting = {week: share for week, share in counting.items() if (week, at) not in EXCUSED}
    lowest = min(counting, key=lambda week: (counting[week], week)) if counting[min(counting)] is not None else ""
    kept = {week: share for week, share in counting.items() if week != lowest or len(counting) == 1}
    of = sum(2 if week == "w4" else 1 for week in kept)
    return sum((share * (2 if week == "w4" else 1) for week, share in kept.items()), Fraction(0)) / of


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.nightly  # by day, `docs/test_commands.py` has a class of 80 and a term of seven
def test_a_term_of_forty_students(tmp_path: Path) -> None:
    course, out = write_course(tmp_path / "course", TOPICS, PLAN), tmp_path / "term"
    for week in WEEKS:
        hand_out(tmp_path, week)
    common = ("--course", course, "--out", out)

    def grade(week: str) -> None:
        roster = ("--assignment", week, "--roster", tmp_path / f"{week}.csv", "--jobs", "2")
        done = run_here("grade", tmp_path / f"{week}.zip", *common, *roster)
        assert done.returncode == 1, done.stderr

    def export(*words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = run_here("export", *words, *common)
        assert done.returncode == code, done.stderr
        return done

    def check_marks(*weeks: str) -> None:
        for week in weeks:
            export("csv", "--assignment", week, "--to", tmp_path / "marks.csv")
            rows = table((tmp_path / "marks.csv").read_text(encoding="utf-8-sig"))
            finals = {one["submission"]: one["final"] for one in rows}
            expected = {NAMES[at]: "" if mark is None else f"{float(mark):g}" for at, mark in marks[week].items()}
            assert finals == expected, week

    marks = by_hand()
    assert [marks[week][0] for week in WEEKS] == [20, 20, 14, 20]  # one late day, one, and one of four days
    assert [marks[week][4] for week in WEEKS] == [0, 18, 18, 18]  # two late days and one; then one day each is paid
    assert [marks[week][1] for week in WEEKS] == [20, 20, 20, 20]  # w2: of the group, which has one day left of three

    grade("w1")
    check_marks("w1")
    check = course / "checks" / "test_week_b.py"
    right = check.read_text()
    check.write_text(right.replace("== 4", "== 104"))
    grade("w2")
    check.write_text(right)
    grade("w2")  # mended
    check_marks("w1", "w2")

    code = "import sys; from grader.cli.app import main; sys.exit(main(sys.argv[1:]))"
    words = [
        "grade",
        tmp_path / "w3.zip",
        *common,
        "--assignment",
        "w3",
        "--roster",
        tmp_path / "w3.csv",
        "--jobs",
        "1",
    ]
    run = subprocess.Popen([sys.executable, "-c", code, *map(str, words)], start_new_session=True)
    until = time.monotonic() + 120
    while time.monotonic() < until and run.poll() is None:
        with Gradebook.open_existing(out) as book:
            if book.runs()[-1].assignment == "w3" and book.runs()[-1].done >= 5:
                break
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    with Gradebook.open_existing(out) as book, book.within("w3"):
        waiting = book.ungraded()
        assert waiting and {one.student.name for one in book.absent() if one.handed_in_nothing}.isdisjoint(waiting)
    said = run_here("status", *common).stdout
    assert f"not graded yet: {len(waiting)} submissions" in said
    refused = export("csv", "--assignment", "w3", "--missing-as", "0", code=4)
    assert f"no zeros of w3: {len(waiting)} submissions not graded yet" in refused.stderr
    check_marks("w1", "w2")
    grade("w3")
    excused = run_here("excuse", NAMES[5], "--assignment", "w3", "--why", "ill", "--out", out)
    assert excused.returncode == 0, excused.stderr
    grade("w4")
    check_marks(*WEEKS)

    export("csv", "--missing-as", "0", "--to", tmp_path / "term.csv")
    rows = {one["student"]: one for one in table((tmp_path / "term.csv").read_text(encoding="utf-8-sig"))}
    assert list(rows) == sorted(NAMES)
    for at, name in enumerate(NAMES):
        share = total(marks, at)
        assert rows[name]["percent"] == f"{float(100 * share):.2f}", name
        least = {"A": 90, "B": 75, "C": 50, "F": 0}
        assert rows[name]["grade"] == next(letter for letter, bound in least.items() if 100 * share >= bound)
        assert (rows[name]["left the class"] == "yes") == (at == 38)
    assert rows[NAMES[5]]["w3 (20)"] == rows[NAMES[6]]["w4 (20)"] == "EX"
    assert (rows[NAMES[4]]["percent"], rows[NAMES[4]]["grade"]) == ("90.00", "A")  # (18 + 18 + 2 * 18) / 80

    check_lms_files(tmp_path, export, marks)
    report = run_here("report", *common)
    assert report.returncode == 0, report.stderr


def check_lms_files(folder: Path, export, marks: dict[str, dict[int, Fraction | None]]) -> None:  # type: ignore[no-untyped-def]
    """Each platform's file, after the last week: byte by byte what it was, but for the cells of one column."""
    there = members("w4")
    heads = {
        "canvas": "Student,ID,SIS Login ID,Section,Week 1 (71),Week 10 (72)\n    Points Possible,,,,20,20\n",
        "moodle": "Identifier,Full name,Email address,Grade,Maximum grade\n",
        "blackboard": "Last Name\tFirst Name\tUsername\tWeek 3 [Total Pts: 20 Score] |31\n",
        "brightspace": "OrgDefinedId,Username,Week 4 Points Grade <Numeric MaxPoints:20>,End-of-Line Indicator\r\n",
    }

    def row(lms: str, at: int, mark: str) -> str:
        first, last = NAMES[at].split()
        number = 1000 + at
        return {
            "canvas": f'"{last}, {first}",{number},u{number},A,{mark},\n',
            "moodle": f"Participant {7000 + number},{NAMES[at]},,{mark},20.00\n",
            "blackboard": f"{last}\t{first}\tu{number}\t{mark}\n",
            "brightspace": f"#{number},#u{number},{mark},#\r\n",
        }[lms]

    for lms, week, column in (
        ("canvas", "w1", "Week 1"),
        ("moodle", "w2", ""),
        ("blackboard", "w3", "Week 3"),
        ("brightspace", "w4", "Week 4"),
    ):
        encoding = "utf-16" if lms == "blackboard" else "utf-8"
        into, to = folder / f"{lms}.csv", folder / f"{lms}-filled.csv"
        into.write_bytes((heads[lms] + "".join(row(lms, at, "") for at in there)).encode(encoding))
        named = ("--column", column) if column else ()
        export(lms, "--into", into, "--to", to, "--assignment", week, "--missing-as", "0", *named)
        cells = []
        for at in there:
            mark = marks[week].get(at, "")
            excused = "EX" if lms == "canvas" else ""
            text = excused if (week, at) in EXCUSED else "0" if mark is None else mark and f"{float(mark):g}"
            cells.append(row(lms, at, "0" if mark == 0 else str(text)))
        assert to.read_bytes() == (heads[lms] + "".join(cells)).encode(encoding), lms
