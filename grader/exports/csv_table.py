"""A CSV table of the class: a row per submission, a column per exercise. No cell can act as a formula."""

import csv
import io
from collections.abc import Iterator, Sequence

from grader.course import Course
from grader.exports.sheet import neutral
from grader.intake.roster import Student
from grader.reports.entries import Entry
from grader.reports.feedback import changed_since, unread
from grader.text import one_line

_HEAD = ["submission", "id", "points", "max", "percent", "automatic", "days late", "penalty", "final", "verdicts"]
_END = ["not assessed", "flags", "unread", "not marked", "changed since", "comments", "group", "grade"]

_MOST_TEXT = 500
"""Characters of a comment."""


NO_SHOW = "nothing handed in"
"""The cell of verdicts of a student of the class list without a submission."""


def table(
    entries: Sequence[Entry], course: Course, missing: Sequence[Student] = (), missing_as_zero: bool = False
) -> Iterator[bytes]:
    """The file, piece by piece; the points of exercises include overrides, and are empty where nothing was assessed.

    The last columns are the points that are not assessed, what an instructor should look at, what could not be read,
    the points that nobody has marked yet, what was given for other work, what people say, the group and the letter
    grade. Who has something that was not read or not marked has no final points and no percentage.

    Args:
        missing: the students of the class list who have handed in nothing: a row for each, below the others.
        missing_as_zero: whether they have 0 points instead of none.
    """
    names = list(dict.fromkeys(exercise.name for entry in entries for exercise in entry.result.exercises))
    order = {exercise.full_name: number for number, exercise in enumerate(course.exercises)}
    names.sort(key=lambda name: order.get(name, len(order)))
    yield b"\xef\xbb\xbf" + _line([*_HEAD, *names, *_END])
    for entry in entries:
        row = entry.row
        share = entry.share
        scores = {e.name: f"{e.score:g}" for e in entry.result.exercises if e.max > 0}
        aside = {one.topic for one in row.unread}
        scores = {name: score for name, score in scores.items() if name.partition(".")[0] not in aside}
        scores |= {name: f"{score:g}" for name, (score, _) in row.given.items()}
        is_open = bool(row.unread or row.unmarked)
        kinds = sorted(entry.result.verdicts - {"passed", "failed"})
        cells = [entry.result.submission, row.arrival.student, f"{row.score:g}", f"{row.max:g}"]
        cells += ["" if share is None or is_open else f"{share:.1f}", f"{entry.result.score:g}"]
        final = "" if is_open else f"{entry.final:g}"
        cells += [_days(entry), f"{row.late.penalty:g}" if row.late else "0", final, " ".join(kinds)]
        aside_points = sum(e.not_assessed for e in entry.result.left_out if e.name not in row.given)
        end = [f"{aside_points:g}", "; ".join(map(str, entry.result.flags))]
        end.append("; ".join(unread(row)))
        to_mark = sum(e.manual.points for e in row.unmarked if e.manual)
        end += [f"{to_mark:g}", "; ".join(changed_since(row))]
        end.append("; ".join(f"{one.exercise}: {one_line(one.text, _MOST_TEXT)}" for one in row.comments))
        end += [row.group, entry.letter]
        yield _line([*cells, *(scores.get(name, "") for name in names), *end])
    most = max((entry.row.max for entry in entries), default=0.0)
    zeros = ["0", f"{most:g}", "0.0", "0", "0", "0", "0"] if missing_as_zero else [""] * 7
    for student in missing:
        letter = course.marks.letter(0.0) if missing_as_zero else ""
        nothing = [""] * (len(names) + len(_END) - 2)
        yield _line([student.name, student.ids[0], *zeros, NO_SHOW, *nothing, student.group, letter])


def _days(entry: Entry) -> str:
    late = entry.row.late
    return "0" if late is None else "unknown" if late.days is None else str(late.days)


def _line(cells: Sequence[str]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream).writerow([neutral(cell) for cell in cells])
    return stream.getvalue().encode("utf-8", "replace")
