"""The message of a cause: what the student reads about a check that did not pass. No other module makes messages.

Pure: looks at nothing but the cause, imports no torch, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from grader.results import MAX_TEXT, VERDICT_OF, Cause, CheckResult, Frame
from grader.text import printable


def result(name: str, cause: Cause) -> CheckResult:
    """The result of a check that did not pass; no text in it can act on a terminal, whatever a submission sent."""
    cause = _printable(cause)
    return CheckResult(name=name, verdict=VERDICT_OF[cause.kind], message=message(cause), cause=cause)


def _printable(cause: Cause) -> Cause:
    """The same cause with texts that can be printed, and names and lines of source that are one line each."""
    texts = ("sentence", "call", "returned", "expected", "reason", "exception_message", "prints", "note")
    names = ("exception_type", "file")
    changed: dict[str, Any] = {field: printable(text) for field in texts if (text := getattr(cause, field))}
    changed |= {field: _one_line(text) for field in names if (text := getattr(cause, field))}
    frames = tuple(Frame(_one_line(f.file), f.line, _one_line(f.function), _one_line(f.text)) for f in cause.frames)
    return replace(cause, frames=frames, names=tuple(map(_one_line, cause.names)), **changed)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in printable(text))


def message(cause: Cause) -> str:
    """Several short lines of plain text; their number of characters is bounded."""
    text = "\n".join(line for line in _lines(cause) if line)[:MAX_TEXT] + _prints(cause)
    return f"{text}\n({cause.note})" if cause.note else text


def for_author(cause: Cause) -> str:
    """The message of a failing import for a course's author, on one line, to be printed after the file's path."""
    head, *frames = _import(cause, subject="")
    return " | ".join("\n".join([head, *frames])[:MAX_TEXT].splitlines())


def _lines(cause: Cause) -> list[str]:
    if cause.stage == "import":
        return _import(cause, subject=f"{cause.file} ")
    match cause.kind:
        case "grader_fault":
            return [_fault(cause)]
        case "not_simulated":
            why = f"GPUs are simulated here, and {cause.exception_message}: this check fails"
            return [f"{why}. Write it another way, or ask your instructor to look at it", *_frames(cause.frames)]
        case "exception":
            raised = _with_message(cause)
            return [cause.sentence, cause.call, f"raised    {raised}", *_frames(cause.frames)]
        case "timeout":
            return [cause.sentence, cause.call, cause.reason or _where_it_was(cause.frames)]
        case "crash" | "no_answer":
            return [cause.sentence, cause.call, f"your code {cause.reason}"]
    return [
        cause.sentence,
        cause.call,
        f"returned  {cause.returned}" if cause.returned else "",
        f"expected  {cause.expected}" if cause.expected else "",
        *_frames(cause.frames),
        cause.reason,
    ]


def _import(cause: Cause, subject: str) -> list[str]:
    if cause.exception_type:
        return [f"{subject}cannot be imported: {_with_message(cause, always=True)}", *_frames(cause.frames)]
    return [cause.reason if cause.kind == "timeout" else f"importing {cause.file} {cause.reason}"]


def _fault(cause: Cause) -> str:
    if cause.stage == "submission":
        return f"The grader failed here; this is not your fault and costs no points.\n{cause.reason}"
    place = f" ({cause.check_line.file}:{cause.check_line.line})" if cause.check_line else ""
    what = _with_message(cause, always=True) if cause.exception_type else cause.reason
    return f"the check itself is wrong{place}: {what}. This costs no points; tell your instructor."


def _with_message(cause: Cause, always: bool = False) -> str:
    """``ValueError: too few``; a colon without a text only if asked for."""
    if cause.exception_message or always:
        return f"{cause.exception_type}: {cause.exception_message}"
    return cause.exception_type


def _where_it_was(frames: Sequence[Frame]) -> str:
    if not frames:
        return "no answer in time; the line where it was is not known"
    own = frames[-1]
    place = f"it was in line {own.line} of {own.file}, in {own.function}" + (f": {own.text}" if own.text else "")
    return f"no answer in time; {place}"


def _frames(frames: Sequence[Frame]) -> list[str]:
    return [
        f"  {frame.file}:{frame.line}"
        + (f" in {frame.function}" if frame.function else "")
        + (f": {frame.text}" if frame.text else "")
        for frame in frames
    ]


def _prints(cause: Cause) -> str:
    if not cause.prints:
        return ""
    cut = f"\n… ({cause.printed} characters printed)" if cause.printed > len(cause.prints) else ""
    return "\nprinted:\n" + "\n".join(f"  {line}" for line in f"{cause.prints}{cut}".splitlines())
