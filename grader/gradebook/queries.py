"""`Queries`: the results of a gradebook, and what people gave, as records. Never writes."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from msgspec.structs import replace

from grader.course.due import LatePolicy, moment
from grader.gradebook import by_hand, records
from grader.gradebook.graded_work import GradedWork, that_counts
from grader.gradebook.histories import History, Names, SeenResult, by_student, histories
from grader.gradebook.people import People
from grader.gradebook.reading import RUNS, Reading
from grader.gradebook.records import Whose
from grader.gradebook.schema import file_errors
from grader.intake.roster import Roster, Student
from grader.intake.submission import Arrival
from grader.results import ExerciseResult, SubmissionResult, each_once, total_points
from grader.text import one_line

G = TypeVar("G", bound=by_hand.Given)

_KINDS: Final[dict[str, type[by_hand.Given]]] = {kind.__name__: kind for kind in by_hand.Given.__subclasses__()}
# What is about the work of a group, and so about that of each member.
_ABOUT_WORK: Final = ("Mark", "Comment")
_SEEN: Final = (
    "WITH seen (run, result, submission) AS (SELECT run, id, submission FROM results UNION ALL"
    " SELECT reused.run, results.id, submission FROM reused JOIN results ON results.id = reused.result)"
    " SELECT seen.run, seen.result, submissions.name, coalesce(json_extract(arrival, '$.student'), ''),"
    " coalesce(json_extract(arrival, '$.submitted'), ''), submissions.digest, results.score, results.max"
    " FROM seen JOIN results ON results.id = seen.result JOIN submissions ON submissions.id = seen.submission"
    " JOIN runs ON runs.id = seen.run JOIN courses ON courses.id = runs.course"
    " LEFT JOIN arrivals ON arrivals.run = seen.run AND arrivals.submission = seen.submission"
)


class Queries(Reading):
    """The part of a `Gradebook` that reads results and what people gave, of the assignment at hand."""

    def people(self, course: str) -> dict[str, str]:
        """The latest names of the students with a result in any assignment, by the LMS's id, else by the name."""
        return {one.person or one.name: one.name for one in self._of_all(course)}

    def absent(self) -> list[records.Absent]:
        """The students of the class list who have no result, nor has anybody of their group."""
        course = self.course
        students = self.class_list(course)
        people = Roster(students, self.path)
        there: set[Student] = set()
        for history in histories(by_student(self._of_course(course)), students):
            there.update(people.candidates([history.whose.person], history.whose.name))
        waiting = {one for name, person in self._ungraded(course) for one in people.candidates([person], name)}
        groups = {one.group for one in waiting} - {""}
        return [
            records.Absent(
                student=one,
                is_waiting=one in waiting or one.group in groups,
                excused=self._excused(course, Whose(one.name, one.ids[0]), one),
            )
            for one in students
            if one not in there
        ]

    def ungraded(self) -> list[str]:
        """The names of the submissions that a run began with, and that have no result: it was interrupted."""
        return sorted({name for name, _ in self._ungraded(self.course)})

    def strangers(self) -> list[str]:
        """The names of those with a result who are on no class list of the course; none if there is no list."""
        course, people = self.course, self.everybody()
        listed = {people.key(one.name, one.ids[0]) for one in self._listed(course)}
        seen = by_student(self._of_course(course)) if listed else []
        return [one[-1].name for one in seen if people.key(one[-1].name, one[-1].person) not in listed]

    def _ungraded(self, course: str) -> set[tuple[str, str]]:
        """Name and person of these."""
        graded: set[str] = set()
        for one in self._of_course(course):
            graded.update((f"id {one.person}", f"name {one.name}") if one.person else (f"name {one.name}",))
        query = f"SELECT found, finished FROM {RUNS} WHERE NOT trial AND name = ? AND assignment = ? ORDER BY runs.id"
        found: set[tuple[str, str]] = set()
        for text, finished in self._all(query, course, self.assignment):
            of_run = set(self._decoded(text, list[tuple[str, str]]))
            # A whole run that has ended stands for those before it: a class list may have given names since.
            found = of_run if finished and len(of_run) >= len(found) else found | of_run
        return {
            (name, person) for name, person in found if (f"id {person}" if person else f"name {name}") not in graded
        }

    def extensions(self, course: str) -> list[by_hand.Extension]:
        """The extensions that were given by hand and are in force: the newest of each student."""
        return [one for one in self._newest_of_each(by_hand.Extension, course) if one.due]

    def excuses(self, course: str) -> list[by_hand.Excuse]:
        """The excuses that were given by hand and are in force: the newest of each student."""
        return [one for one in self._newest_of_each(by_hand.Excuse, course) if one.excused]

    def _newest_of_each(self, kind: type[G], course: str) -> list[G]:
        # By the id: the same student may have had another name.
        query = "SELECT record, max(id) FROM given WHERE kind = ? AND course = ? AND assignment = ?"
        query += " GROUP BY person, CASE person WHEN '' THEN student END ORDER BY student"
        found = self._all(query, kind.__name__, course, self.assignment)
        return [self._decoded(record, kind) for record, _ in found]

    def standing(self, course: str, people: Sequence[Whose], given: by_hand.Given) -> by_hand.InForce:
        """All that people gave for the subject of something that is given now, such as the points of an exercise.

        Args:
            people: the student, then the others of the group: marks and comments are about the work of all of them.
        """
        last, newest = 0, dict[type, by_hand.Given]()
        for number, one, _ in self._given_to(course, people):
            if one.subject == given.subject:
                last, newest[type(one)] = number, one
        return by_hand.InForce(last, tuple(one for one in newest.values() if not one.is_withdrawal))

    def newest_given(self) -> int:
        """The number of the newest record of what people gave; 0 if there is none."""
        return int(self._value("SELECT coalesce(max(id), 0) FROM given"))

    def history(self, people: Sequence[Whose]) -> list[records.HistoryEvent]:
        """All results of a student, also of trials, and all that people gave to them, the oldest first.

        Results of a group are those of every member, and so are marks by rubric and comments.

        Args:
            people: the student, then the others of the group.
        """
        course, own = self.course, people[0]
        events = [records.HistoryEvent(given.made, given) for _, given, _ in self._given_to(course, people)]
        for history in histories(by_student(self._of_course(course)), self.class_list(course)):
            if (history.whose.name, history.whose.person) == (own.name, own.person):
                events += map(self._result_event, history.seen)
        trials = self._seen("trial AND courses.name = ?", course)
        theirs = (one for one in trials if (one.person == own.person if one.person else own.is_called(one.name)))
        events += map(self._result_event, theirs)
        return sorted(events, key=lambda event: moment(event.made))

    def _result_event(self, seen: SeenResult) -> records.HistoryEvent:
        query = "SELECT result, graded, results.run = runs.id AS is_new, started, trial FROM results, runs"
        (found,) = self._all(f"{query} WHERE results.id = ? AND runs.id = ?", seen.result, seen.run)
        return records.HistoryEvent(
            found["graded"] if found["is_new"] else found["started"],
            result=self._decoded(found["result"], SubmissionResult),
            run=seen.run,
            number=seen.result,
            submitted=seen.submitted,
            trial=bool(found["trial"]),
        )

    def granted(self, course: str, name: str, person: str) -> tuple[str, ...]:
        """The exercises that a person has given all points for to a student, by name or the LMS's id."""
        newest = {one.exercise: one for one, _ in self._given(by_hand.Override, course, Whose(name, person))}
        return tuple(one.exercise for one in newest.values() if one.points is not None and one.points >= one.max)

    def results(self, run: int | None = None) -> list[records.Row]:
        """The results of a run, reused ones too; None means the latest of each student. In order of names.

        The latest have the latest result of each exercise of the assignment, from whichever of its runs; trials do not
        count.
        """
        return list(self.each_result(run))

    def each_result(self, run: int | None = None) -> Iterator[records.Row]:
        """The same as `results`, each read when its turn comes: the rows of a class need not fit in memory."""
        if run is None:
            yield from self._with_late_days(self._rows())
        else:
            of_run = self._value("SELECT assignment FROM runs WHERE id = ?", run) or ""
            with self.within(of_run):
                yield from self._with_late_days(self._rows(run))

    def late_days_left(self) -> dict[str, int]:
        """How many late days the students have left before this assignment, by `People.key`; absent: all of them."""
        plan, people = self.plan, self.everybody()
        state = self._db.total_changes, self._value("PRAGMA data_version"), plan
        if self._days_left[0] != state:  # somebody has changed the gradebook
            self._days_left = state, {}
        left, after = dict[str, int](), self._days_left[1]
        for assignment in plan.by_due_date:
            if assignment.name == self.assignment:
                break
            if assignment.name not in after:
                with self.within(assignment.name):
                    for row in self._rows():
                        key = people.key(row.result.submission, row.arrival.student)
                        have = left.get(key, plan.term.late_days)
                        left[key] = have - row.with_late_days(have).free_days
                after[assignment.name] = left
            left = dict(after[assignment.name])
        return left

    def everybody(self) -> People:
        """Who is who over all assignments of the course."""
        course = self.course
        return People(self._listed(course), [(one.name, one.person) for one in self._of_all(course)])

    def _with_late_days(self, rows: Iterator[records.Row]) -> Iterator[records.Row]:
        plan = self.plan
        if not plan.term.late_days or not self.assignment:
            yield from rows
            return
        left, people = self.late_days_left(), self.everybody()
        for row in rows:
            key = people.key(row.result.submission, row.arrival.student)
            yield row.with_late_days(left.get(key, plan.term.late_days))

    def _rows(self, run: int | None = None) -> Iterator[records.Row]:
        last = self._last_run()
        course, _ = self._course_and_policy(last if run is None else run)
        exercises: list[str] = []
        rule = "latest"
        own = of_course = by_student(self._of_course(course))
        for text, kept_rule in self._all("SELECT exercises, resubmissions FROM runs WHERE id = ?", run or last):
            exercises, rule = self._decoded(text, list[str]), kept_rule
        if run is not None:
            own = [[one] for one in self._seen("seen.run = ?", run)]
            # What it graded, but for exercises of other assignments that these need.
            exercises, rule = exercises if self.assignment else [], "latest"
        elif self._plan is not None and self._plan.course == course:
            for one in (one for one in self._plan.assignments if one.name == self.assignment):
                exercises, rule = list(one.exercises), one.resubmissions
        students = self.class_list(course)
        everybody = sorted(histories(own, students), key=lambda one: (one.whose.name, one.seen[-1].result))
        count = Counter(history.whose.name for history in everybody)
        runs = {seen.run for history in everybody for seen in history.seen}
        policies = {one: self._course_and_policy(one)[1] for one in runs}
        names = Names(of_course, students)
        for history in map(names.added_to, everybody):
            name, person = history.whose.name, history.whose.person
            shown = f"{name} ({person})" if run is None and count[name] > 1 else name
            works = [history] if rule == "latest" else history.works()
            wanted = [] if run else exercises
            rows = [self._row(work, shown, course, policies, exercises, wanted) for work in works]
            yield that_counts(rows, rule)

    def _row(
        self,
        history: History,
        name: str,
        course: str,
        policies: Mapping[int, LatePolicy],
        exercises: list[str],
        wanted: list[str],
    ) -> records.Row:
        """The row of a student's last result of those in a history, under a name.

        Args:
            policies: when the work of each run was due.
            exercises: those that count; empty: all that were graded.
            wanted: those that are missing if they were not graded.
        """
        *earlier, seen = history.seen
        whose, members = history.whose, history.members or (history.whose,)
        query = (
            "SELECT result, seconds, results.run, graded, notes FROM results LEFT JOIN works ON works.digest = ?"
            " WHERE results.id = ?"
        )
        ((text, seconds, made_in, graded, notes),) = self._all(query, seen.digest, seen.result)
        said = self._decoded(notes or "[]", list[str])
        arrival = replace(self._arrival(seen), student=whose.person)
        if history.group:
            arrival = replace(arrival, due=history.extension)
        if (seen.name, seen.person) != (whose.name, whose.person):  # the number of who handed in is not the member's
            arrival = replace(arrival, platform_id="")
            if history.group:
                arrival = replace(arrival, prefix="")
                said.insert(0, f"the work of group {one_line(history.group)}, handed in by {one_line(seen.name)}")
        extensions = self._given(by_hand.Extension, course, whose)
        due = (extensions[-1][0].due if extensions else "") or arrival.due

        def part_of(one: SeenResult) -> records.Older:
            came = arrival if one is seen else self._arrival(one)
            return records.Older(one.run, one.digest, arrival=came).under(policies[one.run], due)

        newest = part_of(seen)
        result, older = self._with_earlier(self._decoded(text, SubmissionResult), history.seen, exercises, part_of)
        came = [(one.arrival, one.policy) for one in (newest, *older)]
        work = GradedWork(self.files, seen.digest, result, older)
        to_mark = {one.name for one in result.to_mark}
        marks = [given for given in self._given(by_hand.Mark, course, *members) if given[0].exercise in to_mark]
        is_done = {mark.exercise: mark.done for mark, _ in marks}
        overrides = work.in_force(self._given(by_hand.Override, course, whose), whose)
        covered = {one.name for one in result.exercises} | {one.exercise for one in overrides}
        other = next((one for one in reversed(earlier) if one.digest != seen.digest and one.max == result.max), seen)
        return records.Row(
            result=result if name == result.submission else replace(result, submission=name),
            digest=seen.digest,
            seconds=seconds,
            reused=made_in != seen.run,
            graded=graded,
            notes=(*said, *result.notes),
            arrival=arrival,
            late=newest.late,
            overrides=overrides,
            run=seen.run,
            due=due,
            untimed=any(records.is_untimed(*one) for one in came),
            claimed=any(records.is_claim(*one) for one in came),
            marks=work.in_force([given for given in marks if given[0].done], whose),
            comments=work.in_force(self._given(by_hand.Comment, course, *members), whose),
            begun=tuple(sorted(name for name in is_done if not is_done[name])),
            older=tuple(older),
            missing=tuple(one for one in wanted if one not in covered),
            before=other.score if other is not seen and other.score > result.score and not history.differing else None,
            group=history.group,
            differing=history.differing,
            excused=self._excused(course, whose, self._line_of(course, whose)),
            policy=newest.policy,
            people=members,
        )

    def _arrival(self, seen: SeenResult) -> Arrival:
        """How the work of a result came in its run."""
        query = "SELECT arrival FROM arrivals JOIN results USING (submission) WHERE arrivals.run = ? AND results.id = ?"
        return self._decoded(self._value(query, seen.run, seen.result) or "{}", Arrival)

    def _line_of(self, course: str, whose: Whose) -> Student | None:
        """The student's line in the class list, which is read once for each assignment."""
        if self._roster_of is None or self._roster_of[0] != self.assignment:
            self._roster_of = self.assignment, Roster(self.class_list(course), self.path)
        found = self._roster_of[1].meant([whose.person], whose.name)
        return found[0] if len(found) == 1 else None

    def _excused(self, course: str, whose: Whose, listed: Student | None) -> str:
        """Why the assignment does not count for a student; empty if it does."""
        given = self._given(by_hand.Excuse, course, whose)
        if given:
            return given[-1][0].why if given[-1][0].excused else ""
        return "by the class list" if listed is not None and listed.excused else ""

    def _with_earlier(
        self,
        newest: SubmissionResult,
        every: Sequence[SeenResult],
        exercises: Sequence[str],
        part_of: Callable[[SeenResult], records.Older],
    ) -> tuple[SubmissionResult, list[records.Older]]:
        """A result with the latest of those exercises that it has not, and where these are from.

        An exercise that a run graded only because others need it counts if it is worth more than before, late or not.

        Args:
            every: all results of the student, the newest last.
            part_of: how late the work of a result came.
        """
        if not exercises:
            return newest, []
        found = {every[-1]: newest}
        taken: dict[str, tuple[SeenResult, ExerciseResult]] = {}
        unasked: dict[str, list[tuple[SeenResult, ExerciseResult]]] = {}

        def worth(one: tuple[SeenResult, ExerciseResult]) -> float:
            late = part_of(one[0]).late
            return one[1].score * (1.0 - late.penalty if late else 1.0)

        for seen in reversed(every):
            if len(taken) == len(exercises):
                break
            if seen not in found:
                text = self._value("SELECT result FROM results WHERE id = ?", seen.result)
                found[seen] = self._decoded(text, SubmissionResult)
            needed = self.needed_in(seen.run)
            for one in (one for one in found[seen].exercises if one.name in exercises and one.name not in taken):
                if one.name in needed:
                    unasked.setdefault(one.name, []).append((seen, one))
                else:
                    more = unasked.get(one.name)
                    taken[one.name] = max((seen, one), *more, key=worth) if more else (seen, one)
        taken = {name: several[0] for name, several in unasked.items()} | taken
        of: dict[SeenResult, list[str]] = {}
        for name, (seen, _) in taken.items():
            of.setdefault(seen, []).append(name)
        parts, older = [newest], []
        for seen in (one for one in reversed(every[:-1]) if one in of):
            topics = {name.partition(".")[0] for name in of[seen]}
            part = found[seen]
            parts.append(replace(part, unread=tuple(one for one in part.unread if one.topic in topics)))
            older.append(replace(part_of(seen), exercises=tuple(of[seen])))
        in_order = tuple(taken[name][1] for name in exercises if name in taken)
        whole = replace(
            newest,
            exercises=in_order,
            score=total_points(one.score for one in in_order),
            max=total_points(one.max for one in in_order),
            flags=each_once(part.flags for part in parts),
            unread=each_once(part.unread for part in parts),
            notes=each_once(part.notes for part in parts),
        )
        return whole, older

    def _given(self, kind: type[G], course: str, *people: Whose) -> list[tuple[G, by_hand.LookedAt]]:
        """All of a kind that was given to any of these people, and the work that was looked at; the oldest first."""
        found = self._given_to(course, people, [kind.__name__])
        return [(given, looked_at) for _, given, looked_at in found if isinstance(given, kind)]

    def _given_to(
        self, course: str, people: Sequence[Whose], kinds: Sequence[str] = tuple(_KINDS)
    ) -> list[tuple[int, by_hand.Given, by_hand.LookedAt]]:
        """All of these kinds that was given to a student, with its number, the oldest first.

        It is about the student whose id it has; if one of the two has no id, about the student whose name it has.

        Args:
            people: the student, then others whose marks and comments are about the same work.
        """
        found: dict[int, sqlite3.Row] = {}
        for at, one in enumerate(people):
            theirs = kinds if at == 0 else [kind for kind in kinds if kind in _ABOUT_WORK]
            ids = list(filter(None, dict.fromkeys((one.person, *one.ids))))
            names = [one.name, *(name for name in one.names if name not in one.unsure), *ids]
            by_name = "person = ''" if one.person else "true"
            rows = self._all(
                f"SELECT * FROM given WHERE kind IN ({_places(theirs)}) AND course = ? AND assignment = ?"
                f" AND (person IN ({_places(ids)}) OR {by_name} AND student IN ({_places(names)}))",
                *(*theirs, course, self.assignment, *ids, *names),
            )
            found |= {row["id"]: row for row in rows}
        given = []
        for number, row in sorted(found.items()):
            with file_errors(self.path):
                looked_at = records.from_row(by_hand.LookedAt, row)
            given.append((number, self._decoded(row["record"], _KINDS[row["kind"]]), looked_at))
        return given

    def _of_course(self, course: str) -> list[SeenResult]:
        """The results of the assignment."""
        condition = "NOT trial AND courses.name = ? AND runs.assignment = ? ORDER BY seen.run, seen.result"
        return self._seen(condition, course, self.assignment)

    def _of_all(self, course: str) -> list[SeenResult]:
        """Those of all assignments."""
        return self._seen("NOT trial AND courses.name = ? ORDER BY seen.run, seen.result", course)

    def _seen(self, condition: str, *values: object) -> list[SeenResult]:
        return [SeenResult(*row) for row in self._all(f"{_SEEN} WHERE {condition}", *values)]


def _places(values: Sequence[str]) -> str:
    """A ``?`` for each value of a query."""
    return ", ".join("?" * len(values))
