"""Makes the cause of a check that did not pass. All of it is bounded, because submissions sent much of it.

A cause holds the student's own lines only, never the grader's frames, and never an expected value of a hidden check.
"""

from collections.abc import Sequence
from typing import Any, Final

import pytest
from msgspec.structs import replace

from grader.border.failures import (
    MEMORY_SHORT,
    BadReply,
    ImportFailure,
    KilledBySystem,
    MissingName,
    OutOfMemory,
    SubmissionCrashed,
    SubmissionRaised,
)
from grader.border.messages import MAX_MESSAGE
from grader.border.proxies import Call, Remote
from grader.judge.check import Check
from grader.results import MAX_TEXT, Cause, Frame, SpentTime, TooMuchMemory
from grader.testkit.compare import Mismatch
from grader.testkit.show import show, show_call

MAX_PRINTS: Final = 1_000
"""Characters of captured prints that a cause keeps."""
_ENDED: Final = "ended the process"


def failed(check: Check, call: Call | None, failure: BaseException, prints: str) -> Cause:
    """A wrong answer or an exception."""
    if isinstance(failure, SubmissionRaised):
        return _of_check(check, call, prints, kind="exception", **_facts_of(failure))
    if isinstance(failure, Mismatch):
        return _of_check(
            check,
            call,
            prints,
            kind="assertion",
            returned=show(failure.actual),
            expected="" if check.hidden else show(failure.expected),
            reason="" if check.hidden else failure.reason[:MAX_TEXT],
            looked_at=call is not None and not _is_returned(call, failure.actual),
            is_of_another_type=failure.is_of_another_type,
        )
    # A plain ``assert``, or an exception that is not the expected one.
    raised = failure.__cause__ if isinstance(failure.__cause__, SubmissionRaised) else None
    returned = show(call.result) if call and call.answered and not isinstance(call.result, Remote) else ""
    facts = _facts_of(raised) if raised else {}
    return _of_check(
        check, call, prints, kind="assertion", returned=returned, reason=_reason(failure)[:MAX_TEXT], **facts
    )


def _of_check(check: Check, call: Call | None, prints: str, **facts: Any) -> Cause:
    shown = "" if call is None else show_call(call)[:MAX_TEXT]
    return _with_prints(Cause(sentence=check.sentence[:MAX_TEXT], call=shown, **facts), prints)


def _facts_of(raised: SubmissionRaised) -> dict[str, Any]:
    return {
        "exception_type": raised.kind or "Exception",
        "exception_message": raised.message[:500],
        "frames": raised.frames,
    }


def _is_returned(call: Call, value: object) -> bool:
    """Whether a compared value is what a call returned, or a part of it."""
    parts = call.result if isinstance(call.result, (list, tuple)) else ()
    return value is call.result or any(value is part for part in parts)


def unwritten(check: Check, failure: BaseException) -> Cause:
    """A name that is not defined, or a stub as it was handed out."""
    topic, _, exercise = check.exercise.partition(".")
    if isinstance(failure, MissingName):
        name, file = failure.message, f"{topic}.py"
        return Cause(kind="missing", reason=f"`{name}` is not defined in {file}", names=(name,), file=file)
    return Cause(kind="unwritten", reason=f"`{exercise}` is not written yet")


def not_simulated(failure: SubmissionRaised) -> Cause:
    """The submission used something that simulated devices do not have."""
    return Cause(
        kind="not_simulated",
        exception_type=failure.kind,
        exception_message=failure.message[:300],
        frames=failure.frames,
    )


def not_assessed(reason: str) -> Cause:
    """The check skipped itself."""
    return Cause(kind="not_assessed", reason=reason[:MAX_TEXT])


def timeout(
    check: Check, call: Call | None, where: Sequence[Frame], prints: str, reason: str, time: SpentTime | None
) -> Cause:
    """No answer in time.

    Args:
        where: the student's lines that were running, innermost first; only one of the topic's own file counts.
        reason: why, if that is known; then the cause names no line and no time.
        time: the time after which it was stopped, if that is known.
    """
    file = f"{check.exercise.partition('.')[0]}.py"
    own = [line for line in where if line.file == file and not reason]
    facts = {"reason": reason[:MAX_TEXT], "frames": tuple(own[:1]), "time": None if reason else time}
    return _of_check(check, call, prints, kind="timeout", **facts)


def topic_timeout(time: SpentTime) -> Cause:
    """The topic's time was used up before the check began."""
    return Cause(kind="timeout", stage="topic", reason=f"the topic's {time.limit:g} s are used up", time=time)


def crashed(check: Check, call: Call | None, error: SubmissionCrashed, prints: str, memory_limit: int) -> Cause:
    """The process ended, went over a limit, or sent something that is not an answer.

    Args:
        memory_limit: the memory that it may use (bytes).
    """
    if isinstance(error, KilledBySystem):
        return Cause(kind="memory_short", reason=MEMORY_SHORT)
    kind = "no_answer" if isinstance(error, BadReply) else "crash"
    return _of_check(check, call, prints, kind=kind, **_facts_of_crash(error, memory_limit))


def _facts_of_crash(error: SubmissionCrashed, memory_limit: int) -> dict[str, Any]:
    facts: dict[str, Any] = {"reason": str(error)[:MAX_TEXT] or _ENDED}
    if isinstance(error, OutOfMemory):
        facts |= {"memory": TooMuchMemory(memory_limit, error.held, error.asked), "frames": error.frames[-1:]}
    return facts


def fault(check: Check, error: BaseException | str) -> Cause:
    """A check with a bug, or one that pytest could not set up: no student loses points."""
    if isinstance(error, str):
        return Cause(kind="grader_fault", reason=error[:MAX_MESSAGE])
    line = None
    tb = error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == str(check.item.path):
            line = Frame(check.item.path.name, tb.tb_lineno, tb.tb_frame.f_code.co_name)
        tb = tb.tb_next
    try:
        message = str(error)[:MAX_MESSAGE]
    except Exception:  # an exception of the check's own may be broken, too
        message = ""
    if isinstance(error, pytest.skip.Exception):
        late = f"it skips itself after it has asked the submission ({message}): name what it needs with `needs`"
        return Cause(kind="grader_fault", reason=late, check_line=line)
    return Cause(kind="grader_fault", exception_type=type(error).__name__, exception_message=message, check_line=line)


def unusable(check: Check, error: Exception) -> Cause:
    """An answer on which the judge itself failed; the reference solution passes the check."""
    reason = f"sent an answer that the grader cannot use ({type(error).__name__})"
    return Cause(kind="no_answer", sentence=check.sentence[:MAX_TEXT], reason=reason)


def import_failed(topic: str, failure: ImportFailure, prints: str, memory_limit: int = 0) -> Cause:
    """The topic's module could not be imported.

    Args:
        memory_limit: the memory that it may use (bytes).
    """
    return _with_prints(_import_cause(f"{topic}.py", failure, memory_limit), prints)


def _import_cause(file: str, failure: ImportFailure, memory_limit: int) -> Cause:
    match failure:
        case KilledBySystem():
            return Cause(kind="memory_short", reason=MEMORY_SHORT)
        case SubmissionRaised(kind=kind, message=message, frames=frames):
            return Cause(
                kind="crash" if kind in ("SystemExit", "KeyboardInterrupt") else "exception",
                stage="import",
                file=file,
                exception_type=kind or "Exception",
                exception_message=message,
                frames=frames,
            )
        case SubmissionCrashed():
            answered = isinstance(failure, BadReply)
            facts = _facts_of_crash(failure, memory_limit)
            return Cause(kind="no_answer" if answered else "crash", stage="import", file=file, **facts)
    return Cause(kind="timeout", stage="import", file=file, reason=f"import of {file} did not end in time")


def missing_file(topic: str, note: str = "") -> Cause:
    """The topic's file is not in the submission; `note` says why, if that is known."""
    file = f"{topic}.py"
    return Cause(kind="missing", stage="topic", file=file, reason=note[:MAX_TEXT] or f"{file} is not in the submission")


def blocked(needs: Sequence[str]) -> Cause:
    """Exercises that must pass first have not passed; `needs` are their full names."""
    return Cause(kind="blocked", names=tuple(needs), reason=f"{' and '.join(needs)} must pass first")


def _reason(failure: BaseException) -> str:
    """The check's own words, without pytest's additions to a plain assert."""
    text = str(failure)
    head, _, _ = text.partition("\nassert ")
    return head.strip() or text.strip() or "the answer is wrong"


def _with_prints(cause: Cause, text: str) -> Cause:
    kept = text.rstrip()
    return replace(cause, prints=kept[:MAX_PRINTS], printed=len(kept)) if kept else cause
