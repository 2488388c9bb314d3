"""What a failing check tells the student: plain text, several short lines, all of it bounded.

Shows the student's own lines only, never the grader's frames, and never an expected value of a hidden check.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from grader.border.failures import MissingName, SubmissionRaised
from grader.border.messages import ImportCrashed, ImportFailure, ImportRaised, ImportTimeout, SourceLine
from grader.border.proxies import Call, Remote
from grader.results import UNASSESSED
from grader.testkit.compare import Mismatch
from grader.testkit.show import show, show_call

if TYPE_CHECKING:
    from grader.judge.run import Check

MAX_TEXT: Final = 6_000
"""Characters of a message without its prints; no honest one comes near."""
MAX_PRINTS: Final = 1_000
"""Characters of captured prints that a message repeats."""


def failed(check: Check, call: Call | None, failure: BaseException, prints: str) -> str:
    """A wrong answer or an exception: the sentence, the call, what came back, what was expected."""
    lines = [check.sentence, *_call(call)]
    if isinstance(failure, SubmissionRaised):
        lines += _raised(failure)
    elif isinstance(failure, Mismatch):
        lines.append(f"returned  {show(failure.actual)}")
        if not check.hidden:
            lines += [f"expected  {show(failure.expected)}", failure.reason]
    else:
        if call is not None and call.answered and not isinstance(call.result, Remote):
            lines.append(f"returned  {show(call.result)}")
        if isinstance(failure.__cause__, SubmissionRaised):
            lines += _frames(failure.__cause__.frames)
        lines.append(_sentence(failure))
    return _join(lines, prints)


def unwritten(check: Check, failure: BaseException) -> str:
    """A name that is not defined, or a stub as it was handed out."""
    topic, _, exercise = check.exercise.partition(".")
    if isinstance(failure, MissingName):
        return f"`{failure.message}` is not defined in {topic}.py"
    return f"`{exercise}` is not written yet"


def not_simulated(failure: SubmissionRaised) -> str:
    """Why a check on simulated devices could not be assessed, and the student's line."""
    told = f"{UNASSESSED} {failure.message[:300]} (a machine that has one: --devices real)"
    return _join([told, *_frames(failure.frames)], "")


def timeout(check: Check, call: Call | None, where: Sequence[SourceLine], prints: str, reason: str = "") -> str:
    """No answer in time: the call, and the innermost line of the student's that was running, or the known reason."""
    if reason:
        return _join([check.sentence, *_call(call), reason], prints)
    topic = check.exercise.partition(".")[0]
    own = next((line for line in where if line.file == f"{topic}.py"), None)
    place = "where it was cannot be told"
    if own is not None:
        place = f"it was in line {own.line} of {own.file}, in {own.function}" + (f": {own.text}" if own.text else "")
    return _join([check.sentence, *_call(call), f"no answer in time; {place}"], prints)


def crashed(check: Check, call: Call | None, reason: str, prints: str) -> str:
    """The process ended, or sent what is no answer."""
    return _join([check.sentence, *_call(call), f"your code {reason or 'ended the process'}"], prints)


def fault(check: Check, error: BaseException | str) -> str:
    """A check with a bug: loud, and nobody's points."""
    place = ""
    tb = None if isinstance(error, str) else error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == str(check.item.path):
            place = f" ({check.item.path.name}:{tb.tb_lineno})"
        tb = tb.tb_next
    what = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return f"the check itself is wrong{place}: {what}. This costs no points; tell your instructor."


def import_failed(topic: str, failure: ImportFailure, prints: str) -> str:
    """The topic's module could not be imported."""
    match failure:
        case ImportRaised(kind, message, frames):
            return _join([f"{topic}.py cannot be imported: {kind}: {message}", *_frames(frames)], prints)
        case ImportTimeout():
            return _join([f"import of {topic}.py did not end in time"], prints)
        case ImportCrashed(reason):
            return _join([f"importing {topic}.py {reason[:200] or 'ended the process'}"], prints)


def _call(call: Call | None) -> list[str]:
    if call is None:
        return []
    name = re.sub(r"^<(\w+)>", lambda handle: handle[1].lower(), call.name)
    if name.endswith(".__getitem__"):
        return [f"{name.removesuffix('.__getitem__')}[{show(call.args[0])}]"]
    return [show_call(name, call.args, call.kwargs)] if call.args or call.kwargs else [name]


def _raised(failure: SubmissionRaised) -> list[str]:
    return [f"raised    {failure.kind}: {failure.message[:500]}" if failure.message else f"raised    {failure.kind}",
            *_frames(failure.frames)]  # fmt: skip


def _frames(frames: Sequence[SourceLine]) -> list[str]:
    return [
        f"  {frame.file}:{frame.line}"
        + (f" in {frame.function}" if frame.function else "")
        + (f": {frame.text}" if frame.text else "")
        for frame in frames
    ]


def _sentence(failure: BaseException) -> str:
    """The check's own words, without what pytest adds to a plain assert."""
    text = str(failure)
    head, _, _ = text.partition("\nassert ")
    return head.strip() or text.strip() or "the answer is wrong"


def _join(lines: Sequence[str], prints: str) -> str:
    text = "\n".join(line for line in lines if line)[:MAX_TEXT]
    if prints.strip():
        kept = prints.rstrip()
        shown = kept if len(kept) <= MAX_PRINTS else f"{kept[:MAX_PRINTS]}\n… ({len(kept)} characters printed)"
        text += "\nprinted:\n" + "\n".join(f"  {line}" for line in shown.splitlines())
    return text
