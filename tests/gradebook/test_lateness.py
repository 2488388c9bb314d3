"""When work is late and what that costs: whose word counts for the time, grace, a cap, a last date, extensions."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from grader.course.due import LatePolicy, local_zone, read_due
from grader.errors import UserError
from grader.gradebook import Gradebook
from grader.gradebook.records import is_untimed, lateness
from grader.grading.settings import LateOptions
from grader.intake.submission import Arrival, Submission
from grader.marking.given import give_time
from grader.reports.status import status_lines
from grader.results import ExerciseResult, SubmissionResult

DUE = datetime.datetime(2026, 10, 1, 12, tzinfo=datetime.timezone.utc)
HOUR = datetime.timedelta(hours=1)


def came(hours: float, by: str = "roster", **more: object) -> Arrival:
    return Arrival(submitted=(DUE + hours * HOUR).isoformat(), by=by, **more)  # type: ignore[arg-type]


def penalty(hours: float, policy: LatePolicy, extension: datetime.datetime | None = None) -> float | None:
    late = lateness(came(hours), policy, extension)
    return None if late is None else late.penalty


@pytest.mark.parametrize("hours", [-100, 1, 1000])
def test_file_times_cost_no_points_unless_they_are_asked_for(hours: float) -> None:
    arrival = came(hours, "file time")
    assert lateness(arrival, LatePolicy(DUE, 0.1)) is None and is_untimed(arrival, LatePolicy(DUE, 0.1))
    asked = LatePolicy(DUE, 0.001, by_file_time=True)
    assert (lateness(arrival, asked) is not None) == (hours > 0) and not is_untimed(arrival, asked)


@pytest.mark.parametrize("by", ["roster", "Moodle worksheet", "Gradescope time"])
def test_times_of_others_count(by: str) -> None:
    late = lateness(came(25, by), LatePolicy(DUE, 0.1))
    assert late is not None and (late.days, late.penalty, late.by) == (2, 0.2, by)


@pytest.mark.parametrize(
    ("minutes", "wanted"), [(0, None), (15, None), (15.1, 0.1), (60 * 24, 0.1), (60 * 24 + 1, 0.2)]
)
def test_within_the_grace_nothing_is_late_and_after_it_days_count_from_the_due_date(
    minutes: float, wanted: float | None
) -> None:
    assert penalty(minutes / 60, LatePolicy(DUE, 0.1, grace_minutes=15)) == wanted


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where 25 October 2026 has 25 hours, and 28 March 2027 has 23."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("due", "submitted", "days"),
    [
        ("2026-10-24", "2026-10-25T23:59", 1),
        ("2026-10-24", "2026-10-26T00:00", 2),
        ("2026-10-24T23:59", "2026-10-25T22:59:00+00:00", 1),
        ("2027-03-27", "2027-03-28T23:59:59", 1),
        ("2027-03-27", "2027-03-29T00:10", 2),
        ("2026-10-25T02:30:00+02:00", "2026-10-25T02:10:00+01:00", 1),
    ],
)
def test_a_day_on_which_the_clocks_change_is_one_day(in_berlin: None, due: str, submitted: str, days: int) -> None:
    late = lateness(Arrival(submitted=submitted, by="roster"), LatePolicy(read_due(due), 0.1))
    assert late is not None and late.days == days


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC", "Pacific/Kiritimati"])
@pytest.mark.parametrize(
    ("due", "submitted", "days"),
    [
        ("2026-10-24T23:59:59+02:00", "2026-10-25T22:59:00+00:00", 1),
        ("2026-10-31T23:59:00+01:00", "2026-11-01T23:59:30+01:00", 2),
        ("2026-10-31T23:59:00-04:00", "2026-11-01T23:59:30-05:00", 2),
    ],
)
def test_days_are_those_of_the_deadline_s_place_wherever_they_are_counted(
    monkeypatch: pytest.MonkeyPatch, zone: str, due: str, submitted: str, days: int
) -> None:
    """On 1 November, the clocks change in New York, but the due date of the third line was not said for Berlin."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    late = lateness(Arrival(submitted=submitted, by="roster"), LatePolicy(read_due(due), 0.1, zone="Europe/Berlin"))
    monkeypatch.undo()
    time.tzset()
    assert late is not None and late.days == days


@pytest.mark.parametrize("zone", ["CET-1CEST", ":Europe/Berlin", "Nowhere/X", "UTC"])
def test_the_days_of_a_machine_whose_zone_has_no_name_are_counted_by_the_offset(
    monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    """On 1 November, the clocks change in New York."""
    monkeypatch.setenv("TZ", zone)
    named = local_zone()
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    came = Arrival(submitted="2026-11-01T23:59:30+01:00", by="roster")
    late = lateness(came, LatePolicy(read_due("2026-10-31T23:59:00+01:00"), 0.1, zone=named))
    monkeypatch.undo()
    time.tzset()
    assert late is not None and late.days == 2


def test_lateness_costs_at_most_the_cap() -> None:
    assert [penalty(24 * days, LatePolicy(DUE, 0.2, cap=0.5)) for days in (1, 2, 3, 99)] == [0.2, 0.4, 0.5, 0.5]


def test_after_the_last_date_nothing_counts_whatever_the_cap_and_the_grace() -> None:
    policy = LatePolicy(DUE, 0.1, cap=0.3, until=DUE + 48 * HOUR)
    assert [penalty(hours, policy) for hours in (1, 47, 48.1)] == [0.1, 0.2, 1.0]
    assert "after the last date" in str(lateness(came(49), policy))
    assert penalty(0.1, LatePolicy(DUE, 0.1, grace_minutes=60, until=DUE)) == 1.0


def test_an_extension_moves_the_due_date_and_the_last_date_of_one_student() -> None:
    policy = LatePolicy(DUE, 0.1, until=DUE + 24 * HOUR)
    extension = DUE + 72 * HOUR
    assert [penalty(hours, policy, extension) for hours in (71, 72, 73)] == [None, None, 1.0]
    assert penalty(1, policy, DUE - 99 * HOUR) == 0.1, "an extension never shortens the time"


def test_the_lms_mark_of_a_student_with_an_extension_says_nothing() -> None:
    assert lateness(Arrival(late=True), LatePolicy(DUE, 0.1)) is not None
    assert lateness(Arrival(late=True), LatePolicy(DUE, 0.1), DUE + HOUR) is None


def graded(out: Path, *arrivals: Arrival, per_day: float = 0.25) -> Path:
    """A run of students s1, s2, … who all have 2 points."""
    with Gradebook.open(out / "gradebook.sqlite") as book:
        run = book.start_run("course", "hash", 0, "key", {}, late=LatePolicy(DUE, per_day))
        for number, arrival in enumerate(arrivals, start=1):
            one = ExerciseResult(name="t.e", score=2.0, max=2.0)
            book.record_arrival(run, Submission(f"s{number}", {}, (), arrival), f"d{number}")
            book.record(
                run, SubmissionResult(submission=f"s{number}", score=2.0, max=2.0, exercises=(one,)), f"d{number}", 0.1
            )
        book.finish_run(run)
    return out


def final(out: Path) -> dict[str, float]:
    with Gradebook.open_existing(out) as book:
        return {row.result.submission: row.final for row in book.results()}


def test_a_class_whose_times_nobody_knows_loses_nothing_and_status_says_so(tmp_path: Path) -> None:
    out = graded(tmp_path, *(came(24 * 51, "file time") for _ in range(4)))
    assert set(final(out).values()) == {2.0}
    lines = list(status_lines(out, notes=False))
    assert any(line.startswith("not late: 4 submissions without a known time of handing in") for line in lines)
    assert not any(line.startswith("late:") for line in lines)


@pytest.mark.parametrize("again", [Arrival(), came(0, "file time"), came(0, "last commit")])
def test_work_that_is_graded_again_without_a_time_came_when_it_came(tmp_path: Path, again: Arrival) -> None:
    """A later run is often without the list that had the times; a student's own word does not replace them."""
    assert final(graded(tmp_path, came(30), came(-1))) == {"s1": 1.0, "s2": 2.0}
    assert final(graded(tmp_path, again, came(30))) == {"s1": 1.0, "s2": 1.0}
    assert final(graded(tmp_path, came(1), again)) == {"s1": 1.5, "s2": 1.0}


def test_an_extension_counts_at_once_for_what_is_graded_and_can_be_withdrawn(tmp_path: Path) -> None:
    out = graded(tmp_path, came(25), came(25))
    assert final(out) == {"s1": 1.0, "s2": 1.0}
    lines = list(give_time(out, "s1", "2026-10-03", "was ill", "me"))
    assert lines[0].startswith("s1: until 2026-10-03 23:59, by me, ") and lines[0].endswith(": was ill")
    assert lines[1] == "s1: not late, as far as is known; 2/2" and final(out) == {"s1": 2.0, "s2": 1.0}
    assert any(line.startswith("extension: s1: until 2026-10-03") for line in status_lines(out, notes=False))
    assert "before: s1: until 2026-10-03" in list(give_time(out, "s1", "2026-10-02T00:00", "too long", "me"))[1]
    list(give_time(out, "s1", "none", "was another", "me"))
    assert final(out) == {"s1": 1.0, "s2": 1.0}


def test_an_extension_by_hand_counts_more_than_that_of_the_roster(tmp_path: Path) -> None:
    roster = (DUE + 72 * HOUR).isoformat()
    out = graded(tmp_path, came(71, due=roster), came(71, due=roster))
    assert final(out) == {"s1": 2.0, "s2": 2.0}
    list(give_time(out, "s1", (DUE + 24 * HOUR).isoformat(), "less for this one", "me"))
    assert final(out) == {"s1": 1.0, "s2": 2.0}


def test_an_extension_by_id_holds_for_the_student_under_any_name(tmp_path: Path) -> None:
    out = graded(tmp_path, came(25, student="4711"))
    list(give_time(out, "4711", "2026-10-05", "ill", "me"))
    assert final(out) == {"s1": 2.0}


def test_an_extension_for_somebody_who_has_not_handed_in_yet_is_kept_and_says_so(tmp_path: Path) -> None:
    out = graded(tmp_path, came(0))
    lines = list(give_time(out, "s2", "2026-10-05", "ill", "me"))
    assert lines[-1].startswith("no submission of `s2` is graded yet: this counts once there is one")
    assert final(graded(out, came(0), came(25))) == {"s1": 2.0, "s2": 2.0}


@pytest.mark.parametrize(("date", "why"), [("soon", "x"), ("2026-02-30", "x"), ("", "x"), ("2026-10-05", " ")])
def test_an_invalid_extension_is_refused_and_nothing_is_kept(tmp_path: Path, date: str, why: str) -> None:
    out = graded(tmp_path, came(25))
    with pytest.raises(UserError):
        list(give_time(out, "s1", date, why, "me"))
    assert final(out) == {"s1": 1.0}


def test_what_a_command_line_said_holds_for_later_ones_that_say_nothing() -> None:
    first = LateOptions(due="2026-10-01", per_day=0.1, grace=5)
    said = msgspec.to_builtins(first)
    assert LateOptions().after(said) == first
    assert LateOptions(cap=0.5).after(said) == msgspec.structs.replace(first, cap=0.5)
    assert LateOptions(due="course").after(said) == LateOptions()
    course = LatePolicy(DUE, 0.3)
    assert LateOptions().after(said).policy(course).per_day == 0.1
    assert LateOptions(due="none").after(said).policy(course).due is None
    assert LateOptions(due="course").after(said).policy(course) == course


@pytest.mark.parametrize(
    "options",
    [
        LateOptions(due="soon"),
        LateOptions(due="2026-10-01", per_day=1.5),
        LateOptions(due="2026-10-01", cap=-0.1),
        LateOptions(due="2026-10-01", grace=-1),
        LateOptions(due="2026-10-01", grace=float("nan")),
        LateOptions(due="2026-10-01", until="2026-09-01"),
        LateOptions(by="hearsay"),
    ],
)
def test_invalid_options_are_refused(options: LateOptions) -> None:
    with pytest.raises(UserError, match="late work"):
        options.policy(LatePolicy())


def test_a_gradebook_keeps_what_was_said(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        assert book.late_given() == {}
        book.keep_late({"due": "2026-10-01"})
        book.keep_late({"due": "none", "cap": 0.5})
        assert book.late_given() == {"due": "none", "cap": 0.5}
