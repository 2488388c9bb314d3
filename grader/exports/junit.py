"""JUnit XML, as GitLab, Jenkins and test reporters of GitHub read it. Text from submissions is never markup in it."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from grader.reports.entries import Entry
from grader.reports.feedback import about_manual, bounded, equal_groups, left_out, not_passed, unread, worst
from grader.results import ExerciseResult, VerdictKind
from grader.text import clean

_MESSAGE_BYTES = 25_000_000
"""The size of the document from which on messages are left out, as GitLab reads at most 30 MB."""
_ELEMENT: dict[VerdictKind, str] = {
    "failed": "failure",
    "timeout": "failure",
    "crashed": "failure",
    "error": "error",
    "blocked": "skipped",
    "skipped": "skipped",
}


def document(entries: Sequence[Entry]) -> Iterator[bytes]:
    """The document, piece by piece: a test case for each check of one submission, for each exercise of a class."""
    total = sum(entry.row.seconds for entry in entries)
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="grader" time="{total:.3f}">\n'.encode()
    size = 0
    for entry in entries:
        for line in _suite(entry, single=len(entries) == 1, brief=size > _MESSAGE_BYTES):
            data = line.encode("utf-8", "replace")
            size += len(data)
            yield data
    yield b"</testsuites>\n"


def _suite(entry: Entry, *, single: bool, brief: bool) -> Iterator[str]:
    result = entry.result
    cases = [case for e in result.checked for case in (_checks(e) if single else [_exercise(e)])]
    for e in result.to_mark:
        open_one: VerdictKind = "skipped" if entry.is_unmarked(e) else "passed"
        cases.append((e.name, e.name.partition(".")[2], open_one, f"not marked yet; {about_manual(e)}"))
    kinds = [_ELEMENT.get(verdict, "") for _, _, verdict, _ in cases]
    counts = " ".join(
        f'{name}="{kinds.count(k)}"'
        for name, k in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    )
    name = quoteattr(clean(result.submission))
    yield f'<testsuite name={name} tests="{len(cases)}" {counts} time="{entry.row.seconds:.3f}">\n'
    for exercise, check, verdict, message in cases:
        prefix = "" if single else f"{result.submission}."
        topic = exercise.partition(".")[0]
        head = f"<testcase classname={quoteattr(clean(prefix + exercise))} name={quoteattr(clean(check))}"
        head += f' file={quoteattr(clean(topic) + ".py")} time="0"'  # Only a whole submission is timed.
        element = _ELEMENT.get(verdict)
        if element is None:
            yield head + "/>\n"
        else:
            text = "" if brief else escape(bounded(message))
            first = quoteattr(clean(message.partition("\n")[0])[:300])
            yield f'{head}><{element} type="{verdict}" message={first}>{text}</{element}></testcase>\n'
    for line in unread(entry.row):
        yield f"<system-out>{escape(clean(line))}</system-out>\n"
    if missing := left_out(result, entry.row.given):
        yield f"<system-out>{escape(clean(f'{entry.row.score:g} of {entry.row.max:g}, {missing}'))}</system-out>\n"
    yield "</testsuite>\n"


def _checks(exercise: ExerciseResult) -> Iterator[tuple[str, str, VerdictKind, str]]:
    seen: dict[str, int] = {}
    for check in exercise.checks:
        seen[check.name] = seen.get(check.name, 0) + 1
        name = check.name if seen[check.name] == 1 else f"{check.name} ({seen[check.name]})"
        yield exercise.name, name, check.verdict, check.message


def _exercise(exercise: ExerciseResult) -> tuple[str, str, VerdictKind, str]:
    verdict = worst(exercise)
    groups = equal_groups(not_passed(exercise))
    messages = (group[0].message for group in groups)
    return exercise.name, exercise.name.partition(".")[2] or exercise.name, verdict, "\n\n".join(messages)
