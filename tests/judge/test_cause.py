"""Causes and the messages made of them: bounded facts, and hidden checks that stay hidden."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest
import torch

from grader.border.failures import (
    ImportFailure,
    MissingName,
    SubmissionCrashed,
    SubmissionRaised,
    SubmissionTimeout,
    raised_error,
)
from grader.border.messages import Raised, SentLine
from grader.border.proxies import Call, Remote
from grader.judge import cause as causes
from grader.judge import explain
from grader.results import MAX_TEXT, VERDICT_OF, Cause, Frame
from grader.testkit.compare import Mismatch


class AnyCheck:
    """The attributes of a check that causes are made from."""

    exercise = "vectors.cosine"
    sentence = "Cosines."
    runs_item = False

    def __init__(self, hidden: bool = False) -> None:
        self.hidden = hidden


def check(hidden: bool = False) -> Any:
    return AnyCheck(hidden)


def raised(message: str, *lines: SentLine, kind: str = "ValueError") -> SubmissionRaised:
    return raised_error(Raised(kind, True, message, lines))


def test_a_hidden_check_keeps_back_expected_value_and_reason() -> None:
    wrong = Mismatch("17 where 41 was expected", 17, 41)
    call = Call("f", (5,), {}, result=17, answered=True)
    shown, hidden = (causes.failed(check(hide), call, wrong, "") for hide in (False, True))
    assert (shown.returned, shown.expected, shown.reason) == ("17", "41", "17 where 41 was expected")
    assert (hidden.returned, hidden.expected, hidden.reason) == ("17", "", "")
    assert "41" not in explain.message(hidden)


def test_a_none_that_was_looked_at_is_not_taken_for_one_in_the_result() -> None:
    call = Call("ddp_setup", (0, 1), {}, result=[None, "gloo"], answered=True)
    failure = Mismatch("USE_LIBUV: None where a str was expected", None, "0")
    assert "return`" not in explain.message(causes.failed(check(), call, failure, ""))
    own = Call("f", (), {}, result=None, answered=True)
    forgotten = explain.message(causes.failed(check(), own, Mismatch("None where a str was expected", None, "0"), ""))
    assert forgotten.startswith("your code returned None")


def test_of_several_calls_the_one_that_is_wrong_is_shown() -> None:
    calls = [Call("align_up", (n, 8), {}, result=result) for n, result in ((1, 8), (1000, 992), (9, 16))]
    wrong = Mismatch("at [1]: 992 where 1000 was expected", [8, 992, 16], [8, 1000, 16], number=1)
    found = causes.failed(check(), calls[-1], wrong, "", calls)
    assert (found.call, found.returned, found.expected) == ("align_up(1000, 8)", "992", "1000")
    assert found.reason == "992 where 1000 was expected" and not found.looked_at
    others = causes.failed(check(), calls[-1], wrong, "", calls[1:])
    assert (others.call, others.returned) == ("align_up(9, 8)", "[8, 992, 16]")


def test_what_stays_over_there_is_shown_by_its_class() -> None:
    made = Remote(cast(Any, None), 1, "ndarray")
    object.__setattr__(made, "_made", Call("softmax", (1,), {}))
    wrong = Mismatch("an object of class ndarray where a tensor was expected", made, 1)
    assert causes.failed(check(), None, wrong, "").returned == "<ndarray>"


def test_each_fact_has_its_own_field_and_is_bounded() -> None:
    lines = [SentLine("vectors.py", number, "cosine", "x") for number in (3, -1, 10**30)]
    found = causes.failed(check(), None, raised("m" * 10_000, *lines), "p" * 5_000 + "\n\n")
    assert (found.kind, found.exception_type, len(found.exception_message)) == ("exception", "ValueError", 500)
    assert [frame.line for frame in found.frames] == [3, 0, 0]
    assert (len(found.prints), found.printed) == (1_000, 5_000)
    assert explain.message(found).endswith("… (5000 characters printed)")
    assert len(explain.message(causes.failed(check(), None, AssertionError("a" * 10**6), ""))) == MAX_TEXT


def test_a_number_alone_comes_after_a_call_with_numbers_alone() -> None:
    def first_line(call: Call, reason: str) -> str:
        wrong = Mismatch(reason, call.result, 2)
        return explain.message(causes.failed(check(), call, wrong, "")).splitlines()[0]

    bare = "3 where 2 was expected"
    assert first_line(Call("num_batches", (8, 4, False), {}, result=3), bare) == f"num_batches(8, 4, False): {bare}"
    assert first_line(Call("count", ([50, 3],), {"bias": True}, result=3), bare) == f"count([50, 3], bias=True): {bare}"
    assert first_line(Call("count", (torch.ones(2),), {}, result=3), bare) == bare
    assert first_line(Call("count", (8,), {}, result=3), f"len: {bare}") == f"len: {bare}"
    message = explain.message(causes.failed(check(), Call("half", (8,), {}, result=3), Mismatch(bare, 3, 2), ""))
    assert message.count("half(8)") == 1


def test_a_refusal_of_the_students_own_says_that_the_input_is_valid() -> None:
    def first_line(text: str, *args: object) -> str:
        refused = raised("too long", SentLine("vectors.py", 3, "cosine", text))
        return explain.message(causes.failed(check(), Call("cosine", args, {}), refused, "")).splitlines()[0]

    words = "your code raised ValueError: too long"
    assert first_line('raise ValueError("too long")', 1, 2) == f"{words}, for valid input: cosine(1, 2)"
    assert first_line("if a: raise ValueError(text)", "a" * 200) == f"{words}, for valid input"
    assert first_line("raise", 1, 2) == first_line("y = raised(x)", 1, 2) == words


def test_of_a_warning_no_folder_is_shown() -> None:
    printed = (
        "/tmp/a-sandbox-1/work/training.py:124: UserWarning: Converting a tensor to a scalar may lead to trouble.\n"
        "Detach first. (Triggered internally at /build/torch/csrc/methods.cpp:822.)\n  history.append(float(loss))\n"
        "C:/data/x.py:1: no warning\n"
    )
    found = causes.failed(check(), None, Mismatch("1 where 2 was expected", 1, 2), printed)
    assert found.prints == (
        "training.py:124: UserWarning: Converting a tensor to a scalar may lead to trouble.\n"
        "Detach first.\n  history.append(float(loss))\nC:/data/x.py:1: no warning"
    )


def test_a_missing_name_and_a_stub_have_different_kinds() -> None:
    missing = MissingName("cosine")
    missing.message = "cosine"
    found = causes.unwritten(check(), missing)
    assert (found.kind, found.names, found.file) == ("missing", ("cosine",), "vectors.py")
    assert causes.unwritten(check(), raised("")).kind == "unwritten"
    stubs = ("write `predict` here", "write `Line.fit` here", "write")
    named = [causes.unwritten(check(), raised(text)).reason.partition(" is ")[0] for text in stubs]
    assert named == ["`predict`", "`Line`", causes.unwritten(check(), raised("")).reason.partition(" is ")[0]]


@pytest.mark.parametrize(
    ("failure", "kind", "words"),
    [
        (raised("no x", kind="ImportError"), "exception", "vectors.py cannot be imported: ImportError: no x"),
        (raised("0", kind="SystemExit"), "crash", "vectors.py cannot be imported: SystemExit: 0"),
        (SubmissionTimeout(), "timeout", "import of vectors.py did not end in time"),
        (SubmissionCrashed(""), "crash", "importing vectors.py ended the process"),
        (
            SubmissionCrashed("used more memory than it may"),
            "crash",
            "importing vectors.py used more memory than it may",
        ),
    ],
)
def test_each_way_to_fail_at_import_has_its_kind(failure: ImportFailure, kind: str, words: str) -> None:
    found = causes.import_failed("vectors.py", failure, "")
    assert (found.kind, found.stage, found.file) == (kind, "import", "vectors.py")
    assert explain.message(found) == words
    assert explain.result("a", found).verdict == VERDICT_OF[found.kind]
    assert explain.for_author(found) == words.removeprefix("vectors.py ")


EVIL = "\x1b[2J\x1b]0;title\x07red\x9b31m\u202e\x00 ::error::no"


def test_no_text_of_a_submission_can_act_on_a_terminal() -> None:
    texts = dict.fromkeys(("sentence", "call", "returned", "expected", "reason", "exception_message", "prints"), EVIL)
    frame = Frame(f"a\n{EVIL}.py", 3, f"f\n{EVIL}", f"x\n{EVIL}")
    cause = Cause(kind="exception", exception_type=f"E\n{EVIL}", frames=(frame,), names=(EVIL,), note=EVIL, **texts)
    made = explain.result("a", cause)
    assert made.cause is not None
    for text in (*_texts(msgspec.to_builtins(made.cause)), made.message):
        assert all(c.isprintable() or c == "\n" for c in text), repr(text)
    assert all(text.isprintable() for text in _texts(msgspec.to_builtins(made.cause.frames)))
    assert "red" in made.message


def test_ordinary_text_of_a_cause_is_kept() -> None:
    cause = Cause(kind="assertion", returned="tensor([[1., 2.],\n        [3., 4.]])", prints="naïve ∑ 日本\tx\n")
    assert explain.result("a", cause).cause == cause


def _texts(value: object) -> list[str]:
    """All texts in plain data."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [text for one in inside for text in _texts(one)]
