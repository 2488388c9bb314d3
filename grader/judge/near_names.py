"""Offers the name that a student may have meant: from the submission's own file, where a name is missing or unknown.

Reads text only: submitted code is never run, imported or parsed here.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from grader.judge import explain
from grader.judge.advice import close_names, did_you_mean
from grader.results import CheckResult, ExerciseResult

_MOST_BYTES: Final = 256 << 10
_DEFINED: Final = re.compile(r"^(?:async\s+def|def|class)\s+(\w+)|^(\w+)\s*=[^=]", re.MULTILINE)
_NAME: Final = re.compile(r"(?<![.\w])[^\W\d]\w{1,40}\b")
_NOT_CODE: Final = re.compile(r'(?s)""".*?"""|\'\'\'.*?\'\'\'|#[^\n]*|"[^"\n]*"|\'[^\'\n]*\'')
_UNKNOWN: Final = re.compile(r"name '(\w+)' is not defined")


def with_near_names(result: ExerciseResult, source: bytes, exercises: Collection[str] = ()) -> ExerciseResult:
    """The same result; what it says of an unknown name offers the most similar one of the student's file.

    Args:
        source: the topic's file as it was handed in.
        exercises: names of the topic's exercises: no other exercise is offered for one that is missing.
    """
    if not any(check.cause and check.cause.kind in ("missing", "exception") for check in result.checks):
        return result
    text = source[:_MOST_BYTES].decode("utf-8-sig", "replace")
    return replace(result, checks=tuple(_offer(check, text, exercises) for check in result.checks))


def _offer(check: CheckResult, text: str, exercises: Collection[str]) -> CheckResult:
    cause = check.cause
    if cause is None:
        return check
    advice = ""
    if cause.kind == "missing" and cause.names:
        defined = {name for pair in _DEFINED.findall(text) for name in pair if name} - set(exercises)
        if near := close_names(cause.names[0], defined):
            wrote = " and ".join(f"`{name}`" for name in near)
            advice = f"`{cause.names[0]}` is not defined in {cause.file}: you wrote {wrote}"
    elif cause.exception_type == "NameError" and (unknown := _UNKNOWN.search(cause.exception_message)):
        names = {*_NAME.findall(_NOT_CODE.sub("", text)), *dir(builtins)}
        if near := close_names(unknown[1], names):
            advice = f"`{unknown[1]}` is not defined{did_you_mean(near)}"
    return explain.result(check.name, replace(cause, advice=advice)) if advice else check
