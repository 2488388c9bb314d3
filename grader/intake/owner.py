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
from grader.intake.matching import ALIKE, DOUBT, ID, INSIDE, NAME, Match
from grader.intake.names import exact_name, words_of
from grader.intake.roster import Roster, Student, download_name, participant_id
from grader.intake.several import SeveralSources
from grader.intake.sources import DownloadSource, OneSource, Source
from grader.intake.submission import Arrival
from grader.text import named

# How many students a note may name, and how many names that are not exact get a line of their own.
_NAMED: Final = 5
_LINES: Final = 50


def with_names(
    found: Sequence[OneSource], people: Roster, graded: Roster, note: Callable[[str], None], assignment: str = ""
) -> list[Source]:
    """The submissions under the names of the class list, with its times, or under those of the gradebook.

    What one student of a class list has uploaded in several places becomes one submission.

    Args:
        people: the class list; the students in the gradebook if there is no class list.
        graded: the students in the gradebook.
        assignment: its name, if the course has several.
    """
    for line in people.notes:
        note(line)
    found = [replace(one, name=exact_name(one.name) or one.name) for one in found]
    owners = _Owners(found, people, graded, assignment)
    named: list[Source] = []
    seen: set[Student] = set()
    inexact: list[str] = []
    of_students: dict[Student, list[OneSource]] = {}
    for source, match in owners.matches():
        seen.update(match.people)
        student = match.one
        if student is None:
            named.append(owners.without_owner(source))
            if people is not graded:
                note(f"{source.name}: {_question(match)}")
            continue
        if match.how in (ALIKE, INSIDE):
            inexact.append(f"{source.name}: taken for {_called(student)}, by a name that is not exactly the same")
        of_students.setdefault(student, []).append(source)
    for student, theirs in of_students.items():
        if people is graded or not theirs[1:]:
            named += [owners.with_owner(one, student) for one in theirs]
        else:
            first = theirs[0]
            arrival = Arrival(student=first.arrival.student)
            several = SeveralSources(student.name, first.path, first.topics, tuple(theirs), arrival=arrival)
            named.append(owners.with_owner(several, student))
            uploads = "; ".join(several.names[:_NAMED])
            note(f"{student.name}: handed in several times ({uploads}): the one with work counts")
    for line in inexact[:_LINES]:
        note(line)
    if inexact[_LINES:]:
        note(f"{len(inexact) - _LINES} more are taken for students by a name that is not exactly the same")
    if people is not graded:
        _note_no_shows(people, seen, graded, note)
    return named


def of_single_file(source: OneSource, people: Roster, graded: Roster) -> OneSource:
    """The same; of one file out of an LMS's download with the student whose id is in its name, if that is known."""
    if isinstance(source, DownloadSource) or source.path.is_dir():
        return source
    pieces, _ = pieces_of([as_text(source.path.name)])
    if not pieces:
        return source
    key, name = pieces[0].student, pieces[0].name
    if pieces[0].lms == "moodle":
        named = [*people.index.named(name).people, *graded.index.named(name).people]
        is_known = bool(named) or people.participant(key) is not None
    else:
        is_known = (people.find(key) or graded.find(key)) is not None
    return replace(source, name=name, arrival=arrival_of(key, pieces)) if is_known else source


class _Owners:
    """Finds the student of each submission."""

    def __init__(self, found: Sequence[OneSource], people: Roster, graded: Roster, assignment: str) -> None:
        self._found = found
        self._people = people
        self._graded = graded
        self._assignment = assignment
        of_moodle = [source for source in found if source.arrival.lms == "moodle"]
        self._namesakes = Counter(name for name, _ in {(one.name, one.arrival.platform_id) for one in of_moodle})
        self._groups = Counter(source.name.rpartition("-")[0] for source in of_moodle)
        self._titles = Counter(title for source in found for title, _ in _halves(source.name))

    def matches(self) -> list[tuple[OneSource, Match[Student]]]:
        """Each submission with the students that it may be of."""
        by_text = {} if self._people is self._graded else self._by_text()
        all_matches = []
        for source in self._found:
            lms = source.arrival.lms
            if number_id := self._id_of_number(source):
                match = self._of_number(source, number_id)
            elif self._people is self._graded:
                match = self._of_graded(source)
            elif lms:
                match = self._of_moodle(source) if lms == "moodle" else self._of_platform(source)
            else:
                match = by_text[source.name]
            if match.people[1:] and match.people[0].group and len({one.group for one in match.people}) == 1:
                match = Match(match.people[:1], INSIDE)  # those of a group have one mark
            if not match.people and not lms:
                match = self._of_group(source.name)
            all_matches.append((source, match))
        return self._without_strangers(all_matches)

    def _by_text(self) -> dict[str, Match[Student]]:
        """Whom the names mean that people gave to files and folders."""
        ordinary = {word for source in self._found[:1] for topic in source.topics.names for word in words_of(topic)}
        names = [source.name for source in self._found if not source.arrival.lms]
        return dict(zip(names, self._people.index.find_all(names, ordinary), strict=True))

    def _of_group(self, name: str) -> Match[Student]:
        """The first student of the group of that name; a title that several repositories have may stand before it."""
        if student := self._people.of_group(name):
            return Match((student,), NAME)
        rests = (rest for title, rest in _halves(name) if self._titles[title] > 1 and any(map(str.isalpha, rest)))
        student = next(filter(None, map(self._people.of_group, rests)), None)
        return Match((student,), ALIKE) if student else Match()

    def _id_of_number(self, source: Source) -> str:
        """An id for whom only Moodle's number tells from others; empty if a name does, or if it is of no such download.

        The number is of this assignment only.
        """
        number = source.arrival.platform_id
        if source.arrival.lms != "moodle" or not number:
            return ""
        is_blind = source.name == f"Participant {number}"
        has_namesake = self._people is self._graded and self._namesakes[source.name] > 1
        assignment = self._assignment or download_name(source.path)
        return participant_id(number, assignment) if is_blind or has_namesake else ""

    def _of_number(self, source: OneSource, number_id: str) -> Match[Student]:
        student = self._people.participant(source.arrival.platform_id) or self._people.find(number_id)
        return Match((student,), ID) if student else Match()

    def _of_graded(self, source: OneSource) -> Match[Student]:
        """Without a class list. A name that a person typed may be another one's id: only the whole name counts."""
        if source.arrival.student:
            student = self._people.find(source.arrival.student)
            return Match((student,), ID) if student else Match()
        return self._people.index.named(source.name, is_joined=False)

    def _of_platform(self, source: OneSource) -> Match[Student]:
        student, named = self._people.find(source.arrival.platform_id), self._people.index.named(source.name)
        if student is None and not named.people:
            student = self._people.find(source.name)
        if student is None:
            return named
        if named.people and student not in named.people:  # the list has other ids than the platform
            return Match((student, *named.people), ID)
        return Match((student,), ID)

    def _of_moodle(self, source: OneSource) -> Match[Student]:
        """By the name; Moodle's number tells those of one name apart."""
        index = self._people.index
        named = index.named(source.name)
        for group, rest in _halves(source.name):  # a group's name and a hyphen may stand before that of the student
            if named.people:
                break
            match = index.named(rest)
            is_group = self._groups[group] > 1 or any(map(str.isdecimal, group)) or self._people.of_group(group)
            named = replace(match, how=ALIKE if match.how == NAME else match.how) if is_group else Match(match.people)
        by_number = self._people.participant(source.arrival.platform_id)
        if by_number in named.people:  # before whose name another word may stand, such as `Default group`
            return Match((by_number,), ALIKE if named.how == DOUBT else named.how, named.is_spelled_so)
        return Match((by_number,)) if by_number and not named.people else named

    def _without_strangers(
        self, matches: Sequence[tuple[OneSource, Match[Student]]]
    ) -> list[tuple[OneSource, Match[Student]]]:
        """The same; where several are of one student, only those that are so without a doubt."""
        claims: dict[Student, list[tuple[OneSource, Match[Student]]]] = {}
        for source, match in matches:
            if match.one is not None:
                claims.setdefault(match.one, []).append((source, match))
        checked = []
        for source, match in matches:
            others = claims.get(match.one, []) if match.one is not None else []
            ids = {one.arrival.platform_id for one, _ in others} - {""}
            is_same = len(ids) < 2 or all(other.how == ID for _, other in others)
            is_sure = match.is_spelled_so or len(others) == 1
            checked.append((source, match if is_same and is_sure else Match(match.people)))
        return checked

    def with_owner(self, source: Source, student: Student) -> Source:
        """A submission under its student's name and id, with what the class list says of the time."""
        arrival = source.arrival
        known = self._graded.find(arrival.student)
        is_same = known is not None and exact_name(known.name) in (exact_name(student.name), source.name)
        number_id = self._id_of_number(source)  # by which it was graded before a worksheet said who that is
        own = [number_id if self._graded.find(number_id) else "", arrival.student if is_same else ""]
        ids = [*filter(None, own), *(one for one in student.ids if self._graded.find(one))]
        arrival = replace_arrival(arrival, student=next(iter([*ids, *student.ids]), arrival.student))
        if student.submitted:
            arrival = replace_arrival(arrival, submitted=student.submitted, by=student.by)
        if student.extension:
            arrival = replace_arrival(arrival, due=student.extension)
        return replace(source, name=student.name, arrival=arrival)

    def without_owner(self, source: OneSource) -> OneSource:
        """A submission of nobody who is known."""
        number_id = self._id_of_number(source)
        return replace(source, arrival=replace_arrival(source.arrival, student=number_id)) if number_id else source


def _halves(name: str) -> list[tuple[str, str]]:
    """A name before and behind each of its hyphens."""
    parts = name.split("-")
    return [("-".join(parts[:at]), "-".join(parts[at:])) for at in range(1, len(parts))]


def _question(match: Match[Student]) -> str:
    """Why a submission has no owner."""
    if not match.people:
        return "not in the roster"
    called = "; ".join([_called(one) for one in match.people[:_NAMED]])
    if len(match.people) == 1:
        return f"not in the roster, but may be the work of {called}: name it by the id"
    if len({one.name for one in match.people}) == 1:
        ids = ", ".join(one.ids[0] for one in match.people[:_NAMED] if one.ids)
        return f"could be any of {len(match.people)} of that name in the roster ({ids}): name it by the id"
    return f"could be the work of any of {len(match.people)} in the roster ({called}): name it by the id"


def _called(student: Student) -> str:
    return f"{student.name} ({student.ids[0]})" if student.ids and student.ids[0] != student.name else student.name


def _note_no_shows(people: Roster, seen: set[Student], graded: Roster, note: Callable[[str], None]) -> None:
    """Notes who of the class list has handed in nothing, now or before, nor has anybody of the group."""
    there = seen.union(*(people.candidates(one.ids or (one.name,), one.name) for one in graded.students))
    groups = {student.group for student in there} - {""}
    nothing = [one.name for one in people.students if one not in there and one.group not in groups]
    if len(nothing) > _NAMED:
        note(f"{len(nothing)} students of the roster have handed in nothing: {named(nothing, _NAMED)}")
    else:
        for name in nothing:
            note(f"{name}: in the roster, but has handed in nothing")
