"""What a student process says that it left out is data: bounded, and never taken at its word."""

from __future__ import annotations

import pytest

from grader.border.failures import BadReply, ImportFailure, SubmissionCrashed, SubmissionTimeout, raised_error
from grader.border.messages import Definitions, FailedStatement, Imported, Raised
from grader.judge.loading import MOST_TRIES, NEXT_SECONDS, LeftOut, load

LATE = SubmissionTimeout()


def test_notes_are_bounded_lines_whatever_a_process_sends() -> None:
    raised = Raised("K\n" * 999, False, "m\n" * 999, ())
    failed = [FailedStatement(-5, 1 << 60, raised), FailedStatement(3, 1, None)] * 500
    lost = [("n\x1b" * 999, number % 7 - 3) for number in range(5000)]
    for source in (b"x = 1\n" * 10, b"# cell 2\nx = 1\n\n# cell 4\ny = 2\n"):
        notes = LeftOut("t.py", source, Imported(failed, lost)).notes()
        assert len(notes) <= 6
        for note in notes:
            assert note.isprintable() and len(note) < 2000


def test_a_number_without_a_statement_explains_nothing() -> None:
    for number in (-1, 1, 1 << 40):
        said = Imported([FailedStatement(1, 1, None)], [("f", number)])
        assert LeftOut("t.py", b"x = 1\n", said).why_lost("f") == ""
    said = Imported([FailedStatement(2, 2, None)], [("f", 0)])
    for source, place in ((b"x = 1\n", "line 2 of t.py"), (b"# cell 4\nx = 1\n", "cell 4, line 1")):
        assert LeftOut("t.py", source, said).why_lost("f").startswith(f"`f` has no value, as {place} took too")


Answer = tuple[ImportFailure | None, Imported]


@pytest.mark.parametrize("failure", [BadReply("junk"), SubmissionCrashed("ended the process")])
def test_what_answers_junk_or_ends_its_process_gets_no_second_try(failure: ImportFailure) -> None:
    tries: list[Definitions | None] = []

    def do_import(definitions: Definitions | None, seconds: float) -> Answer:
        tries.append(definitions)
        return failure, Imported()

    assert load(["f"], 60.0, do_import) == (failure, None)
    assert tries == [None]


def test_statements_that_overran_are_left_out_from_the_beginning_in_every_further_process() -> None:
    """A process that says so for ever, of one line after the other, is believed a few times."""
    asked: list[list[int]] = []

    def do_import(definitions: Definitions | None, seconds: float) -> Answer:
        asked.append(list(definitions.without) if definitions else [])
        if definitions is None:
            return LATE, Imported()
        return None, Imported([FailedStatement(line, line, None) for line in range(1, min(len(asked), last) + 1)])

    last = 2
    failure, found = load(["f"], 60.0, do_import)
    assert failure is LATE and found is not None
    assert asked == [[], [], [1, 2]]
    asked.clear()
    last = 1_000
    assert load(["f"], 60.0, do_import) == (LATE, None)
    assert len(asked) == 1 + MOST_TRIES


def test_if_nothing_answers_only_definitions_are_run_all_within_the_topics_time() -> None:
    given: list[float] = []
    orders: list[Definitions | None] = []

    def do_import(definitions: Definitions | None, seconds: float) -> Answer:
        given.append(seconds)
        orders.append(definitions)
        return LATE, Imported()

    assert load(["f"], 60.0, do_import) == (LATE, None)
    assert orders == [None, Definitions(["f"]), Definitions(["f"], skips_rest=True)]
    assert sum(given) <= 60 and max(given) <= NEXT_SECONDS


def test_without_any_definition_the_first_failure_stays() -> None:
    first, later = (raised_error(Raised(kind, True, "no", ())) for kind in ("ValueError", "NothingLoaded"))

    def do_import(definitions: Definitions | None, seconds: float) -> Answer:
        return later if definitions else first, Imported()

    assert load(["f"], 60.0, do_import) == (first, None)
