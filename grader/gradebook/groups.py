"""Whose mark comes from which results: a student's own, or those of everybody in a group. Works on records only."""

from collections.abc import Iterator, Sequence

import msgspec

from grader.course.due import moment
from grader.gradebook.by_people import Whose
from grader.intake.roster import Student, name_key
from grader.text import one_line


class Seen(msgspec.Struct, frozen=True):
    """That a run has a result, new or taken over: the result's number, its student, and when the work came."""

    run: int
    result: int
    name: str
    person: str
    submitted: str
    digest: str


class History(msgspec.Struct, frozen=True):
    """The results that one student's mark may come from, the last one last.

    Attributes:
        group: the student's group; empty if there is none.
        members: everybody whose marks by rubric and comments are about this work, the student first.
        differing: that the group handed in differing work in its last run, in words; else empty.
        extension: until when the student of a group may hand in, by the class list; else empty.
    """

    whose: Whose
    seen: tuple[Seen, ...]
    group: str = ""
    members: tuple[Whose, ...] = ()
    differing: str = ""
    extension: str = ""


def histories(own: Sequence[Sequence[Seen]], students: Sequence[Student]) -> Iterator[History]:
    """Each student's history: the results of a group are those of every member, whoever handed in.

    Args:
        own: the results under each name, the last one last.
        students: the class list.
    """
    by_id = {key: student for student in students for key in student.ids}
    by_name: dict[tuple[str, ...], list[Student]] = {}
    for student in students if any(one.group for one in students) else ():
        by_name.setdefault(name_key(student.name), []).append(student)
    in_groups: dict[str, dict[Student, Sequence[Seen]]] = {}
    for seen in own:
        last = seen[-1]
        alike = by_name.get(name_key(last.name), [])
        member = by_id.get(last.person.lower(), alike[0] if len(alike) == 1 else None)
        if member is None or not member.group:
            yield History(Whose(last.name, last.person), tuple(seen))
        else:
            of_group = in_groups.setdefault(member.group, {})
            of_group[member] = sorted((*of_group.get(member, ()), *seen), key=_order)
    for group, of_members in in_groups.items():
        yield from _of_group(group, of_members, [one for one in students if one.group == group])


def _of_group(group: str, of_members: dict[Student, Sequence[Seen]], members: Sequence[Student]) -> Iterator[History]:
    shared = tuple(sorted((one for seen in of_members.values() for one in seen), key=_order))
    last = [one for one in shared if one.run == shared[-1].run]
    names = ", ".join(one_line(name) for name in dict.fromkeys(one.name for one in last))
    differing = (
        f"group {one_line(group)} handed in differing work: {names}" if len({one.digest for one in last}) > 1 else ""
    )
    whose = {
        one: Whose(of_members[one][-1].name, of_members[one][-1].person)
        if one in of_members
        else Whose(one.name, one.ids[0])
        for one in members
    }
    for member, one in whose.items():
        others = tuple(other for other in whose.values() if other != one)
        yield History(one, shared, group, (one, *others), differing, member.extension)


def _order(seen: Seen) -> tuple[int, float, int]:
    """By run, and within a run by the time of handing in, if that is known."""
    return seen.run, moment(seen.submitted).timestamp() if seen.submitted else 0.0, seen.result
