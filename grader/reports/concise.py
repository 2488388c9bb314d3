"""The lines of `grader check --format concise`: ``path:line: exercise: sentence``, which editors read."""

from __future__ import annotations

from collections.abc import Iterator

from grader.reports.feedback import FAILING, gist, lines_of
from grader.reports.places import Places, is_untouched
from grader.results import SubmissionResult
from grader.text import one_line, percent, points


def concise_lines(result: SubmissionResult, places: Places) -> Iterator[str]:
    """A line for each exercise that was tried and fails, at its line; a file that cannot be imported has one line.

    The last line has the points; no editor takes it for a problem.
    """
    shown = set()
    for exercise in result.exercises:
        failing = next((check for check in exercise.checks if check.verdict in FAILING | {"error"}), None)
        if failing is None or is_untouched(exercise):
            continue
        topic = exercise.name.partition(".")[0]
        is_of_topic = failing.cause is not None and failing.cause.stage in ("import", "topic")
        if is_of_topic and topic in shown:
            continue
        shown |= {topic} if is_of_topic else set()
        own = [line for file, line in lines_of(failing) if file == f"{topic}.py" and line]
        place = places.line(f"{topic}.py", own[-1]) if own else places.of(exercise.name)
        place = place if place.rpartition(":")[2].isdigit() else f"{place}:1"
        yield f"{place}: {topic if is_of_topic else exercise.name}: {one_line(gist(failing), 300)}"
    share = percent(result.score, result.max)
    yield f"{points(result.score, result.max)} points" + ("" if share is None else f", {share:.1f}%")
