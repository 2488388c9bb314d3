"""The student who is meant by a name that a person types: any name or id that they ever had. Never guesses."""

from collections.abc import Sequence

from grader.errors import UserError
from grader.gradebook import Gradebook, Row, row_of
from grader.gradebook.records import several_called
from grader.intake.names import forms_of, id_key
from grader.intake.roster import Student


class Students:
    """The students of a class, found by their names.

    Args:
        rows: of those whose work is graded.
    """

    def __init__(self, book: Gradebook, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self._called: dict[str, dict[str, Row | Student]] = {}
        graded = {key for row in rows for one in row.people[:1] for key in one.ids}
        for row in rows:
            for one in row.people[:1]:
                self._add(
                    row.label, row, (row.result.submission, row.label, one.name, *one.names), (one.person, *one.ids)
                )
        for student in book.class_list(book.course):
            if graded.isdisjoint(student.ids):
                self._add(f"{student.name} ({student.ids[0]})", student, (student.name,), student.ids)

    def _add(self, label: str, student: Row | Student, names: Sequence[str], ids: Sequence[str]) -> None:
        for key in (*(form for one in names for form in forms_of(one)), *map(id_key, ids)):
            if key:
                self._called.setdefault(key, {})[label] = student

    def find(self, name: str) -> Row | Student | None:
        """The student: with graded work, or only in the class list; None if nobody is called that.

        Raises:
            UserError: several are.
        """
        found: dict[str, Row | Student] = {}
        for key in (*forms_of(name), id_key(name)):
            found |= self._called.get(key, {})
        if len(found) > 1:
            raise several_called(name, [*found])
        return next(iter(found.values()), None)

    def row(self, name: str) -> Row:
        """The row of the student.

        Raises:
            UserError: there is none, or several are called that.
        """
        found = self.find(name)
        if isinstance(found, Student):
            fix = f"grade their work; if there is none, an empty folder that is named {found.ids[0]} stands for it"
            raise UserError(f"{found.name} is in the class list, but no work of theirs is graded yet", fix=fix)
        return found or row_of(self.rows, name)


def name_and_id(found: Row | Student) -> tuple[str, str]:
    """The name under which something is given to a student, and the student's id."""
    if isinstance(found, Row):
        return found.result.submission, found.arrival.student
    return found.name, found.ids[0]
