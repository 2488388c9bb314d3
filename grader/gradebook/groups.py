"""Whose mark comes from which results: a student's own, or those of everybody in a group. Works on records only."""

from collections.abc import Iterator, Sequence

import msgspec

from grader.course.due import moment
from grader.intake.roster import Student, name_key
from grader.text import one_line


class Whose(msgspec.Struct, frozen=True):
    """A student: the name that the submission has in a run, and the LMS's id, if it is known."""

    name: str
    person: str


class Seen(msgspec.Struct, frozen=True):
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
    seen: tuple[Seen, ...]
    group: str = ""
    members: tuple[Whose, ...] = ()
    differing: str = ""
    extension: str = ""

    def works(self) -> list["History"]:
        """A history for each work that was handed in, in the order in which they came."""
        of_work: dict[str, list[Seen]] = {}
        for seen in self.seen:
            of_work.setdefault(seen.digest, []).append(seen)
        return [msgspec.structs.replace(self, seen=tuple(seen)) for seen in of_work.values()]


def by_student(found: Sequence[Seen]) -> list[list[Seen]]:
    """The results of each student, in their order.

    A student is known by the LMS's id, whatever the name in a run; by the name if a run has no ids.
    """
    ids_of: dict[str, set[str]] = {}
    for one in found:
        ids_of.setdefault(one.name, set()).update({one.person} - {""})
    ids = {one.person for one in found}
    of_students: dict[tuple[str, str], list[Seen]] = {}
    for one in found:
        of_name = ids_of[one.name]
        person = one.person or (min(of_name) if len(of_name) == 1 else one.name if one.name in ids else "")
        of_students.setdefault((person, "") if person else ("", one.name), []).append(one)
    return list(of_students.values())


def histories(own: Sequence[Sequence[Seen]], students: Sequence[Student]) -> Iterator[History]:
    """Each student's history: the results of a group are those of every member, whoever handed in.

    Args:
        own: the results of each student, the last one last.
        students: the class list.
    """
    by_id = {key: student for student in students for key in student.ids}
    by_name: dict[tuple[str, ...], list[Student]] = {}
    for student in students if any(one.group for one in students) else ():
        by_name.setdefault(name_key(student.name), []).append(student)
    in_groups: dict[str, dict[Student, list[Seen]]] = {}
    for seen in own:
        last = seen[-1]
        alike = by_name.get(name_key(last.name), [])
        member = by_id.get(last.person.lower(), alike[0] if len(alike) == 1 else None)
        if member is None or not member.group:
            yield History(Whose(last.name, last.person), tuple(seen))
        else:
            in_groups.setdefault(member.group, {}).setdefault(member, []).extend(seen)
    for group, of_members in in_groups.items():
        yield from _of_group(group, of_members, [one for one in students if one.group == group])


def _of_group(group: str, of_members: dict[Student, list[Seen]], members: Sequence[Student]) -> Iterator[History]:
    shared = tuple(sorted((one for seen in of_members.values() for one in seen), key=_order))
    last = [one for one in shared if one.run == shared[-1].run]
    names = ", ".join(one_line(name) for name in dict.fromkeys(one.name for one in last))
    are_equal = len({one.digest for one in last}) == 1
    differing = "" if are_equal else f"group {one_line(group)} handed in differing work: {names}"
    whose = {}
    for member in members:
        latest = max(of_members.get(member, ()), key=_order, default=None)
        whose[member] = Whose(latest.name, latest.person) if latest else Whose(member.name, member.ids[0])
    for member, one in whose.items():
        others = tuple(other for other in whose.values() if other != one)
        yield History(one, shared, group, (one, *others), differing, member.extension)


def _order(seen: Seen) -> tuple[int, float, int]:
    """By run, and within a run by the time of handing in, if that is known."""
    return seen.run, moment(seen.submitted).timestamp() if seen.submitted else 0.0, seen.result
