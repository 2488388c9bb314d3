"""Gradescope's results.json of one submission. Gradescope can always read it, also when grading failed."""

from collections.abc import Iterator
from typing import Any

import msgspec

from grader.reports.entries import Entry
from grader.reports.feedback import (
    VERDICT_WORDS,
    about_manual,
    bounded,
    check_title,
    equal_groups,
    explanation_of,
    item_lines,
    left_out,
    not_passed,
    one_cause,
    unread,
    worst,
)
from grader.results import NOT_ASSESSED, ExerciseResult
from grader.text import clean, points


def results(entry: Entry) -> bytes:
    """The file, with a visible test for each exercise: Gradescope hides the total if one test is hidden.

    Where checks have points of their own, and none were given by hand, there is a test for each check instead.
    """
    row, result = entry.row, entry.result
    share = entry.share
    lines = [f"{points(row.score, row.max)} points" + ("" if share is None else f", {share:.1f}%")]
    if row.unread:
        lines = ["This is no mark yet: work could not be read. Hand in again, or tell your instructor."]
        lines += map(clean, unread(row))
    if row.late is not None:
        lines.append(f"{row.late}: {points(entry.final, row.max)} points count")
    if missing := left_out(result, row.given):
        lines.append(f"{row.score:g} of {row.max:g}, {missing}")
    lines += [clean(note) for note in row.notes]
    if "error" in result.verdicts:
        lines.append("THE GRADER FAILED on some exercises: tell your instructor; no points are lost.")
    if result.sandbox:
        lines.append(f"sandbox: {', '.join(result.sandbox)}")
    document = {
        "score": round(entry.final, 4),
        "execution_time": round(row.seconds, 3),
        "output": "\n".join(lines),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"unread": [one.topic for one in row.unread]},
        "tests": [test for n, exercise in enumerate(result.exercises, start=1) for test in _tests(entry, exercise, n)],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def failure(message: str) -> bytes:
    """The file when there is no result: the message, and no points."""
    document = {"score": 0.0, "output": clean(message), "output_format": "text", "visibility": "visible", "tests": []}
    return msgspec.json.encode(document) + b"\n"


def _tests(entry: Entry, exercise: ExerciseResult, number: int) -> Iterator[dict[str, Any]]:
    if exercise.name in entry.row.given or not any(check.max > 0 for check in exercise.parts):
        yield _test(entry, exercise, f"{number}")
        return
    for n, check in enumerate(exercise.checks, start=1):
        bonus = " (bonus)" if check.is_bonus else ""
        test: dict[str, Any] = {"name": clean(f"{exercise.name}: {check_title(check.name)}{bonus}")}
        most = 0.0 if check.is_bonus or check.verdict in NOT_ASSESSED else check.max
        test |= {"number": f"{number}.{n}", "visibility": "visible", "score": check.score, "max_score": most}
        test["output"] = f"{VERDICT_WORDS[check.verdict]}\n{bounded(check.message)}" if check.message else ""
        if n == 1 and (said := entry.said_of(exercise)):
            test["output"] = clean(f"comment: {said}\n\n") + test["output"]
        if check.verdict not in NOT_ASSESSED:
            test["status"] = "passed" if check.verdict == "passed" else "failed"
        yield test


def _test(entry: Entry, exercise: ExerciseResult, number: str) -> dict[str, Any]:
    score, most = entry.points_of(exercise)
    test: dict[str, Any] = {"name": clean(exercise.name), "number": number, "visibility": "visible"}
    given = next((one for one in entry.row.overrides if one.exercise == exercise.name), None)
    by_hand = clean(f"{points(score, most)} given by hand: {given.why}\n\n") if given else ""
    said = entry.said_of(exercise)
    comment = clean(f"comment: {said}\n\n") if said else ""
    mark = next((one for one in entry.row.marks if one.exercise == exercise.name), None)
    output = _output(exercise)
    if exercise.manual is not None and given is None:
        output = "not marked yet" if mark is None else clean("\n".join(item_lines(mark.items)))
        output = f"{about_manual(exercise)}\n{output}"
    test |= {"score": score, "max_score": most, "output": by_hand + comment + output}
    if most > 0:
        test["status"] = "passed" if score >= most else "failed"
    return test


def _output(exercise: ExerciseResult) -> str:
    verdict = worst(exercise)
    if verdict == "passed":
        return ""
    explanation = explanation_of(exercise)
    parts = [f"what happened: {explanation}"] if explanation else []
    cause = one_cause(exercise)
    if cause is not None:
        return "\n\n".join([*parts, f"{VERDICT_WORDS[cause.verdict]}\n{bounded(cause.message)}"])
    for group in equal_groups(not_passed(exercise)):
        name = clean(group[0].name).replace("_", " ")
        more = f"\nand {len(group) - 1} more: the same" if group[1:] else ""
        parts.append(f"{name}: {VERDICT_WORDS[group[0].verdict]}\n{bounded(group[0].message)}{more}")
    return "\n\n".join(parts)
