"""What GitHub and GitLab show: failures beside their lines, the step's summary, and Classroom's result.

Only this module makes the commands in the output: text from submissions is escaped, so that it stays data.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from grader.course import Course
from grader.course.definitions import definition, lines_in
from grader.reports.entries import Entry
from grader.reports.feedback import (
    FAILING,
    SYMBOLS,
    VERDICT_WORDS,
    bounded,
    equal_groups,
    explanation_of,
    left_out,
    lines_of,
    not_assessed,
    not_marked,
    not_passed,
    unread,
    worst,
    worth_of,
)
from grader.results import CheckResult, ExerciseResult
from grader.text import BY_HAND, clean, counted, one_line, points

_ANNOTATIONS = 10
_SUMMARY_BYTES = 1_000_000


def commands(entries: Sequence[Entry], root: Path) -> Iterator[str]:
    """Workflow commands, a line each: at most ten errors, as GitHub shows no more of a step."""
    found = [item for entry in entries for item in _problems(entry)]
    for entry, exercise, check in found[:_ANNOTATIONS]:
        file, line = place(exercise, check, entry.files(), root)
        who = f"{one_line(entry.result.submission)}: " if len(entries) > 1 else ""
        title = f"{who}{exercise.name}: {VERDICT_WORDS[check.verdict]}"
        explanation = explanation_of(exercise)
        said = f"what happened: {one_line(explanation, 300)}\n{check.message}" if explanation else check.message
        yield _command("error", bounded(said, 30, 300), file=file, line=str(line), title=title)
    for entry in entries:
        for what in unread(entry.row):
            yield _command("warning", what, title="no mark yet")
    for entry in entries:
        if missing := not_assessed(entry.result, entry.row.given):
            yield _command("warning", f"{missing}: here they count as missing", title="not assessed")
            break  # it is the same for everybody who is graded on this machine
    for entry in entries:
        if missing := not_marked(entry.result, entry.row.given):
            yield _command("notice", missing, title="marked by a person")
            break
    if len(found) > _ANNOTATIONS:
        yield _command("notice", f"{counted(len(found) - _ANNOTATIONS, 'more failure')} in the step's summary")


def summary(entries: Sequence[Entry], course: Course) -> str:
    """Markdown for ``GITHUB_STEP_SUMMARY``, below its limit of 1 MiB."""
    parts = [f"## {_plain(course.title)}\n"]
    size = 0
    for part in (text for entry in entries for text in _markdown(entry)):
        size += len(part.encode("utf-8", "replace"))
        if size > _SUMMARY_BYTES:
            parts.append("\nThere is more than GitHub shows here: see the job's files.\n")
            break
        parts.append(part)
    return "".join(parts)


def classroom(entry: Entry, root: Path) -> str:
    """The output ``result`` of a GitHub Classroom grading step: base64 of JSON."""
    tests = []
    for exercise in entry.result.exercises:
        if entry.is_unmarked(exercise):
            continue  # Classroom knows passed and failed only
        verdict = "passed" if exercise.manual else worst(exercise)
        status = "pass" if verdict == "passed" else "error" if verdict == "error" else "fail"
        groups = equal_groups(not_passed(exercise))
        first = groups[0][0] if groups else None
        topic = exercise.name.partition(".")[0]
        file, line = place(exercise, first, entry.files(), root) if first else (in_repository(f"{topic}.py", root), 1)
        tests.append(
            {
                "name": exercise.name,
                "status": status,
                "message": bounded("\n\n".join(group[0].message for group in groups), 40, 300),
                "test_code": f"grader check {exercise.name}",
                "filename": file,
                "line_no": line,
                "duration": 0,
                "score": entry.points_of(exercise)[0],
            }
        )
    statuses = {test["status"] for test in tests}
    status = "error" if "error" in statuses or not tests else "fail" if "fail" in statuses else "pass"
    document = {"version": 1, "status": status, "max_score": entry.row.max, "tests": tests}
    return base64.b64encode(msgspec.json.encode(document)).decode()


def _problems(entry: Entry) -> Iterator[tuple[Entry, ExerciseResult, CheckResult]]:
    """The first failing check of each exercise; a cause that several exercises share is given once."""
    seen = set()
    for exercise in entry.result.exercises:
        for check in exercise.checks:
            if check.verdict in FAILING | {"error"}:
                if check.cause is None or check.cause not in seen:
                    yield entry, exercise, check
                seen.add(check.cause)
                break


def _markdown(entry: Entry) -> Iterator[str]:
    row = entry.row
    share = entry.share
    yield f"\n### {_plain(entry.result.submission)}: {points(row.score, row.max)} points"
    missing = left_out(entry.result, row.given)
    yield f", {_plain(missing)}" if missing else ""
    yield ("" if share is None else f", {share:.1f}%") + "\n\n| | exercise | points |\n|---|---|---:|\n"
    for exercise in entry.result.exercises:
        earned, most = entry.points_of(exercise)
        score = points(earned, most) if most else "not marked yet" if exercise.manual else "not assessed"
        symbol = BY_HAND if exercise.manual else SYMBOLS[worst(exercise)]
        yield f"| {symbol} | `{exercise.name}` | {score} |\n"
    for one in row.comments:
        yield f"\n{_plain(one.exercise)}: {_plain(one.text)}\n"
    for exercise in entry.result.exercises:
        if worst(exercise) in FAILING | {"error"}:
            yield _details(exercise)


def _details(exercise: ExerciseResult) -> str:
    text = f"\n<details><summary><code>{exercise.name}</code></summary>\n"
    explanation = explanation_of(exercise)
    text += f"\n**What happened:** {_plain(explanation)}\n" if explanation else ""
    for group in equal_groups(not_passed(exercise)):
        worth = f" ({worth_of(group[0])})" if worth_of(group[0]) else ""
        text += f"\n{VERDICT_WORDS[group[0].verdict]}{worth}:\n\n{_fenced(bounded(group[0].message))}\n"
    return text + "\n</details>\n"


def _fenced(text: str) -> str:
    """The text as a code block with a fence longer than any in the text, so that the text cannot end it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _plain(text: str) -> str:
    """Text on one line whose Markdown and HTML characters are escaped."""
    return re.sub(r"([\\`*_{}\[\]()<>#+!|&~@:$-])", r"\\\1", one_line(text, 500))


def _command(name: str, message: str, **properties: str) -> str:
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name}{' ' if listed else ''}{listed}::{_data(message)}"


def _data(text: str) -> str:
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def place(exercise: ExerciseResult, check: CheckResult, files: Mapping[str, bytes], root: Path) -> tuple[str, int]:
    """File, relative to the repository's root, and line; line 1 when nothing is known."""
    topic, _, name = exercise.name.partition(".")
    file = f"{topic}.py"
    lines = lines_in(files[file]) if file in files else []
    pointed = [line for path, line in lines_of(check) if path == file and 1 <= line <= max(1, len(lines))]
    line = pointed[-1] if pointed else definition(lines, name)[0]
    return in_repository(file, root), max(1, line)


def in_repository(file: str, root: Path) -> str:
    """The path of a topic's file in the repository: in its ``exercises`` folder or at its root."""
    inside = f"exercises/{file}"
    return inside if (root / inside).is_file() else file


def code_quality(entries: Sequence[Entry], root: Path) -> bytes:
    """The report: one issue for each check that did not pass."""
    issues = []
    for entry in entries:
        files = entry.files()
        for exercise in entry.result.exercises:
            for check in exercise.checks:
                if check.verdict not in FAILING | {"error"}:
                    continue
                file, line = place(exercise, check, files, root)
                key = f"{entry.result.submission}\0{exercise.name}\0{check.name}"
                first = bounded(check.message, 6, 300)
                issues.append(
                    {
                        "description": f"{exercise.name}: {VERDICT_WORDS[check.verdict]}\n{first}",
                        "check_name": f"{exercise.name}.{check.name}",
                        "fingerprint": hashlib.sha256(key.encode("utf-8", "replace")).hexdigest(),
                        "severity": "major",
                        "location": {"path": file, "lines": {"begin": line}},
                    }
                )
    return msgspec.json.encode(issues) + b"\n"
