"""Whose mark comes from which results: the results of each student, those of a group, and all that they were called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from grader.course.due import moment
from grader.gradebook.records import Whose
from grader.intake.names import exact_name, id_key
from grader.intake.roster import Roster, Student
from grader.text import one_line


class SeenResult(msgspec.Struct, frozen=True):
    """That a run has a result, new or taken over: the result's number, its student, and when the work came."""

    run: int
    result: int
    name: str
    person: str
    submitted: str
    digest: str
    score: float
    max: float


class History(msgspec.Struct, frozen=True):
    """The results that one student's mark may come from, the last one last.

    Attributes:
        group: the student's group; empty if there is none.
        members: everybody whose marks by rubric and comments are about this work, the student first.
        differing: that the group handed in differing work in its last run, in words; else empty.
        extension: until when the student of a group may hand in, by the class list; else empty.
    """

    whose: Whose
    seen: tuple[SeenResult, ...]
    group: str = ""
    members: tuple[Whose, ...] = ()
    differing: str = ""
    extension: str = ""

    def works(self) -> list[History]:
        """A history for each work that was handed in, in the order in which they came."""
        of_work: dict[str, list[SeenResult]] = {}
        for seen in self.seen:
            of_work.setdefault(seen.digest, []).append(seen)
        return [replace(self, seen=tuple(seen)) for seen in of_work.values()]


def by_student(found: Sequence[SeenResult]) -> list[list[SeenResult]]:
    """The results of each student, in their order.

    A student is known by the LMS's id, whatever the name in a run; by the name if a run has no ids.
    """
    ids_of: dict[str, set[str]] = {}
    for one in found:
        ids_of.setdefault(one.name, set()).update({one.person} - {""})
    ids = {one.person for one in found}
    of_students: dict[tuple[str, str], list[SeenResult]] = {}
    for one in found:
        of_name = ids_of[one.name]
        person = one.person or (min(of_name) if len(of_name) == 1 else one.name if one.name in ids else "")
        of_students.setdefault((person, "") if person else ("", one.name), []).append(one)
    return list(of_students.values())


class Names:
    """All names and ids that the students of a course ever had.

    Args:
        own: the results of each student.
        students: the class list.
    """

    def __init__(self, own: Sequence[Sequence[SeenResult]], students: Sequence[Student]) -> None:
        of_name = Counter(exact_name(one.name) for one in students)
        by_name = {name: one for one in students if of_name[name := exact_name(one.name)] == 1}
        by_id = {key: one for one in students for key in one.ids}
        listed = set[Student]()
        self._of: dict[tuple[str, str], Whose] = {}
        for seen in own:
            names = dict.fromkeys(one.name for one in seen)
            of_ids = (by_id.get(id_key(one.person)) for one in seen if one.person)
            of_names = (by_name.get(exact_name(name)) for name in names)
            student = next(filter(None, (*of_ids, *of_names)), None)
            whose = Whose("", "", tuple(names))
            if student is not None:
                listed.add(student)
                whose = Whose("", "", tuple({**names, student.name: None}), ids=student.ids)
            self._of |= {(one.name, one.person): whose for one in seen}
        others = (one for one in students if one not in listed)
        self._of |= {(one.name, one.ids[0]): Whose("", "", (one.name,), ids=one.ids) for one in others}
        each_once = {id(whose): whose for whose in self._of.values()}
        count = Counter(name for whose in each_once.values() for name in whose.names)
        self._unsure = {name for name in count if count[name] > 1}

    def added_to(self, history: History) -> History:
        """The history with all names of its student, and of the others of the group."""
        members = tuple(map(self._with_names, history.members or (history.whose,)))
        return replace(history, whose=members[0], members=members)

    def _with_names(self, one: Whose) -> Whose:
        found = self._of.get((one.name, one.person), one)
        names = tuple(name for name in found.names if name != one.name)
        unsure = tuple(name for name in names if name in self._unsure)
        return replace(one, names=names, unsure=unsure, ids=found.ids)


def histories(own: Sequence[Sequence[SeenResult]], students: Sequence[Student]) -> Iterator[History]:
    """Each student's history: the results of a group are those of every member, whoever handed in.

    Args:
        own: the results of each student, the last one last.
        students: the class list.
    """
    people = Roster(students if any(one.group for one in students) else (), Path())
    in_groups: dict[str, dict[Student, list[SeenResult]]] = {}
    for seen in own:
        last = seen[-1]
        alike = people.meant([last.person], last.name)
        member = alike[0] if len(alike) == 1 else None
        if member is None or not member.group:
            yield History(Whose(last.name, last.person), tuple(seen))
        else:
            in_groups.setdefault(member.group, {}).setdefault(member, []).extend(seen)
    for group, of_members in in_groups.items():
        yield from _of_group(group, of_members, [one for one in students if one.group == group])


def _of_group(group: str, of_members: dict[Student, list[SeenResult]], members: Sequence[Student]) -> Iterator[History]:
    shared = tuple(sorted((one for seen in of_members.values() for one in seen), key=_order))
    last = [one for one in shared if one.run == shared[-1].run]
    names = "; ".join(one_line(name) for name in dict.fromkeys(one.name for one in last))
    are_equal = len({one.digest for one in last}) == 1
    differing = "" if are_equal else f"group {one_line(group)} handed in differing work: {names}"
    whose = {}
    for member in members:
        latest = max(of_members.get(member, ()), key=_order, default=None)
        whose[member] = Whose(latest.name, latest.person) if latest else Whose(member.name, member.ids[0])
    for member, one in whose.items():
        others = tuple(other for other in whose.values() if other != one)
        yield History(one, shared, group, (one, *others), differing, member.extension)


def _order(seen: SeenResult) -> tuple[int, float, int]:
    """By run, and within a run by the time of handing in, if that is known."""
    return seen.run, moment(seen.submitted).timestamp() if seen.submitted else 0.0, seen.result
