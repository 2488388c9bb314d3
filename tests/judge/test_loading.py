"""What a student process says that it left out is data: bounded, and never taken at its word."""

from __future__ import annotations

import pytest

from grader.border.messages import (
    Definitions,
    FailedStatement,
    ImportBadReply,
    ImportCrashed,
    Imported,
    ImportFailure,
    ImportRaised,
    ImportTimeout,
    Raised,
)
from grader.judge import explain
from grader.judge.loading import MOST_TRIES, Outcome, Partial, load
from grader.results import Cause, ExerciseResult

WANTED = Definitions(["f"])


def partial(imported: Imported) -> Partial:
    return Partial("t.py", ImportRaised("NameError", "x\x1b[31m\n" * 999), WANTED, imported)


def test_notes_are_bounded_lines_whatever_a_process_sends() -> None:
    raised = Raised("K\n" * 999, False, "m\n" * 999, ())
    failed = [FailedStatement(-5, 1 << 60, raised), FailedStatement(3, 1, None)] * 500
    lost = [("n\x1b" * 999, number % 7 - 3) for number in range(5000)]
    left_out = [(-1, 5), (7, 3), (1, 1 << 62), (2, 9_999_999)] * 5000
    for source in (b"x = 1\n" * 10, b"# cell 2\nx = 1\n\n# cell 4\ny = 2\n"):
        notes = partial(Imported(failed, left_out, lost)).notes(source)
        assert len(notes) <= 6
        for note in notes:
            assert note.isprintable() and len(note) < 2000


def test_a_number_without_a_statement_explains_nothing() -> None:
    cause = Cause(kind="missing", names=("f",), file="t.py", reason="`f` is not defined in t.py")
    result = ExerciseResult(name="t.f", score=0, max=1, checks=(explain.result("a", cause),))
    for number in (-1, 1, 1 << 40):
        said = Imported([FailedStatement(1, 1, None)], [], [("f", number)])
        assert partial(said).explain_lost(result, b"x = 1\n") == result
    said = Imported([FailedStatement(2, 2, None)], [], [("f", 0)])
    for source, place in ((b"x = 1\n", "line 2 of t.py"), (b"# cell 4\nx = 1\n", "cell 4, line 1")):
        explained = partial(said).explain_lost(result, source).checks[0].message
        assert explained.startswith(f"`f` has no value, as {place} did")


@pytest.mark.parametrize("failure", [ImportBadReply("junk"), ImportCrashed("ended the process")])
def test_what_answers_junk_or_ends_its_process_gets_no_second_try(failure: ImportFailure) -> None:
    tries: list[Definitions | None] = []

    def do_import(definitions: Definitions | None, seconds: float) -> Outcome:
        tries.append(definitions)
        return Outcome(failure)

    assert load("t", lambda: WANTED, 60.0, do_import) == (failure, None)
    assert tries == [None]


def test_what_never_ends_is_left_out_line_by_line_within_the_topics_time() -> None:
    given: list[float] = []
    asked: list[list[int]] = []

    def do_import(definitions: Definitions | None, seconds: float) -> Outcome:
        given.append(seconds)
        asked.append(list(definitions.without) if definitions else [])
        return Outcome(ImportTimeout(), place=len(given))

    assert load("t", lambda: WANTED, 60.0, do_import) == (ImportTimeout(), None)
    assert asked == [[], [], [2], [2, 3]] and len(given) == MOST_TRIES
    assert sum(given) <= 60


def test_where_it_is_unknown_what_did_not_end_the_first_failure_stays() -> None:
    def do_import(definitions: Definitions | None, seconds: float) -> Outcome:
        return Outcome(ImportTimeout() if definitions else ImportRaised("ValueError", "no"))

    assert load("t", lambda: WANTED, 60.0, do_import) == (ImportRaised("ValueError", "no"), None)
