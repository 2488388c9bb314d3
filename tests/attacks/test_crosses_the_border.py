"""Answers that a check uses before it compares them: iterated, computed with, handed on to the next call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from arena import HERE, LIMITS, Arena, kinds_of

from grader.grading.protocol import WorkerOptions
from grader.intake.find import open_submission
from grader.intake.submission import Submission

COURSE = HERE / "course"


@pytest.fixture(scope="module")
def arena_of_borders(arenas: list[Arena]) -> Iterator[Arena]:
    """A worker for the course beside this file."""
    honest = Submission("honest", {"borders.py": (COURSE / "solutions" / "borders.py").read_bytes()})
    arena = Arena(WorkerOptions(course=str(COURSE), limits=LIMITS, misconceptions=False), honest)
    yield arena
    arena.close()


@pytest.fixture
def borders(arena_of_borders: Arena, request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_of_borders.after(request.session) as arena:
        yield arena


@pytest.mark.parametrize(
    ("attack", "exercise", "kinds"),
    [
        ("peeks_at_the_next_call", "encode", {"failed"}),
        ("peeks_at_facts", "is_positive", {"failed", "crashed"}),
        ("endless_stream", "stream", {"timeout", "crashed"}),
        ("heavy_stream", "stream", {"crashed"}),
        ("stuck_stream", "stream", {"timeout"}),
        ("stream_of_itself", "stream", {"timeout", "crashed", "failed"}),
        ("vast_view", "positive", {"crashed"}),
        ("vast_within_limits", "positive", {"crashed"}),
    ],
)
def test_it_costs_that_exercise(borders: Arena, attack: str, exercise: str, kinds: set[str]) -> None:
    folder = HERE / "submissions" / "borders" / attack
    result = borders.attack(open_submission(folder, ["borders"]).read())
    found = {one.name.partition(".")[2]: kinds_of(one) for one in result.exercises}
    assert found.pop(exercise) - {"passed"} <= kinds, result
    assert set().union(*found.values()) == {"passed"}
    assert (result.score, result.max) == (3, 4)
    if attack == "peeks_at_facts":  # each of the four facts, and not one of them for another
        facts = [check for one in result.exercises for check in one.checks if "follow" in check.name]
        assert facts and all(check.verdict != "passed" for check in facts)
