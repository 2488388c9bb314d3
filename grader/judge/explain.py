"""The message of a cause, which a student reads about a check that did not pass. No other module makes messages.

Pure: looks at nothing but the cause, imports no torch, and decides nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from grader.intake.notebook import Cells
from grader.judge.advice import advice_on, with_message
from grader.results import MAX_TEXT, VERDICT_OF, Cause, CheckResult, Frame
from grader.text import printable


def result(name: str, cause: Cause) -> CheckResult:
    """The result of a check that did not pass; no text in it can act on a terminal, whatever a submission sent."""
    cause = _printable(cause)
    cause = replace(cause, advice=cause.advice or advice_on(cause)[:MAX_TEXT])
    return CheckResult(name=name, verdict=VERDICT_OF[cause.kind], message=message(cause), cause=cause)


def with_cause(check: CheckResult, cause: Cause) -> CheckResult:
    """The same result with another cause and its message: its points stay, and so does whether it is hidden."""
    found = result(check.name, cause)
    return replace(check, verdict=found.verdict, message=found.message, cause=found.cause)


def _printable(cause: Cause) -> Cause:
    """The same cause with texts that can be printed, and names and lines of source that are one line each."""
    texts = ("advice", "sentence", "call", "returned", "expected", "reason", "exception_message", "prints", "note")
    names = ("exception_type", "file")
    changed: dict[str, Any] = {field: printable(text) for field in texts if (text := getattr(cause, field))}
    changed |= {field: _one_line(text) for field in names if (text := getattr(cause, field))}
    frames = tuple(
        replace(f, file=_one_line(f.file), function=_one_line(f.function), text=_one_line(f.text)) for f in cause.frames
    )
    return replace(cause, frames=frames, names=tuple(map(_one_line, cause.names)), **changed)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in printable(text))


def message(cause: Cause) -> str:
    """Several short lines of plain text, the most important first; their number of characters is bounded."""
    text = "\n".join(line for line in _lines(cause) if line)[:MAX_TEXT] + _prints(cause)
    return f"{text}\n({cause.note})" if cause.note else text


def for_author(cause: Cause) -> str:
    """The message of a failing import for a course's author, on one line, to be printed after the file's path."""
    head = f"cannot be imported: {with_message(cause, always=True)}" if cause.exception_type else advice_on(cause)
    return " | ".join("\n".join([head, *_frames(cause.frames)])[:MAX_TEXT].splitlines())


def _lines(cause: Cause) -> list[str]:
    advice = cause.advice or advice_on(cause)
    raised = with_message(cause) if cause.exception_type else ""
    if cause.stage == "import":
        is_told = not raised or cause.exception_type in advice
        return [advice, "" if is_told else f"raised    {raised}", *_frames(cause.frames)]
    match cause.kind:
        case "grader_fault":
            return [advice, cause.reason if cause.stage == "submission" else ""]
        case "not_simulated":
            return [advice, *_frames(cause.frames)]
        case "timeout" | "crash" | "no_answer":
            return [advice, cause.sentence, cause.call]
    return [
        advice,
        cause.sentence,
        cause.call,
        f"{'found     ' if cause.looked_at else 'returned  '}{cause.returned}" if cause.returned else "",
        f"expected  {cause.expected}" if cause.expected else "",
        f"raised    {raised}" if raised and raised not in advice else "",
        *_frames(cause.frames),
        cause.reason if cause.reason not in advice else "",
    ]


def _frames(frames: Sequence[Frame]) -> list[str]:
    """One line for each, but lines that come again and again, as in a recursion, once."""
    lines: list[str] = []
    repeated: Counter[Frame] = Counter(frames)
    for frame in dict.fromkeys(frames):
        again = "  (again and again)" if repeated[frame] > 2 else ""
        place = f"{frame.place}," if frame.place else f"{frame.file}:{frame.line}"
        place = f"{place} in {frame.function}" if frame.function else place.rstrip(",")
        lines.append(f"  {place}" + (f": {frame.text}" if frame.text else "") + again)
    return lines


def _prints(cause: Cause) -> str:
    if not cause.prints:
        return ""
    cut = f"\n… ({cause.printed} characters printed)" if cause.printed > len(cause.prints) else ""
    return "\nprinted:\n" + "\n".join(f"  {line}" for line in f"{cause.prints}{cut}".splitlines())


_LINE_OF: Final = re.compile(r"\bline (\d{1,7}) of (\w+\.py)\b")


class CellPlaces:
    """Names the notebook cell of each line of the student's code, for one submission. Looks at text only.

    Args:
        files: the submission's files by path.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._cells: dict[str, Cells | None] = {}

    def in_result(self, check: CheckResult) -> CheckResult:
        """The same result of a check that was just run, whose message names cells."""
        cause = self.cause(check.cause) if check.cause else None
        return check if cause is None or cause == check.cause else with_cause(check, replace(cause, advice=""))

    def cause(self, cause: Cause) -> Cause:
        """The same cause, whose lines say in which cell they are; those that its words name, too."""
        return replace(
            cause, frames=tuple(map(self._frame, cause.frames)), reason=_LINE_OF.sub(self._named, cause.reason)
        )

    def _named(self, found: re.Match[str]) -> str:
        cells = self._of(found[2])
        return cells.place(int(found[1])) if cells else found[0]

    def line_in(self, file: str) -> Callable[[int], str]:
        """A function that names a line of a file: ``line 12``, or its cell in a notebook."""
        cells = self._of(file)
        return lambda line: cells.place(line) if cells else f"line {line}"

    def _frame(self, frame: Frame) -> Frame:
        cells = self._of(frame.file) if frame.line else None
        return replace(frame, place=cells.place(frame.line)[:MAX_TEXT]) if cells else frame

    def _of(self, file: str) -> Cells | None:
        """The cells of a file; a line of source names it without its folder, which must not leave it in doubt."""
        if file not in self._cells:
            found = [content for path, content in self._files.items() if path.rpartition("/")[2] == file]
            self._cells[file] = Cells(found[0]) if len(found) == 1 else None
        return self._cells[file]
