"""Assignments of one gradebook: each has its own lateness, groups, class list and excuses. All marks are by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as replace_student
from datetime import datetime, timezone
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace

from grader.course import Course
from grader.course.assignments import Assignment, Plan, Term
from grader.course.due import LatePolicy
from grader.errors import UserError
from grader.exports.term import term_table
from grader.gradebook import Excuse, Extension, Gradebook, LookedAt
from grader.gradebook.records import row_of
from grader.intake.roster import Student
from grader.intake.submission import Arrival, Submission
from grader.reports.term import TermStudent, state_of, term_of, worth_of
from grader.results import ExerciseResult, SubmissionResult

ANN, BOB, CY = Student("Ann", ("1",)), Student("Bob", ("2",)), Student("Cy", ("3",))
WEEKS = {
    "week1": datetime(2026, 10, 1, 12, tzinfo=timezone.utc),
    "week2": datetime(2026, 10, 8, 12, tzinfo=timezone.utc),
}
PLAN = Plan(
    course="course",
    assignments=tuple(
        Assignment(name=name, exercises=(f"t.{name}",), late=LatePolicy(due, 0.1)) for name, due in WEEKS.items()
    ),
)


def grade(
    book: Gradebook,
    assignment: str,
    work: Mapping[Student, tuple[float, str]],
    students: Sequence[Student] | None = (ANN, BOB, CY),
    *,
    plan: Plan = PLAN,
    found: Sequence[Student] = (),
    selection: str = "key",
) -> int:
    """A run of an assignment: each student's points of 10, and when the work came; `found` is not graded any more."""
    one = next((one for one in plan.assignments if one.name == assignment), plan.assignments[0])
    book.assignment = assignment
    there = [(student.name, student.ids[0]) for student in (*work, *found)]
    run = book.start_run(
        "course",
        "hash",
        0,
        selection,
        {},
        late=one.late,
        exercises=one.exercises,
        students=students,
        found=there,
        plan=plan,
    )
    for student, (points, at) in work.items():
        arrival = Arrival(student=student.ids[0], submitted=at, by="roster")
        submission = Submission(student.name, {"t.py": f"{assignment} {points} {at}".encode()}, (), arrival)
        digest = f"{assignment} {student.group or student.name} {points}"
        exercise = ExerciseResult(name=one.exercises[0], score=points, max=10.0)
        book.record_arrival(run, submission, digest)
        result = SubmissionResult(submission=student.name, score=points, max=10.0, exercises=(exercise,))
        book.record(run, result, digest, 0.1)
    if not found:
        book.finish_run(run)
    return run


def finals(book: Gradebook, assignment: str) -> dict[str, float]:
    with book.within(assignment):
        return {row.result.submission: row.final for row in book.results()}


@pytest.fixture
def book(tmp_path: Path) -> Gradebook:
    return Gradebook.open(tmp_path / "gradebook.sqlite")


def test_each_week_has_its_own_lateness(book: Gradebook) -> None:
    grade(book, "week1", {ANN: (10, "2026-10-06T12:00:00Z"), BOB: (10, "2026-10-01T10:00:00Z")})
    grade(book, "week2", {ANN: (10, "2026-10-08T10:00:00Z"), BOB: (10, "2026-10-13T12:00:00Z")})
    assert finals(book, "week1") == {"Ann": 5, "Bob": 10}
    assert finals(book, "week2") == {"Ann": 10, "Bob": 5}


def test_a_name_is_the_same_however_wide_its_spaces_are(book: Gradebook, tmp_path: Path) -> None:
    listed, bare = Student("Ann Lee", ("1",)), Student("Ann  Lee", ("",))
    grade(book, "week1", {listed: (10, "")}, (listed,))
    grade(book, "week2", {bare: (8, "")}, None)
    (ann,) = term(book, PLAN, tmp_path).values()
    assert {week: one.state for week, one in ann.standings.items()} == {"week1": "marked", "week2": "marked"}


def test_a_name_is_the_same_with_the_family_name_before_it(book: Gradebook) -> None:
    """As in a list of Canvas."""
    grade(book, "week1", {Student("Lee, Ann", ("1",)): (10, ""), Student("Lee Ann", ("2",)): (5, "")}, None)
    with book.within("week1"):
        rows = book.results()
    assert {row_of(rows, name).score for name in ("Lee, Ann", "Ann Lee", "1")} == {10}
    assert row_of(rows, "Lee Ann").score == 5


def test_an_extension_is_for_one_week(book: Gradebook) -> None:
    grade(book, "week1", {ANN: (10, "2026-10-06T12:00:00Z")})
    until = Extension(student="Ann", due="2026-10-12T12:00:00Z", why="ill", who="me", made="")
    book.give("course", until, LookedAt("1"))
    grade(book, "week2", {ANN: (10, "2026-10-11T12:00:00Z")})
    assert finals(book, "week1") == {"Ann": 10} and finals(book, "week2") == {"Ann": 7}


def test_a_later_list_changes_no_earlier_week(book: Gradebook) -> None:
    """In week 1 Ann and Bob are a group; in week 2 Bob and Cy are, and Ann has left."""
    ann, bob, cy = (Student(one.name, one.ids, group=group) for one, group in ((ANN, "A"), (BOB, "A"), (CY, "")))
    grade(book, "week1", {ann: (8, ""), cy: (3, "")}, (ann, bob, cy))
    bob2, cy2 = Student("Bob", ("2",), group="B"), Student("Cy", ("3",), group="B")
    grade(book, "week2", {cy2: (6, "")}, (bob2, cy2))
    assert finals(book, "week1") == {"Ann": 8, "Bob": 8, "Cy": 3}
    assert finals(book, "week2") == {"Bob": 6, "Cy": 6}


def course_of(plan: Plan, tmp_path: Path, points: int = 10) -> Course:
    text = '[course]\nname = "course"\ntitle = "C"\n[[topics]]\nname = "t"\ntitle = "T"\n'
    text += "".join(f'[[topics.exercises]]\nname = "{one.name}"\npoints = {points}\n' for one in plan.assignments)
    (tmp_path / "course.toml").write_text(text)
    loaded = Course.load(tmp_path, complete=False)
    return replace(loaded, assignments=plan.assignments, term=plan.term)


def term(book: Gradebook, plan: Plan, tmp_path: Path) -> dict[str, TermStudent]:
    return {one.name: one for one in term_of(book, course_of(plan, tmp_path))}


def test_what_a_crash_left_is_not_graded_yet_and_nobody_who_handed_in_has_nothing(
    book: Gradebook, tmp_path: Path
) -> None:
    grade(book, "week1", {ANN: (10, "")}, found=[BOB])
    states = {name: one.standings["week1"].state for name, one in term(book, PLAN, tmp_path).items()}
    assert states == {"Ann": "marked", "Bob": "not graded yet", "Cy": "not handed in"}
    with book.within("week1"):
        assert [one.student.name for one in book.absent() if one.handed_in_nothing] == ["Cy"] and book.ungraded() == [
            "Bob"
        ]
        assert not book.is_finished()
    grade(book, "week1", {BOB: (4, "")})
    states = {name: one.standings["week1"].state for name, one in term(book, PLAN, tmp_path).items()}
    assert states == {"Ann": "marked", "Bob": "marked", "Cy": "not handed in"}


def test_excused_counts_nowhere_until_it_is_taken_back(book: Gradebook, tmp_path: Path) -> None:
    grade(book, "week1", {ANN: (10, ""), BOB: (5, "")})
    grade(book, "week2", {ANN: (2, ""), BOB: (7, "")})
    book.assignment = "week2"
    for student in (ANN, CY):
        given = Excuse(student=student.name, why="ill", who="me", made="")
        book.give("course", given, LookedAt(student.ids[0]))
    found, worth = term(book, PLAN, tmp_path), worth_of(course_of(PLAN, tmp_path))
    assert found["Ann"].standings["week2"].state == found["Cy"].standings["week2"].state == "excused"
    assert found["Ann"].total(PLAN, worth).share == 1 and found["Bob"].total(PLAN, worth).share == Fraction(12, 20)
    assert [str(one) for one in found["Cy"].total(PLAN, worth).lacking] == ["not handed in"]
    assert found["Cy"].total(PLAN, worth, missing_as_zero=True).share == 0
    book.give("course", Excuse(student="Ann", why="came", who="me", made="", excused=False), LookedAt("1"))
    assert term(book, PLAN, tmp_path)["Ann"].total(PLAN, worth).share == Fraction(12, 20)


def test_late_days_are_spent_in_the_order_of_due_dates(book: Gradebook, tmp_path: Path) -> None:
    """Three days: Ann takes two of them in week 1, and one of the two days in week 2; Bob keeps all for week 2."""
    plan = Plan(course="course", assignments=PLAN.assignments[::-1], term=Term(late_days=3))
    grade(book, "week2", {ANN: (10, "2026-10-10T12:00:00Z"), BOB: (10, "2026-10-12T12:00:00Z")}, plan=plan)
    grade(book, "week1", {ANN: (10, "2026-10-03T12:00:00Z"), BOB: (10, "2026-10-01T12:00:00Z")}, plan=plan)
    assert finals(book, "week1") == {"Ann": 10, "Bob": 10}
    assert finals(book, "week2") == {"Ann": 9, "Bob": 9}
    found = term(book, plan, tmp_path)
    late = [found[name].standings["week2"].entry for name in ("Ann", "Bob")]
    assert [one.row.free_days for one in late if one] == [1, 3]
    read: list[str] = []
    book._db.set_trace_callback(read.append)
    finals(book, "week2")
    book._db.set_trace_callback(None)
    assert sum("SELECT result, seconds" in one for one in read) == 2, "what week 1 has taken is not read again"
    book.assignment = "week1"
    more = Extension(student="Ann", due="2026-10-04T12:00:00Z", why="ill", who="me", made="")
    book.give("course", more, LookedAt("1"))
    assert finals(book, "week2") == {"Ann": 10, "Bob": 9}, "but it is after a change"


def test_the_lowest_is_dropped_and_weights_and_letters_count(book: Gradebook, tmp_path: Path) -> None:
    letters = (("A", 90.0), ("B", 80.0), ("F", 0.0))
    third = Assignment(name="week3", exercises=("t.week3",), weight=2.0)
    plan = Plan(course="course", assignments=(*PLAN.assignments, third), term=Term(drop_lowest=1, letters=letters))
    grade(book, "week1", {ANN: (8.996, ""), BOB: (9, "")}, plan=plan)
    grade(book, "week2", {ANN: (1, ""), BOB: (8, "")}, plan=plan)
    grade(book, "week3", {ANN: (8.996, "")}, plan=plan)
    found, worth = term(book, plan, tmp_path), worth_of(course_of(plan, tmp_path))
    ann, bob, cy = (found[name].total(plan, worth) for name in ("Ann", "Bob", "Cy"))
    assert ann.dropped == ("week2",) and ann.share == Fraction("0.8996") and ann.letter(letters) == "B"
    assert bob.dropped == ("week3",) and bob.share == Fraction(17, 20) and bob.letter(letters) == "B"
    assert cy.share is None and cy.letter(letters) == "" and len(cy.lacking) == 2


def test_without_a_class_list_who_skipped_a_week_has_no_whole_mark_and_no_zero(book: Gradebook, tmp_path: Path) -> None:
    grade(book, "week1", {ANN: (10, ""), BOB: (5, "")}, None)
    grade(book, "week2", {BOB: (7, "")}, None)
    found, worth = term(book, PLAN, tmp_path), worth_of(course_of(PLAN, tmp_path))
    assert str(found["Ann"].standings["week2"]) == "not handed in (no class list says who should have)"
    for as_zero in (False, True):
        total = found["Ann"].total(PLAN, worth, missing_as_zero=as_zero)
        assert total.share == 1 and total.percent is None and len(total.lacking) == 1
    assert found["Bob"].total(PLAN, worth).percent == 60


def test_one_who_left_and_one_who_changed_name_and_id(book: Gradebook, tmp_path: Path) -> None:
    grade(book, "week1", {ANN: (10, ""), BOB: (5, "")})
    married = Student("Ann Lee", ("1", "ann@x"))
    new = Student("Dee", ("4",))
    grade(book, "week2", {Student("Ann Lee", ("ann@x",)): (6, ""), new: (7, "")}, (married, CY, new))
    found = term(book, PLAN, tmp_path)
    assert set(found) == {"Ann Lee", "Bob", "Cy", "Dee"}
    both = found["Ann Lee"].standings
    assert [both[week].share for week in WEEKS] == [1, Fraction(6, 10)]
    assert found["Bob"].has_left and set(found["Bob"].standings) == {"week1"}
    assert set(found["Dee"].standings) == {"week2"} and not found["Dee"].has_left


def test_a_list_of_another_week_says_who_is_there_and_excuses_nobody(book: Gradebook) -> None:
    """Time and groups are facts of the week that they were given for, too; groups are asked for."""
    listed = (ANN, Student("Bob", ("2",), extension="2026-12-01T12:00:00+00:00"), Student("Cy", ("3",), excused=True))
    grade(book, "week1", {}, listed)
    book.assignment = "week2"
    assert book.newest_class_list("course") == [ANN, BOB, CY]
    with book.within("week1"):
        assert book.newest_class_list("course") == list(listed)
    grade(book, "week1", {}, (replace_student(ANN, group="rho"), BOB))
    book.assignment = "week2"
    with pytest.raises(UserError, match="groups") as refused:
        book.newest_class_list("course")
    assert "--roster" in refused.value.fix


def test_two_of_one_name_who_are_never_in_one_list_have_no_mark_of_the_term(book: Gradebook, tmp_path: Path) -> None:
    """A list with other ids makes two halves of one student, and neither is a whole mark."""
    late, namesakes = Student("Ann", ("ann@x",)), (Student("Bob", ("2",)), Student("Bob", ("5",)))
    grade(book, "week1", {ANN: (10, "")}, (ANN, *namesakes))
    grade(book, "week2", {late: (6, "")}, (late, *namesakes))
    book.use_plan(PLAN)
    worth = dict.fromkeys(WEEKS, 10.0)
    of_id = {one.ids[0]: one for one in term_of(book, course_of(PLAN, tmp_path))}
    for one, other in (("1", "ann@x"), ("ann@x", "1")):
        assert f"perhaps also Ann ({other})" in of_id[one].doubt
        total = of_id[one].total(PLAN, worth)
        assert total.percent is None and total.letter([("A", 0.0)]) == "" and total.share is not None
    assert not of_id["2"].doubt and not of_id["5"].doubt
    grade(book, "week2", {late: (6, "")}, (Student("Ann", ("ann@x", "1")), *namesakes))
    (ann,) = (one for one in term_of(book, course_of(PLAN, tmp_path)) if one.name == "Ann")
    assert ann.total(PLAN, worth).percent == 80


def test_resubmissions_changed_later_count_at_once(book: Gradebook) -> None:
    grade(book, "week1", {ANN: (10, "")})
    grade(book, "week1", {ANN: (4, "")})
    assert finals(book, "week1") == {"Ann": 4}
    book.use_plan(replace(PLAN, assignments=tuple(replace(one, resubmissions="best") for one in PLAN.assignments)))
    assert finals(book, "week1") == {"Ann": 10}


def test_runs_from_before_assignments_were_declared_are_taken_over(book: Gradebook) -> None:
    before = Plan(course="course", assignments=(Assignment(exercises=("t.week1", "t.week2")),))
    grade(book, "", {ANN: (9, "")}, plan=before, selection='{"exercises": ["t.week1"]}')
    book.give("course", Extension(student="Bob", due="2027-01-01", why="ill", who="me", made=""), LookedAt("2"))
    grade(book, "week2", {BOB: (3, "")}, None)
    assert book.assignments() == ["week1", "week2"]
    assert finals(book, "week1") == {"Ann": 9} and finals(book, "week2") == {"Bob": 3}
    with book.within("week1"):
        assert [one.student.name for one in book.absent() if one.handed_in_nothing] == ["Bob", "Cy"]
        assert [one.student for one in book.extensions("course")] == ["Bob"]


def test_the_table_says_of_how_many_points_a_mark_is_if_the_course_has_others_now(
    book: Gradebook, tmp_path: Path
) -> None:
    grade(book, "week1", {ANN: (5, "")})
    tables = (b"".join(term_table(book, course_of(PLAN, tmp_path, most))).decode() for most in (10, 20))
    assert [table.splitlines()[1] for table in tables] == [
        "Ann,1,,5,marked,50.00,,,,",
        'Ann,1,,5,"marked, of 10 points",50.00,,,,',
    ]


def test_an_assignment_must_be_named_where_there_are_several(book: Gradebook) -> None:
    grade(book, "week1", {ANN: (9, "")})
    book.choose(None)
    assert book.assignment == "week1"
    grade(book, "week2", {ANN: (9, "")})
    with pytest.raises(UserError, match=r"several assignments: week1, week2"):
        book.choose(None)
    with pytest.raises(UserError, match=r"no assignment `week3`; did you mean"):
        book.choose("week3")


def test_a_whole_run_that_has_ended_stands_for_one_that_was_killed(book: Gradebook) -> None:
    """Without a class list Bob's work had another name; a run of Ann alone does not say that Bob's is graded."""
    grade(book, "week1", {ANN: (10, "")}, None, found=[Student("bob (1)", ("77",))])
    grade(book, "week1", {ANN: (10, "")}, None)
    with book.within("week1"):
        assert book.ungraded() == ["bob (1)"]
    grade(book, "week1", {ANN: (10, ""), BOB: (4, "")})
    with book.within("week1"):
        assert book.ungraded() == []


def test_work_of_which_nothing_could_be_assessed_is_no_mark(book: Gradebook, tmp_path: Path) -> None:
    grade(book, "week1", {ANN: (10, "")})
    book.assignment = "week1"
    (row,) = book.results()
    assert state_of(replace(row, result=replace(row.result, score=0.0, max=0.0))) == (
        "needs a look",
        "nothing could be assessed",
    )


def test_folders_that_were_named_by_ids_before_there_was_a_class_list_are_its_students(book: Gradebook) -> None:
    """Unless two could be meant: Max is called as the other one is known."""
    came = "2026-10-01T10:00:00Z"
    early = {Student(name, ("",)): (points, came) for name, points in (("1", 10), ("U2", 5), ("max", 1))}
    grade(book, "week1", early, None)
    listed = [Student("Ann", ("1", "u1")), Student("Bob", ("2", "u2")), Student("Cy", ("3", "max"))]
    listed.append(Student("max", ("4", "u4")))
    grade(book, "week2", dict.fromkeys(listed, (10, "2026-10-08T10:00:00Z")), listed)
    keys = book.everybody().key
    assert (keys("1", ""), keys("U2", "")) == (keys("Ann", "1"), keys("Bob", "2"))
    assert keys("max", "") not in (keys("Cy", "3"), keys("max", "4"))
