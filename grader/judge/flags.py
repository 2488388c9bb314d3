"""Collects the lines and events of a submission that an instructor should look at. Decides no verdict."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from grader.results import ExerciseResult, Flag

MOST_FLAGS: Final = 40
"""Flags of one submission that are kept."""


def together(read: Sequence[Flag], seen: Iterable[Flag], results: Iterable[Flag]) -> tuple[Flag, ...]:
    """All flags of a submission, each once; if a line was flagged as it was read, events of that line are left out."""
    lines = {(flag.file, flag.line) for flag in read}
    rest = [flag for flag in seen if not flag.line or (flag.file, flag.line) not in lines]
    return tuple(dict.fromkeys([*results, *read, *rest]))[:MOST_FLAGS]


def flags_of_results(results: Iterable[ExerciseResult]) -> Iterator[Flag]:
    """A flag for each exercise that fails because simulated devices lack something: it may be right all the same."""
    for result in results:
        causes = (check.cause for check in result.checks)
        cause = next((cause for cause in causes if cause and cause.kind == "not_simulated"), None)
        if cause is not None:
            frame = cause.frames[-1] if cause.frames else None
            text = f"{result.name} fails, as {cause.exception_message[:100]}: it may be right on a real GPU"
            yield Flag("not_simulated", text, frame.file if frame else "", frame.line if frame else 0)
