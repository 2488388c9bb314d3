"""Offers the name that a student may have meant: from the submission's own file, if a name is missing or unknown.

Reads text only: submitted code is never run, imported or parsed here.
"""

import builtins
import functools
import re
from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from grader.judge import explain
from grader.judge.advice import IMPORTS, close_names, did_you_mean, full_names
from grader.results import CheckResult, ExerciseResult

_MOST_BYTES: Final = 256 << 10
_MOST_NAMES: Final = 2_000
"""Names of a file that are compared: each takes the judge some time, for every check that fails."""
_DEFINED: Final = re.compile(r"^(?:async\s+def|def|class)\s+(\w+)|^(\w+)\s*=[^=]", re.MULTILINE)
_NAME: Final = re.compile(r"(?<![.\w])[^\W\d]\w{1,40}\b")
_NOT_CODE: Final = re.compile(r'(?s)""".*?"""|\'\'\'.*?\'\'\'|#[^\n]*|"[^"\n]*"|\'[^\'\n]*\'')
_UNKNOWN: Final = re.compile(r"name '(\w+)' is not defined")


def with_near_names(
    result: ExerciseResult, source: bytes, exercises: Collection[str] = (), topics: Collection[str] = ()
) -> ExerciseResult:
    """The same result, in which a message about an unknown name offers the most similar one of the student's file.

    Args:
        source: the topic's file as it was handed in.
        exercises: names of the topic's exercises: no other exercise is offered for one that is missing.
        topics: the course's modules, of which one is offered for a module that does not exist.
    """
    if not any(check.cause and check.cause.kind in ("missing", "exception") for check in result.checks):
        return result
    return replace(result, checks=tuple(_offer(check, source, exercises, topics) for check in result.checks))


@functools.lru_cache(maxsize=16)
def names_in(source: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names that a file defines at its top level, and all names in its code; the first `_MOST_NAMES` of each."""
    text = source[:_MOST_BYTES].decode("utf-8-sig", "replace")
    defined = dict.fromkeys(name for pair in _DEFINED.findall(text) for name in pair if name)
    names = dict.fromkeys(_NAME.findall(_NOT_CODE.sub("", text)))
    return tuple(defined)[:_MOST_NAMES], tuple(names)[:_MOST_NAMES]


def _offer(check: CheckResult, source: bytes, exercises: Collection[str], topics: Collection[str]) -> CheckResult:
    cause = check.cause
    if cause is None:
        return check
    advice = ""
    if cause.kind == "missing" and cause.names:
        defined, _ = names_in(source)
        if near := close_names(cause.names[0], set(defined) - set(exercises)):
            wrote = " and ".join(f"`{name}`" for name in near)
            advice = f"`{cause.names[0]}` is not defined in {cause.file}: you wrote {wrote}"
    elif cause.exception_type == "NameError" and (unknown := _UNKNOWN.search(cause.exception_message)):
        _, names = names_in(source)
        near = full_names(unknown[1]) or close_names(unknown[1], {*names, *dir(builtins)})
        if near and unknown[1] not in IMPORTS:
            advice = f"`{unknown[1]}` is not defined{did_you_mean(near)}"
    elif cause.exception_type == "ModuleNotFoundError":
        module = cause.exception_message.rpartition("named ")[2].strip("'")
        if near := close_names(module, topics):
            advice = f"there is no module `{module}`{did_you_mean(near)}"
    return explain.with_cause(check, replace(cause, advice=advice)) if advice else check
