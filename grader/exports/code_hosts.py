"""What GitHub, GitLab and Jenkins show: failures beside their lines, the step's summary, Classroom's result, JUnit XML.

Only this module makes the commands in the output: text from submissions is escaped, so that it stays data.
"""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import msgspec

from grader.course import Course
from grader.course.definitions import definition, lines_in
from grader.reports import feedback
from grader.reports.entries import Entry
from grader.reports.feedback import FAILING, VERDICT_WORDS, bounded, equal_groups, explanation_of, not_passed, worst
from grader.results import CheckResult, ExerciseResult, VerdictKind
from grader.text import BY_HAND, clean, counted, one_line, points

_ANNOTATIONS: Final = 10
_SUMMARY_BYTES: Final = 1_000_000
_MESSAGE_BYTES: Final = 25_000_000
"""The size of the JUnit document from which on messages are left out, as GitLab reads at most 30 MB."""
_ELEMENT: Final = {"passed": "", "blocked": "skipped", "skipped": "skipped", "error": "error"}
"""JUnit's element of a verdict; of all others it is ``failure``."""


def commands(entries: Sequence[Entry], root: Path) -> Iterator[str]:
    """Workflow commands, a line each: at most ten errors, as GitHub shows no more of a step."""
    found = [item for entry in entries for item in _problems(entry)]
    for entry, exercise, check in found[:_ANNOTATIONS]:
        file, line = _place(exercise, check, entry.files(), root)
        who = f"{one_line(entry.result.submission)}: " if len(entries) > 1 else ""
        title = f"{who}{exercise.name}: {VERDICT_WORDS[check.verdict]}"
        explanation = explanation_of(exercise)
        said = f"what happened: {one_line(explanation, 300)}\n{check.message}" if explanation else check.message
        yield command("error", bounded(said, 30, 300), file=file, line=str(line), title=title)
    for what in (what for entry in entries for what in feedback.unread(entry.row)):
        yield command("warning", what, title="no mark yet")
    # The first of each is enough: it is the same for everybody who is graded on this machine.
    if what := next(filter(None, (feedback.not_assessed(one.result, one.row.given) for one in entries)), ""):
        yield command("warning", f"{what}: here they count as missing", title="not assessed")
    if what := next(filter(None, (feedback.not_marked(one.result, one.row.given) for one in entries)), ""):
        yield command("notice", what, title="marked by a person")
    if len(found) > _ANNOTATIONS:
        yield command("notice", f"{counted(len(found) - _ANNOTATIONS, 'more failure')} in the step's summary")


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


def command(name: str, message: str, **properties: str) -> str:
    def data(text: str) -> str:
        return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    values = (f"{key}={data(value).replace(':', '%3A').replace(',', '%2C')}" for key, value in properties.items())
    return f"::{' '.join(filter(None, (name, ','.join(values))))}::{data(message)}"


def summary(entries: Sequence[Entry], course: Course, most: int = _SUMMARY_BYTES) -> str:
    """Markdown for ``GITHUB_STEP_SUMMARY``, below its limit of 1 MiB.

    Args:
        most: the size in bytes from which on the rest is left out.
    """
    parts = [f"## {plain(course.title)}\n"]
    size = 0
    for part in (text for entry in entries for text in _markdown(entry)):
        size += len(part.encode("utf-8", "replace"))
        if size > most:
            parts.append("\nThere is more than GitHub shows here: `grader check` shows all of it.\n")
            break
        parts.append(part)
    return "".join(parts)


def _markdown(entry: Entry) -> Iterator[str]:
    row = entry.row
    missing = feedback.left_out(entry.result, row.given)
    yield f"\n### {plain(entry.result.submission)}: {points(row.score, row.max)} points"
    yield f", {plain(missing)}" if missing else ""
    yield ("" if entry.share is None else f", {entry.share:.1f}%") + "\n\n| | exercise | points |\n|---|---|---:|\n"
    for exercise in entry.result.exercises:
        earned, most = entry.points_of(exercise)
        score = points(earned, most) if most else "not marked yet" if exercise.manual else "not assessed"
        symbol = BY_HAND if exercise.manual else feedback.SYMBOLS[worst(exercise)]
        yield f"| {symbol} | `{exercise.name}` | {score} |\n"
    for one in row.comments:
        yield f"\n{plain(one.exercise)}: {plain(one.said)}\n"
    for exercise in entry.result.exercises:
        if worst(exercise) in FAILING | {"error"}:
            text = f"\n<details><summary><code>{exercise.name}</code></summary>\n"
            explanation = explanation_of(exercise)
            text += f"\n**What happened:** {plain(explanation)}\n" if explanation else ""
            for first, *_ in equal_groups(not_passed(exercise)):
                worth = feedback.worth_of(first)
                said = VERDICT_WORDS[first.verdict] + (f" ({worth})" if worth else "")
                text += f"\n{said}:\n\n{_fenced(bounded(first.message))}\n"
            yield text + "\n</details>\n"


def _fenced(text: str) -> str:
    """The text as a code block with a fence longer than any in the text, so that the text cannot end it."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`*", text)))
    return f"{fence}text\n{text}\n{fence}"


def plain(text: str) -> str:
    """Text on one line whose Markdown and HTML characters are escaped."""
    return re.sub(r"([\\`*_{}\[\]()<>#+!|&~@:$-])", r"\\\1", one_line(text, 500))


def classroom(entry: Entry, root: Path) -> str:
    """The output ``result`` of a GitHub Classroom grading step: base64 of JSON."""
    tests = []
    for exercise in entry.result.exercises:
        if entry.is_unmarked(exercise):
            continue  # Classroom knows passed and failed only
        verdict = "passed" if exercise.manual else worst(exercise)
        firsts = [group[0] for group in equal_groups(not_passed(exercise))]
        file, line = _in_repository(f"{exercise.name.partition('.')[0]}.py", root), 1
        if firsts:
            file, line = _place(exercise, firsts[0], entry.files(), root)
        test = {"name": exercise.name, "status": {"passed": "pass", "error": "error"}.get(verdict, "fail")}
        test["message"] = bounded("\n\n".join(check.message for check in firsts), 40, 300)
        where = {"test_code": f"grader check {exercise.name}", "filename": file, "line_no": line}
        tests.append({**test, **where, "duration": 0, "score": entry.points_of(exercise)[0]})
    statuses = {test["status"] for test in tests} or {"error"}
    status = next(one for one in ("error", "fail", "pass") if one in statuses)
    document = {"version": 1, "status": status, "max_score": entry.row.max, "tests": tests}
    return base64.b64encode(msgspec.json.encode(document)).decode()


def _place(exercise: ExerciseResult, check: CheckResult, files: Mapping[str, bytes], root: Path) -> tuple[str, int]:
    """File, relative to the repository's root, and line; line 1 when nothing is known."""
    topic, _, name = exercise.name.partition(".")
    file = f"{topic}.py"
    lines = lines_in(files[file]) if file in files else []
    pointed = [line for path, line in feedback.lines_of(check) if path == file and 1 <= line <= max(1, len(lines))]
    line = pointed[-1] if pointed else definition(lines, name)[0]
    return _in_repository(file, root), max(1, line)


def _in_repository(file: str, root: Path) -> str:
    """The path of a topic's file in the repository: in its ``exercises`` folder or at its root."""
    inside = f"exercises/{file}"
    return inside if (root / inside).is_file() else file


def code_quality(entries: Sequence[Entry], root: Path) -> bytes:
    """GitLab's report: one issue for each check that did not pass."""
    issues = []
    for entry in entries:
        files = entry.files()
        for exercise in entry.result.exercises:
            for check in (one for one in exercise.checks if one.verdict in FAILING | {"error"}):
                file, line = _place(exercise, check, files, root)
                key = f"{entry.result.submission}\0{exercise.name}\0{check.name}"
                said = f"{exercise.name}: {VERDICT_WORDS[check.verdict]}\n{bounded(check.message, 6, 300)}"
                issue = {"description": said, "check_name": f"{exercise.name}.{check.name}"}
                issue["fingerprint"] = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
                location = {"path": file, "lines": {"begin": line}}
                issues.append({**issue, "severity": "major", "location": location})
    return msgspec.json.encode(issues) + b"\n"


def junit(entries: Sequence[Entry]) -> Iterator[bytes]:
    """JUnit XML, piece by piece: a test case for each check of one submission, for each exercise of a class."""
    total = sum(entry.row.seconds for entry in entries)
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="grader" time="{total:.3f}">\n'.encode()
    size = 0
    for entry in entries:
        for line in _suite(entry, is_single=len(entries) == 1, is_brief=size > _MESSAGE_BYTES):
            data = line.encode("utf-8", "replace")
            size += len(data)
            yield data
    yield b"</testsuites>\n"


def _suite(entry: Entry, is_single: bool, is_brief: bool) -> Iterator[str]:
    cases = list(_cases(entry, is_single))
    elements = Counter(_ELEMENT.get(verdict, "failure") for _, _, verdict, _ in cases)
    counts = f'failures="{elements["failure"]}" errors="{elements["error"]}" skipped="{elements["skipped"]}"'
    name = quoteattr(clean(entry.result.submission))
    yield f'<testsuite name={name} tests="{len(cases)}" {counts} time="{entry.row.seconds:.3f}">\n'
    for exercise, check, verdict, message in cases:
        group = exercise if is_single else f"{entry.result.submission}.{exercise}"
        topic = exercise.partition(".")[0]
        head = f"<testcase classname={quoteattr(clean(group))} name={quoteattr(clean(check))}"
        head += f' file={quoteattr(clean(topic) + ".py")} time="0"'  # Only a whole submission is timed.
        element = _ELEMENT.get(verdict, "failure")
        if not element:
            yield head + "/>\n"
        else:
            text = "" if is_brief else escape(bounded(message))
            first = quoteattr(clean(message.partition("\n")[0])[:300])
            yield f'{head}><{element} type="{verdict}" message={first}>{text}</{element}></testcase>\n'
    lines = [clean(line) for line in feedback.unread(entry.row)]
    if missing := feedback.left_out(entry.result, entry.row.given):
        lines.append(clean(f"{entry.row.score:g} of {entry.row.max:g}, {missing}"))
    yield from (f"<system-out>{escape(line)}</system-out>\n" for line in lines)
    yield "</testsuite>\n"


def _cases(entry: Entry, is_single: bool) -> Iterator[tuple[str, str, VerdictKind, str]]:
    """The exercise, the name, the verdict and the message of each test case."""
    for exercise in entry.result.checked:
        if not is_single:
            messages = (group[0].message for group in equal_groups(not_passed(exercise)))
            yield exercise.name, feedback.own_name(exercise), worst(exercise), "\n\n".join(messages)
            continue
        seen: Counter[str] = Counter()
        for check in exercise.checks:
            seen[check.name] += 1
            number = f" ({seen[check.name]})" if seen[check.name] > 1 else ""
            yield exercise.name, check.name + number, check.verdict, check.message
    for exercise in entry.result.to_mark:
        verdict: VerdictKind = "skipped" if entry.is_unmarked(exercise) else "passed"
        yield exercise.name, feedback.own_name(exercise), verdict, f"not marked yet; {feedback.about_manual(exercise)}"
