"""Makes the cause of a check that did not pass. All of it is bounded, because submissions sent much of it.

A cause holds the student's own lines only, never the grader's frames, and of a hidden check
only what came from the submission: `_came_back`, and `fault`.
"""

import re
import traceback
from collections.abc import Sequence
from typing import Any, Final

import pytest
from msgspec.structs import replace

from grader.border import failures
from grader.border.messages import MAX_MESSAGE
from grader.border.proxies import Call, FarObject
from grader.judge.check import Check, Desk
from grader.results import MAX_TEXT, Cause, Frame, SpentTime, TooMuchMemory
from grader.testkit.compare import Mismatch
from grader.testkit.show import show, show_call, show_earlier
from grader.testkit.within_probes import call_within

MAX_PRINTS: Final = 1_000
"""Characters of captured prints that a cause keeps."""
_FOLDER: Final = re.compile(r"^[^\s:]{0,300}[/\\]([\w.-]{1,100}\.py:\d{1,7}: \w{0,50}Warning: )", re.MULTILINE)
_TRIGGERED: Final = re.compile(r"\s?\(Triggered internally at [^\s()]{1,300}\)")
"""Places in warnings: the folder of a file, and a line of C++. No student has a use for them."""

_STUB: Final = re.compile(r"^write `(\w{1,100})[.`]")
"""The words that a stub raises, with the name of its function or class."""


def failed(check: Check, call: Call | None, failure: BaseException, prints: str, calls: Sequence[Call] = ()) -> Cause:
    """A wrong answer or an exception.

    Args:
        call: the last one of the check.
        calls: the last ones, in order: if their results were compared together, the first wrong one is shown.
    """
    if isinstance(failure, Mismatch):
        call, failure = _first_wrong(call, failure, calls)
    if check.hidden:
        return _of_check(check, call, prints, **_came_back(call, failure))
    facts: dict[str, Any] = {"kind": "assertion"}
    # The message shows the call that a probe makes: what the probe gives is no result of that.
    is_probed = call is not None and call_within(call) is not None
    if isinstance(failure, failures.SubmissionRaised):
        facts = {"kind": "exception", **_raised(failure)}
    elif isinstance(failure, Mismatch):
        parts = call.result if call and isinstance(call.result, (list, tuple)) else ()
        is_part = call is not None and (
            failure.actual is call.result
            or (failure.actual is not None and any(failure.actual is part for part in parts))
        )  # any other None is not known to be this one
        facts["looked_at"] = is_probed or (call is not None and not is_part)
        returned, expected = failure.shown()
        returned = (
            repr(failure.actual) if isinstance(failure.actual, FarObject) else returned
        )  # not the call that made it
        facts |= {"returned": returned, "is_of_another_type": failure.is_of_another_type}
        facts |= {"expected": expected, "reason": failure.reason[:MAX_TEXT], "compared": failure.compared()}
    else:  # a plain ``assert``, or an exception that is not the expected one
        if call and call.answered and not is_probed and not isinstance(call.result, FarObject):
            facts["returned"] = show(call.result)
        if isinstance(failure.__cause__, failures.SubmissionRaised):
            facts |= _raised(failure.__cause__)
        own, _, _ = str(failure).partition("\nassert ")  # without pytest's additions
        facts["reason"] = (own.strip() or str(failure).strip() or "the answer is wrong")[:MAX_TEXT]
    return _of_check(check, call, prints, calls, **facts)


def _came_back(call: Call | None, failure: BaseException) -> dict[str, Any]:
    """The facts about a failure of a hidden check: only those that came from the submission.

    What the check says itself, in any exception of its own, may be the answer, or tell it; so may a number that it has
    worked out from the result.
    """
    facts: dict[str, Any] = {"kind": "assertion", "looked_at": call is not None and call_within(call) is not None}
    raised = next((one for one in (failure, failure.__cause__) if isinstance(one, failures.SubmissionRaised)), None)
    if raised is not None:
        return facts | {"kind": "exception" if raised is failure else "assertion", **_raised(raised)}
    if isinstance(failure, failures.ArgumentChanged):
        facts["reason"] = str(failure)[:MAX_TEXT]
    result = call.result if call and call.answered else None
    parts = result if isinstance(result, list | tuple) else ()
    passed = (*call.args, *call.kwargs.values()) if call else ()
    if isinstance(failure, Mismatch) and any(failure.actual is one for one in (result, *parts, *passed)):
        is_result = not any(failure.actual is one for one in passed)
        facts["looked_at"] = facts["looked_at"] or not is_result
        shown = repr(failure.actual) if isinstance(failure.actual, FarObject) else failure.shown()[0]
        return facts | {"returned": shown, "is_of_another_type": failure.is_of_another_type}
    if call and call.answered and not isinstance(result, FarObject):
        facts["returned"] = show(result)
    return {"reason": "the answer is wrong"} | facts


def _of_check(check: Check, call: Call | None, prints: str, calls: Sequence[Call] = (), **facts: Any) -> Cause:
    shown = "" if call is None else show_call(call)
    if call is not None and check.runs_item and len(shown) < MAX_TEXT // 2:
        shown += show_earlier(call, calls)
    shown = shown[:MAX_TEXT]
    return _with_prints(Cause(sentence=check.sentence[:MAX_TEXT], call=shown, **facts), prints)


def _first_wrong(call: Call | None, failure: Mismatch, calls: Sequence[Call]) -> tuple[Call | None, Mismatch]:
    """The call whose result is wrong, and the mismatch of it, if the results of several calls were compared at once."""
    actual, expected = failure.actual, failure.expected
    number = failure.number
    if number is None or not isinstance(actual, list | tuple) or not isinstance(expected, list | tuple):
        return call, failure
    of_parts = calls[-len(actual) :]
    if len(of_parts) != len(actual) or any(one.result is not part for one, part in zip(of_parts, actual, strict=True)):
        return call, failure
    return of_parts[number], failure.of_part(number)


def _raised(error: failures.SubmissionRaised, most: int = 500) -> dict[str, Any]:
    kind = error.kind or "Exception"
    return {"exception_type": kind, "exception_message": error.message[:most], "frames": error.frames}


def unwritten(check: Check, failure: BaseException) -> Cause:
    """A name that is not defined, or a stub as it was handed out."""
    topic, _, exercise = check.exercise.partition(".")
    if isinstance(failure, failures.MissingName):
        name, file = failure.message, failure.file or f"{topic}.py"
        return Cause(kind="missing", reason=f"`{name}` is not defined in {file}", names=(name,), file=file)
    # An exercise may span several functions and variables: the stub's own words name the one that was asked for.
    stub = _STUB.search(getattr(failure, "message", ""))
    name = str(failure) if isinstance(failure, failures.UnwrittenValue) else stub[1] if stub else exercise
    return not_written(name)


def not_written(exercise: str) -> Cause:
    """The stub of an exercise, or of a function of it, as it was handed out, by its name without the topic."""
    return Cause(kind="unwritten", reason=f"`{exercise}` is not written yet")


def not_simulated(failure: failures.SubmissionRaised) -> Cause:
    """The submission used something that simulated devices do not have."""
    return Cause(kind="not_simulated", **_raised(failure, 300))


def not_assessed(reason: str) -> Cause:
    """The check cannot be assessed here, or skipped itself."""
    return Cause(kind="not_assessed", reason=reason[:MAX_TEXT])


def timeout(check: Check, desk: Desk, error: failures.SubmissionTimeout) -> Cause:
    """No answer in time.

    Args:
        error: if its text says why, the cause names no line and no time.
    """
    reason = str(error)
    facts: dict[str, Any] = {"reason": reason[:MAX_TEXT], "stair": error.stair}
    if not reason:
        line = desk.stopped_at()
        facts = {"frames": (line,) if line else (), "time": desk.spent_time()}
    return _of_check(check, desk.last_call(), desk.take_prints(), kind="timeout", **facts)


def topic_timeout(time: SpentTime) -> Cause:
    """The topic's time was used up before the check began."""
    return Cause(kind="timeout", stage="topic", reason=f"the topic's {time.limit:g} s are used up", time=time)


def crashed(check: Check, desk: Desk, error: failures.SubmissionCrashed) -> Cause:
    """The process ended, went over a limit, or sent something that is not an answer."""
    facts = _crash(error, desk.memory_limit)
    if isinstance(error, failures.KilledBySystem):
        return Cause(**facts)
    return _of_check(check, desk.last_call(), desk.take_prints(), **facts)


def _crash(error: failures.SubmissionCrashed, memory_limit: int) -> dict[str, Any]:
    if isinstance(error, failures.KilledBySystem):
        return {"kind": "memory_short", "reason": failures.MEMORY_SHORT}
    kind = "no_answer" if isinstance(error, failures.BadReply) else "crash"
    facts: dict[str, Any] = {"kind": kind, "reason": str(error)[:MAX_TEXT] or "ended the process"}
    if isinstance(error, failures.OutOfMemory):
        facts |= {"memory": TooMuchMemory(memory_limit, error.held, error.asked), "frames": error.frames[-1:]}
    return facts


def fault(check: Check, error: BaseException | str) -> Cause:
    """A check with a bug, or one that pytest could not set up: no student loses points.

    Of a hidden check, only the type of the exception and the check's line are kept: the rest may hold the answer.
    """
    if isinstance(error, str):
        return Cause(kind="grader_fault", reason=error[:MAX_MESSAGE])
    path = check.item.path
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = Frame(path.name, lines[-1].lineno or 0, lines[-1].name) if lines else None
    try:
        message = str(error)[:MAX_MESSAGE]
    except Exception:  # an exception of the check's own may be broken, too
        message = ""
    message = "" if check.hidden else message
    if isinstance(error, pytest.skip.Exception):
        why = f" ({message})" if message else ""
        late = f"it skips itself after it has asked the submission{why}: name what it needs with `needs`"
        return Cause(kind="grader_fault", reason=late, check_line=line)
    return Cause(kind="grader_fault", exception_type=type(error).__name__, exception_message=message, check_line=line)


def unusable(check: Check, error: Exception) -> Cause:
    """An answer on which the judge itself failed; the reference solution passes the check."""
    reason = f"sent an answer that the grader cannot use ({type(error).__name__})"
    return Cause(kind="no_answer", sentence=check.sentence[:MAX_TEXT], reason=reason)


def import_failed(file: str, failure: failures.ImportFailure, prints: str, memory_limit: int = 0) -> Cause:
    """The topic's module, in this file, could not be imported.

    Args:
        memory_limit: the memory that it may use (bytes).
    """
    facts: dict[str, Any] = {"stage": "import", "file": file}
    match failure:
        case failures.KilledBySystem():
            facts = _crash(failure, memory_limit)
        case failures.SubmissionCrashed():
            facts |= _crash(failure, memory_limit)
        case failures.SubmissionRaised(kind="SystemExit" | "KeyboardInterrupt"):
            facts |= {"kind": "crash", **_raised(failure, MAX_MESSAGE)}
        case failures.SubmissionRaised():
            facts |= {"kind": "exception", **_raised(failure, MAX_MESSAGE)}
        case _:
            facts |= {"kind": "timeout", "reason": f"import of {file} did not end in time"}
    return _with_prints(Cause(**facts), prints)


def missing_file(file: str, note: str = "") -> Cause:
    """The topic's file is not in the submission; `note` says why, if that is known."""
    return Cause(kind="missing", stage="topic", file=file, reason=note[:MAX_TEXT] or f"{file} is not in the submission")


def blocked(needs: Sequence[str]) -> Cause:
    """Exercises that must pass first have not passed; `needs` are their full names."""
    return Cause(kind="blocked", names=tuple(needs), reason=f"{' and '.join(needs)} must pass first")


def _with_prints(cause: Cause, text: str) -> Cause:
    kept = _TRIGGERED.sub("", _FOLDER.sub(r"\1", text)).rstrip()
    return replace(cause, prints=kept[:MAX_PRINTS], printed=len(kept)) if kept else cause
