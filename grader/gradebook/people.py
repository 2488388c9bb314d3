"""Who is who over all assignments of a course: the same student may have another name or id in each."""

from __future__ import annotations

from collections.abc import Iterable

from grader.intake.names import exact_name, id_key
from grader.intake.roster import Student


class People:
    """The students of a course.

    Two are one if they share an id; or if one of them has no id, and the exact name or an id of the other as name: an
    upload that was graded before there was a class list. Nothing else joins them: a wrong join would give one student's
    mark to another.

    Args:
        listed: the lines of all class lists.
        seen: name and person of each submission.
    """

    def __init__(self, listed: Iterable[Student], seen: Iterable[tuple[str, str]]) -> None:
        self._above: dict[str, str] = {}
        names: dict[str, set[str]] = {}
        called: dict[str, set[str]] = {}
        alone: set[str] = set()
        for student in listed:
            first, *others = (_of_id(one) for one in student.ids)
            for other in others:
                self._join(first, other)
            for one in student.ids:
                called.setdefault(id_key(one), set()).add(first)
            names.setdefault(_of_name(student.name), set()).add(first)
        for name, person in dict.fromkeys(seen):
            if person:
                names.setdefault(_of_name(name), set()).add(_of_id(person))
            else:
                alone.add(name)
        for name in alone:
            of_one = names.get(_of_name(name), set()) | called.get(id_key(name), set())
            tops = {self._top(one) for one in of_one}
            if len(tops) == 1:
                self._join(tops.pop(), _of_name(name))
        self._names = names
        self._listed = {self._top(_of_id(student.ids[0])) for student in listed}

    def key(self, name: str, person: str) -> str:
        """Equal for two submissions of one student.

        An id that no class list has is that of the one listed student with exactly this name, if there is one: a
        download may know students by other ids than the list.
        """
        if not person:
            return self._top(_of_name(name))
        top = self._top(_of_id(person))
        if top in self._listed:
            return top
        listed = {self._top(one) for one in self._names.get(_of_name(name), ())} & self._listed
        return listed.pop() if len(listed) == 1 else top

    def _top(self, one: str) -> str:
        while (above := self._above.get(one, one)) != one:
            one = above
        return one

    def _join(self, one: str, other: str) -> None:
        first, second = sorted((self._top(one), self._top(other)))
        self._above[second] = first


def _of_id(text: str) -> str:
    return f"id {id_key(text)}"


def _of_name(text: str) -> str:
    return f"name {exact_name(text)}"
