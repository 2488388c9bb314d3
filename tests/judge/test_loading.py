"""How a topic is loaded in two tries at most; what a student process says of it is data: bounded, never believed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.failures import (
    BadReply,
    ImportFailure,
    KilledBySystem,
    OutOfMemory,
    SubmissionCrashed,
    SubmissionTimeout,
    raised_error,
)
from grader.border.messages import (
    MOST_FAILED,
    MOST_LOST,
    MOST_SKIPPED,
    NOTHING_LOADED,
    FailedStatement,
    Imported,
    LoadOrder,
    Raised,
    StatementPlace,
)
from grader.judge.loading import LeftOut, Loaded, load, place_of

FILE = "t.py"
RAISED = Raised("ValueError", True, "no", ())
Answer = tuple[ImportFailure | None, Imported, StatementPlace | None]


def failed(
    number: int, first: int = 1, last: int = 1, raised: Raised | None = None, file: str = FILE
) -> FailedStatement:
    return FailedStatement((file, number), first, last, raised)


def left_out(source: bytes, imported: Imported) -> LeftOut:
    return LeftOut(FILE, {FILE: source}, imported)


def test_notes_are_bounded_lines_whatever_a_process_sends() -> None:
    raised = Raised("K\n" * 999, False, "m\n" * 999, ())
    all_failed = [failed(0, -5, 1 << 60, raised, "no\nsuch.py" * 999), failed(-3, 3, 1)] * 10
    lost = [("n\x1b" * 999, number % 7 - 3) for number in range(200)]
    for source in (b"x = 1\n" * 10, b"# cell 2\nx = 1\n\n# cell 4\ny = 2\n"):
        notes = left_out(source, Imported(all_failed, lost)).notes()
        assert len(notes) <= 6
        for note in notes:
            assert note.isprintable() and len(note) < 2000


@pytest.mark.parametrize(
    "many",
    [
        Imported([failed(1)] * (MOST_FAILED + 1)),
        Imported([], [("x", 0)] * (MOST_LOST + 1)),
        Imported([], [("x" * 1_001, 0)]),
        Imported([], [], [(FILE, 1)] * (MOST_SKIPPED + 1)),
    ],
)
def test_longer_lists_are_refused_where_they_are_received(many: Imported) -> None:
    with pytest.raises(WireError):
        wire.unpack(wire.pack(many), Imported)


def test_a_number_without_a_statement_explains_nothing() -> None:
    for number in (-1, 1, 1 << 40):
        assert left_out(b"x = 1\n", Imported([failed(0)], [("f", number)])).why_lost("f") == ""
    said = Imported([failed(0, 2, 2)], [("f", 0)])
    for source, place in ((b"x = 1\n", "line 2 of t.py"), (b"# cell 4\nx = 1\n", "cell 4, line 1")):
        assert left_out(source, said).why_lost("f").startswith(f"`f` has no value, as {place} took too")


def test_a_statement_of_another_module_is_named_with_its_file() -> None:
    said = Imported([failed(0, 2, 3, RAISED, "helpers.py")], [("TABLE", 0)])
    found = LeftOut(FILE, {FILE: b"x = 1\n", "helpers.py": b"# cell 3\ny = 2\n"}, said)
    assert found.notes()[0].startswith(
        "helpers.py: cell 3 raised ValueError: no: left out, and with it TABLE; all else"
    )
    assert found.why_lost("TABLE") == "`TABLE` has no value, as cell 3, line 1 raised ValueError: no"


def test_an_import_that_fails_is_one_note_with_all_its_names() -> None:
    said = Imported([failed(0, 2, 2, RAISED), failed(0, 2, 2, RAISED)], [("one", 0), ("other", 1)])
    (note,) = left_out(b"x = 1\n", said).notes()
    assert "line 2 raised ValueError: no: left out, and with it one, other; all else" in note


# ---------------------------------------------------------------- two tries


class Tries:
    """Answers each try in turn, and keeps the orders."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = [*answers]
        self.orders: list[LoadOrder] = []
        self.seconds: list[float] = []

    def __call__(self, order: LoadOrder, seconds: float) -> Answer:
        self.orders.append(order)
        self.seconds.append(seconds)
        return self.answers.pop(0)

    def load(self, files: Mapping[str, bytes] = {FILE: b"x = 1\n"}) -> Loaded:
        return load("t", files, LoadOrder(["f"]), 60.0, self)


LAST = (FILE, 3)


@pytest.mark.parametrize(
    "failure", [BadReply("junk"), KilledBySystem("short"), OutOfMemory(asked=8), raised_error(RAISED)]
)
def test_junk_a_short_machine_and_an_exception_get_no_second_try(failure: ImportFailure) -> None:
    tries = Tries((failure, Imported(), LAST))
    assert tries.load().failure is failure
    assert len(tries.orders) == 1


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (SubmissionCrashed("ended the process with exit code 0"), "ended the process with exit code 0"),
        (OutOfMemory(held=1 << 30), "used more memory than it may"),
        (SubmissionTimeout(), "took too much time"),
    ],
)
def test_the_statement_that_ends_its_process_is_left_out_of_the_second_try(failure: ImportFailure, words: str) -> None:
    tries = Tries((failure, Imported(), LAST), (None, Imported([failed(3)], [], [(FILE, 5)]), (FILE, 9)))
    loaded = tries.load()
    assert [order.without for order in tries.orders] == [[], [LAST]]
    assert loaded.failure is None and loaded.left_out is not None
    assert loaded.left_out.notes()[0].startswith(f"t.py: line 1 {words}: left out")
    assert loaded.order == LoadOrder(["f"], 0.0, [LAST, (FILE, 5)])


def test_the_second_try_is_the_last_and_both_fit_into_the_topics_time() -> None:
    second = SubmissionCrashed("ended the process with exit code 3")
    tries = Tries((SubmissionTimeout(), Imported(), LAST), (second, Imported(), (FILE, 4)))
    assert tries.load().failure is second
    assert tries.seconds == [45.0, 60.0], "what is left of them, in the second"
    assert tries.orders[0].seconds == 45.0


@pytest.mark.parametrize("first", [SubmissionCrashed("ended the process"), SubmissionTimeout()])
def test_where_that_leaves_nothing_the_end_is_the_reason(first: ImportFailure) -> None:
    nothing = raised_error(NOTHING_LOADED)
    assert Tries((first, Imported(), LAST), (nothing, Imported(), LAST)).load().failure is first
    assert isinstance(Tries((nothing, Imported(), LAST)).load().failure, SubmissionTimeout)


def test_what_ended_before_any_statement_has_failed() -> None:
    failure = SubmissionCrashed("ended the process")
    assert Tries((failure, Imported(), None)).load().failure is failure


def test_a_file_of_which_all_was_run_has_no_notes() -> None:
    loaded = Tries((None, Imported(), LAST)).load()
    assert (loaded.failure, loaded.left_out, loaded.order) == (None, None, LoadOrder(["f"]))


@pytest.mark.parametrize("text", ["", "x t.py", "3 no_such.py", "-1 t.py", "9999999999 t.py", "\ufffd" * 9, "3t.py"])
def test_a_note_that_names_no_statement_is_none(text: str) -> None:
    assert place_of(text, {FILE: b""}) is None
    assert place_of("3 t.py", {FILE: b""}) == LAST
