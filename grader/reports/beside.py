"""A student's answer and the course's, beside each other if the terminal has room for both. Decides nothing."""

import itertools

from rich.console import Console
from rich.text import Text

from grader.course.definitions import docstrings
from grader.reports.terminal import print_rows, print_wrapped
from grader.text import clean, counted

_GAP = " │ "


def print_beside(mine: str, theirs: str, calls: tuple[int | None, int | None], console: Console) -> None:
    """Prints both without their docstrings, and how many calls of torch each makes in its example.

    Args:
        mine: empty if it is no longer there.
        theirs: empty if it may not be shown, or is not there.
        calls: of mine and of theirs; None if nothing could be counted.
    """
    texts = [_without_docstrings(text) for text in (mine or "# not there", theirs)]
    heads = [_head("yours", calls[0]), _head("the course's", calls[1])]
    if not theirs:
        for head in heads[: 1 + (calls[1] is not None)]:
            print_wrapped(console, head, "bold")
        return
    widths = [max(map(len, [head, *text])) for head, text in zip(heads, texts, strict=True)]
    if sum(widths) + len(_GAP) <= console.width:
        print_rows(console, [Text.assemble((f"{heads[0]:<{widths[0]}}", "bold"), (_GAP, "dim"), (heads[1], "bold"))])
        for left, right in itertools.zip_longest(*texts, fillvalue=""):
            gap = _GAP if right else _GAP.rstrip()
            print_rows(console, [Text.assemble(f"{left:<{widths[0]}}", (gap, "dim"), right)])
        return
    for number, (head, text) in enumerate(zip(heads, texts, strict=True)):
        if number:
            console.print()
        print_wrapped(console, head, "bold")
        for line in text:
            print_wrapped(console, line, "")


def _head(whose: str, calls: int | None) -> str:
    return whose if calls is None else f"{whose}: {counted(calls, 'call')} of torch in the example"


def _without_docstrings(text: str) -> list[str]:
    lines = clean(text).expandtabs(4).split("\n")
    left_out = docstrings(lines, 1, len(lines))
    return [line.rstrip() for number, line in enumerate(lines, start=1) if number not in left_out]
