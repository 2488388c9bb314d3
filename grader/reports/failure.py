"""One exercise that does not pass, in full: advice first, then the call, the returned and the expected value.

At most `MOST_ROWS` lines of the terminal, whatever a submission sent. Prints text of submissions only behind a bar.
"""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from grader.course import Course
from grader.reports.feedback import (
    FAILING,
    STYLES,
    SYMBOLS,
    bounded,
    check_title,
    explanation_of,
    hint_command,
    hint_for,
    likeness,
    worst,
)
from grader.reports.terminal import print_rows, wrapped
from grader.results import CheckResult, ExerciseResult
from grader.text import clean, counted

MOST_ROWS = 25
"""Rows that one exercise takes."""
_ROWS_OF_A_LINE = 4
"""Rows that one line of a message takes, such as a long call."""
_ROWS_OF_A_VALUE = 2
"""Rows that a returned or an expected value takes: the first sentence says where they differ."""
_VALUES = ("returned  ", "expected  ", "found     ")
_BAR = "  │ "


def show_failure(
    exercise: ExerciseResult, course: Course, console: Console, place: str = "", every_check: bool = False
) -> None:
    """Prints an exercise that does not pass.

    Args:
        place: where it is, e.g. ``kata/tensor_ops.py:88``.
        every_check: show every failing check in full, and nothing cut.
    """
    failing = [check for check in exercise.checks if check.verdict in FAILING]
    shared = failing[0].cause if all(check.cause == failing[0].cause for check in failing) else None
    verdict = worst(exercise)
    name = exercise.name
    is_of_topic = shared is not None and shared.stage in ("import", "topic")
    if shared is not None and is_of_topic:
        name, place = shared.file or exercise.name.partition(".")[0], ""
    head = wrapped(console, f"{SYMBOLS[verdict]} {name}{f'  {place}' if place else ''}", f"bold {STYLES[verdict]}")
    groups = [failing[:1]] if is_of_topic else _alike(failing)
    known = next((one for one in course.exercises if one.full_name == exercise.name), None)
    explanation = explanation_of(exercise)
    foot: list[Text] = []
    top = wrapped(console, f"what happened: {clean(explanation)}", "cyan", bar=_BAR) if explanation else []
    if not every_check:
        foot += _others(console, groups)
    if not is_of_topic:
        hint = None if explanation or known is None else hint_for(known, failing[0])
        if hint:
            foot += wrapped(console, f"  hint: {hint}", "cyan")
        if (command := hint_command(known, hint)) and (hint or explanation):
            foot += wrapped(console, f"  more: {command}", "dim")
    console.print()
    if every_check:
        rows = [*head, *top]
        for group in groups:
            rows += wrapped(console, f"  {check_title(group[0].name)}", "bold")
            rows += _message(console, group[0], most=10**6)
            rows += _others(console, [group])
        print_rows(console, [*rows, *foot])
        return
    body = [*top, *_message(console, failing[0], most=_ROWS_OF_A_LINE)]
    room = max(MOST_ROWS - len(head) - min(len(foot), 9), 6)
    if len(body) > room:
        body = [*body[: room - 1], Text.assemble((_BAR, "dim"), ("… (more: --verbose)", "dim"))]
    print_rows(console, [*head, *body, *foot][:MOST_ROWS])


def _message(console: Console, check: CheckResult, most: int) -> list[Text]:
    """The message behind a bar; each of its lines takes at most `most` rows."""
    rows: list[Text] = []
    for number, line in enumerate(bounded(check.message).split("\n")):
        pieces = wrapped(console, line, "bold" if number == 0 else "", bar=_BAR)
        rows_of_it = min(most, _ROWS_OF_A_VALUE) if most == _ROWS_OF_A_LINE and line.startswith(_VALUES) else most
        if len(pieces) > rows_of_it:
            pieces = [*pieces[: rows_of_it - 1], Text.assemble((_BAR, "dim"), "…")]
        rows += pieces
    return rows


def _others(console: Console, groups: Sequence[Sequence[CheckResult]]) -> list[Text]:
    """How many checks fail like the one that is shown, and how many in another way."""
    rows: list[Text] = []
    if groups and len(groups[0]) > 1:
        more = len(groups[0]) - 1
        rows += wrapped(console, f"  and {more} more {'fails' if more == 1 else 'fail'} alike", "dim")
    if len(groups) > 1:
        more = sum(map(len, groups[1:]))
        fail = "fails" if more == 1 else "fail"
        rows += wrapped(console, f"  and {counted(more, 'check')} {fail} in another way (--verbose shows all)", "dim")
    return rows


def _alike(checks: Sequence[CheckResult]) -> list[list[CheckResult]]:
    """Failing checks in groups of those that fail alike."""
    groups: dict[object, list[CheckResult]] = {}
    for check in checks:
        groups.setdefault(likeness(check), []).append(check)
    return list(groups.values())
