"""The message of a cause, which a student reads about a check that did not pass. No other module makes messages.

Pure: looks at nothing but the cause, imports no torch, and decides nothing.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from grader.border.failures import one_line
from grader.intake.notebook import Cells
from grader.judge.known_errors import on_exception, repaired, with_message
from grader.pictures import Stair
from grader.results import MAX_TEXT, VERDICT_OF, Cause, CheckResult, Frame, SpentTime
from grader.text import counted, printable, without_addresses

_LINE_OF: Final = re.compile(r"\bline (\d{1,7}) of (\w+\.py)\b")
_NEWER_SYNTAX: Final = (
    ((3, 12), r"^\s*type\s+\w+.*="),
    ((3, 12), r"^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\["),
    ((3, 12), r"""f"[^"]*\{[^}"]*"[^}]*\}|f'[^']*\{[^}']*'[^}]*\}"""),
    ((3, 11), r"^\s*except\s*\*"),
    ((3, 14), r"^\s*except\s+\w+(?:\s*,\s*\w+)+\s*:"),
    ((3, 14), r"\bt[\"']"),
    ((3, 10), r"^\s*(?:match|case)\s.*:\s*$"),
)
"""Python's versions, and how a line looks that needs them at least."""
_TEXTS: Final = "advice sentence call returned expected situation reason exception_message prints note"
"""The texts of a cause, which may have several lines."""
_RAISES: Final = re.compile(r"(?:^|:\s*)raise +\w")
_SHORT_CALL: Final = 100
"""Characters of a call that a first sentence may hold."""
_BARE: Final = re.compile(r"(?:-?[\d.]+(?:e[-+]?\d+)?|True|False) where ")
"""A wrong number of which nothing is said but the right one."""
_PLAIN_CALL: Final = re.compile(r"\w{1,40}\((?:[\w.=, -]|\[|\]){0,80}\)")
"""A call with numbers, or lists of them, alone."""


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
    """The same cause with texts that can be printed and are the same in every run, and lines that are one line each."""
    changed: dict[str, Any] = {field: without_addresses(printable(getattr(cause, field))) for field in _TEXTS.split()}
    return replace(
        cause,
        exception_type=_one_line(cause.exception_type),
        file=_one_line(cause.file),
        names=tuple(map(_one_line, cause.names)),
        stair=_with_texts(cause.stair, _one_line),
        frames=tuple(
            replace(one, file=_one_line(one.file), function=_one_line(one.function), text=_one_line(one.text))
            for one in cause.frames
        ),
        **changed,
    )


def _with_texts(stair: Stair | None, change: Callable[[str], str]) -> Stair | None:
    """The same stair with other texts."""
    return stair and Stair(tuple(replace(one, text=change(one.text)) for one in stair.ranks))


def _one_line(text: str) -> str:
    return one_line(printable(text), MAX_TEXT)


def message(cause: Cause) -> str:
    """Several short lines of plain text, the most important first; their number of characters is bounded."""
    text = "\n".join(line for line in _lines(cause) if line)[:MAX_TEXT]
    if cause.prints:
        cut = f"\n… ({cause.printed} characters printed)" if cause.printed > len(cause.prints) else ""
        text += "\nprinted:\n" + "\n".join(f"  {line}" for line in f"{cause.prints}{cut}".splitlines())
    return f"{text}\n({cause.note})" if cause.note else text


def for_author(cause: Cause) -> str:
    """The message of a failing import for a course's author, on one line, to be printed after the file's path."""
    head = f"cannot be imported: {with_message(cause)}" if cause.exception_type else advice_on(cause)
    return " | ".join("\n".join([head, *_frames(cause.frames)])[:MAX_TEXT].splitlines())


def _lines(cause: Cause) -> list[str]:
    advice = cause.advice or advice_on(cause)
    raised = with_message(cause)
    if cause.stage == "import":
        is_told = cause.exception_type in advice
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
        cause.sentence if cause.sentence.rstrip(".") not in advice else "",
        cause.call if cause.call not in advice else "",
        f"{'found     ' if cause.looked_at else 'returned  '}{cause.returned}" if cause.returned else "",
        f"expected  {cause.expected}" if cause.expected else "",
        f"raised    {raised}" if raised not in advice else "",
        *_frames(cause.frames),
        cause.reason if cause.reason not in advice else "",
    ]


def _frames(frames: Sequence[Frame]) -> list[str]:
    """One line for each, but lines that come again and again, as in a recursion, once."""
    lines = []
    for frame, count in Counter(frames).items():
        place = f"{frame.place}," if frame.place else f"{frame.file}:{frame.line}"
        place = f"{place} in {frame.function}" if frame.function else place.rstrip(",")
        again = "  (again and again)" if count > 2 else ""
        lines.append(f"  {place}" + (f": {frame.text}" if frame.text else "") + again)
    return lines


# ---------------------------------------------------------------- the first sentence


def advice_on(cause: Cause) -> str:
    """The first sentence; empty if the check's own sentence has to be enough."""
    if cause.stage == "import":
        return _on_import(cause)
    match cause.kind:
        case "exception":
            return on_exception(cause) or _raised(cause)
        case "not_simulated":
            why = f"GPUs are simulated here, and {cause.exception_message}: this check fails"
            return f"{why}. Write it another way, or ask your instructor to look at it"
        case "timeout":
            return _too_slow(cause)
        case "crash" | "no_answer":
            return f"your code {_crash(cause)}"
        case "assertion":
            return _on_assertion(cause)
        case "grader_fault" if cause.stage == "submission":
            return "The grader failed here; this is not your fault and costs no points."
        case "grader_fault":
            return f"{fault_of_check(cause)}. This costs no points; tell your instructor."
    return cause.reason


def fault_of_check(cause: Cause) -> str:
    """The fault of a check, for whoever wrote it."""
    place = f" ({cause.check_line.file}:{cause.check_line.line})" if cause.check_line else ""
    return f"the check itself is wrong{place}: {with_message(cause) or cause.reason}"


def _raised(cause: Cause) -> str:
    """The exception itself: the first line of a message of several, such as all the signatures of a function.

    One that the student's own line raises is a refusal: it says of what.
    """
    first, _, _ = with_message(cause).partition("\n")
    raised = f"your code raised {first.removesuffix(', but expected one of:')}"
    if cause.kind != "exception" or not cause.call or not any(_RAISES.search(one.text) for one in cause.frames[-1:]):
        return raised
    of = f": {cause.call}" if len(cause.call) <= _SHORT_CALL else ""
    return f"{raised}, for valid input{of}"


def _on_assertion(cause: Cause) -> str:
    is_none = cause.returned == "None" and cause.expected != "None" and not cause.looked_at
    if is_none and (cause.expected or not cause.reason or re.search("NoneType| gives None where", cause.reason)):
        if cause.call.isidentifier():  # a variable
            return f"`{cause.call}` is None, and another value was expected"
        return "your code returned None: did you forget `return`?"
    found = _raised(cause) if cause.exception_type and not cause.reason else repaired(cause.reason)
    if _BARE.match(found) and _PLAIN_CALL.fullmatch(cause.call) and not cause.looked_at:
        found = f"{cause.call}: {found}"
    return ": ".join(filter(None, (f"wrong {cause.situation}", found))) if cause.situation else found


def _on_import(cause: Cause) -> str:
    """The advice about a file that cannot be imported."""
    if not cause.exception_type:
        return cause.reason if cause.kind == "timeout" else f"importing {cause.file} {_crash(cause)}"
    frame = cause.frames[-1] if cause.frames else Frame("", 0)
    at = f" in {frame.place}" if frame.place else f" in line {frame.line}" if frame.line else ""
    said = re.sub(r" \([^()]*, line \d+\)$", "", cause.exception_message)
    newer = next((version for version, pattern in _NEWER_SYNTAX if re.search(pattern, frame.text)), (3, 0))
    here = sys.version_info[:2]
    if re.search(r"null bytes|codec can't decode|encoding problem|missing encoding|Non-UTF-8", said):
        why = "it is not saved as UTF-8; save it as UTF-8 in your editor"
    elif cause.exception_type == "SyntaxError" and newer > here:
        why = f"what is written{at} needs Python {newer[0]}.{newer[1]}, but Python {here[0]}.{here[1]} runs here"
    elif cause.exception_type in ("SyntaxError", "IndentationError", "TabError"):
        why = f"{cause.exception_type}{at}: {said}"
    else:
        why = on_exception(cause) or with_message(cause)
    return f"{cause.file} cannot be imported: {why}"


def _too_slow(cause: Cause) -> str:
    spent = cause.time
    if cause.reason:
        return f"{cause.reason}: {_used(spent)}" if spent and spent.used else cause.reason
    where = _line(cause.frames[-1]) if cause.frames else "in a line that is not known"
    if spent is None:
        return f"no answer in time; it was {where}"
    found = f"no answer in {spent.limit:g} s; it was {where}"
    if spent.answered:
        calls = f"{counted(spent.answered, 'call')} {'was' if spent.answered == 1 else 'were'} answered"
        stopped = f" {where}" if cause.frames else ""
        slowest = f"in {spent.limit:g} s, the slowest in {spent.longest:g} s"
        found = f"too slow: only {calls} {slowest}; the next one was stopped{stopped}"
    return f"{found} (the topic had no more time left: {_used(spent)})" if spent.used else found


def _used(spent: SpentTime) -> str:
    return ", ".join(f"{name or 'the import'} took {seconds:g} s" for name, seconds in spent.used)


def _line(frame: Frame) -> str:
    place = f"at {frame.place}" if frame.place else f"in line {frame.line} of {frame.file}"
    return f"{place}, in {frame.function}" + (f": {frame.text}" if frame.text else "")


def _crash(cause: Cause) -> str:
    """How it crashed; completes "your code …"."""
    if (memory := cause.memory) is None:
        return cause.reason
    asked = f"torch asked for {_size(memory.asked)} more, and " if memory.asked else ""
    held = f"it held {_size(memory.held)}, and " if memory.held else ""
    where = f"; it was {_line(cause.frames[-1])}" if cause.frames else ""
    return f"{cause.reason}: {asked or held}the limit is {_size(memory.limit)}{where}"


def _size(count: int) -> str:
    return f"{count / 2**30:.3g} GiB" if count >= 1 << 30 else f"{count / 2**20:.3g} MiB"


# ---------------------------------------------------------------- places in notebooks


class CellPlaces:
    """Names the notebook cell of each line of the student's code, for one submission. Looks at text only.

    Args:
        files: the submission's files by path.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        # A line of source names its file without the folder, which must not leave it in doubt.
        names = [path.rpartition("/")[2] for path in files]
        self._cells = {
            name: Cells(content) for name, content in zip(names, files.values(), strict=True) if names.count(name) == 1
        }

    def in_result(self, check: CheckResult) -> CheckResult:
        """The same result of a check that was just run, whose message names cells."""
        cause = self.cause(check.cause) if check.cause else None
        return check if cause is None or cause == check.cause else with_cause(check, replace(cause, advice=""))

    def cause(self, cause: Cause) -> Cause:
        """The same cause, whose lines say in which cell they are; those that its words name, too."""

        def named(found: re.Match[str]) -> str:
            cells = self._cells.get(found[2])
            return cells.place(int(found[1])) if cells else found[0]

        def in_cells(text: str) -> str:
            return _LINE_OF.sub(named, text)

        frames, stair = tuple(map(self._frame, cause.frames)), _with_texts(cause.stair, in_cells)
        return replace(cause, frames=frames, reason=in_cells(cause.reason), stair=stair)

    def line_in(self, file: str) -> Callable[[int], str]:
        """A function that names a line of a file: ``line 12``, or its cell in a notebook."""
        cells = self._cells.get(file)
        return cells.place if cells else "line {}".format

    def _frame(self, frame: Frame) -> Frame:
        cells = self._cells.get(frame.file) if frame.line else None
        return replace(frame, place=cells.place(frame.line)[:MAX_TEXT]) if cells else frame
