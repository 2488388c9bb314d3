"""The student of the class list, or of the gradebook, whose work a submission is; and who has handed in nothing.

Never guesses: what may be the work of several students keeps its name, and a note asks for the id.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from msgspec.structs import replace as replace_arrival

from grader.intake.kinds import as_text
from grader.intake.lms import arrival_of, pieces_of
from grader.intake.roster import Roster, Student
from grader.intake.sources import DownloadSource, Source
from grader.text import named

# How many students a note may name.
_NAMED: Final = 5


def with_names(found: Sequence[Source], people: Roster, graded: Roster, note: Callable[[str], None]) -> list[Source]:
    """The submissions under the names of the class list, with its times, or under those of the gradebook.

    Args:
        people: the class list; the students in the gradebook if there is no class list.
        graded: the students in the gradebook.
    """
    for line in people.notes:
        note(line)
    times_of = Counter(source.name for source in found)
    named: list[Source] = []
    seen: set[Student] = set()
    for source in found:
        name = source.name
        student, alike = _owner_of(source, people, graded, is_only=times_of[name] == 1)
        if student is not None:
            seen.add(student)
            arrival = replace_arrival(source.arrival, student=source.arrival.student or next(iter(student.ids), ""))
            if student.submitted:
                arrival = replace_arrival(arrival, submitted=student.submitted, by=student.by)
            if student.extension:
                arrival = replace_arrival(arrival, due=student.extension)
            source = replace(source, name=student.name, arrival=arrival)
        elif alike:
            ids = ", ".join(one.ids[0] for one in alike[:_NAMED] if one.ids)
            seen.update(alike)
            note(f"{name}: could be any of {len(alike)} of that name in the roster ({ids}): name it by the id")
        else:
            note(f"{name}: not in the roster")
        named.append(source)
    _note_no_shows(people, seen, graded, note)
    return named


def of_single_file(source: Source, people: Roster, graded: Roster) -> Source:
    """The same; of one file out of an LMS's download with the student whose id is in its name, if that id is known."""
    if isinstance(source, DownloadSource) or source.path.is_dir():
        return source
    pieces, _ = pieces_of([as_text(source.path.name)])
    if not pieces or not (people.find(pieces[0].student) or graded.find(pieces[0].student)):
        return source
    return replace(source, name=pieces[0].name, arrival=arrival_of(pieces[0].student, pieces))


def _owner_of(
    source: Source, people: Roster, graded: Roster, *, is_only: bool
) -> tuple[Student | None, Sequence[Student]]:
    """The student whose work it is; if it may be that of several, those.

    Args:
        is_only: whether no other submission has its name.
    """
    key, name = source.arrival.student, source.name
    if people is graded:  # a name that a person typed may be another one's id: only the whole name counts
        student = people.find(key)
        alike = [] if student or key else people.of_name(name)
    else:
        student = people.find(key) or people.find(name) or people.of_repository(name)
        alike = [] if student or (key and not is_only) else _alike(people, source)
        if student is None and not key and not alike:
            student = people.of_group(name)
    return (alike[0], ()) if len(alike) == 1 else (student, alike)


def _alike(people: Roster, source: Source) -> list[Student]:
    """The students of that name; a Moodle download of groups has the group's name and a hyphen before it."""
    parts = source.name.split("-") if source.arrival.lms == "moodle" else [source.name]
    names = ("-".join(parts[at:]) for at in range(len(parts)))
    return next((alike for name in names if (alike := people.named(name))), [])


def _note_no_shows(people: Roster, seen: set[Student], graded: Roster, note: Callable[[str], None]) -> None:
    """Notes who of the class list has handed in nothing, now or before, nor has anybody of the group."""
    there = seen.union(*(people.meant(one.ids or (one.name,), one.name) for one in graded.students))
    groups = {student.group for student in there} - {""}
    nothing = [one.name for one in people.students if one not in there and one.group not in groups]
    if len(nothing) > _NAMED:
        note(f"{len(nothing)} students of the roster have handed in nothing: {named(nothing, _NAMED)}")
    else:
        for name in nothing:
            note(f"{name}: in the roster, but has handed in nothing")
