"""Generated examples depend on seed and name alone; an endless loop is reported at the same line each time."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from grader.judge import examples
from grader.judge.check import Check
from grader.judge.topic_desk import endless_loop
from grader.results import Frame
from grader.testkit import exercise


@exercise("some.check")
@settings(max_examples=300)
@given(number=st.integers(0, 1 << 40), text=st.text(max_size=5))
def check_of_numbers(submission: Any, number: int, text: str) -> None: ...


@exercise("some.drawing_check")
@given(data=st.data())
def check_that_draws(submission: Any, data: Any) -> None: ...


def test_examples_depend_on_seed_and_name_alone() -> None:
    first = examples.draw(check_of_numbers, 0, "numbers")
    assert first == examples.draw(check_of_numbers, 0, "numbers")
    assert first != examples.draw(check_of_numbers, 1, "numbers")
    assert first != examples.draw(check_of_numbers, 0, "others")


def test_the_first_example_alone_leaves_the_others_to_be_drawn() -> None:
    (first,) = examples.draw(check_of_numbers, 0, "numbers", at_most=1) or []
    drawn = examples.draw(check_of_numbers, 0, "numbers")
    assert drawn is not None and first == drawn[0] and len(drawn) == 300
    assert examples.draw(check_that_draws, 0, "draws", at_most=1) is None


def test_a_check_that_cannot_be_drawn_stays_whole() -> None:
    @given(number=st.integers().map(lambda _: pytest.skip("there is no GPU here")))
    def check_that_skips(submission: Any, number: int) -> None:
        """Skips."""

    item: Any = SimpleNamespace(name="test_it", obj=check_that_skips, function=check_that_skips)
    check = Check(item, "some.exercise", 0)
    try:
        assert check.with_first_example() is check
    except pytest.skip.Exception:
        pytest.fail("it skips whoever asks")
    item.obj = item.function = check_of_numbers
    check = Check(item, "some.exercise", 0)
    alone = check.with_first_example()
    assert alone is not check and len(alone.examples() or []) == 1 and len(check.examples() or []) == 300
    assert check.with_first_example() is check


def test_examples_do_not_depend_on_the_modules_that_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = examples.draw(check_of_numbers, 0, "numbers")
    module = ModuleType("full_of_constants")
    module.__file__ = str(tmp_path / "full_of_constants.py")
    numbers = ", ".join(str(number) for number in range(7_000_000, 7_000_500))
    (tmp_path / "full_of_constants.py").write_text(f"NUMBERS = [{numbers}]\n")
    monkeypatch.setitem(sys.modules, "full_of_constants", module)
    assert examples.draw(check_of_numbers, 0, "numbers") == first


def test_a_failure_becomes_as_small_as_it_can() -> None:
    seen: list[int] = []

    def fails(example: dict[str, Any]) -> bool:
        if example["number"] < 1000:
            return False
        seen.append(example["number"])
        return True

    examples.search(check_of_numbers, 0, "numbers", fails, shrinks=True)
    assert seen[-1] == 1000


def test_a_check_says_by_its_phases_that_nothing_smaller_is_looked_for() -> None:
    def check(number: int) -> None: ...

    drawn = given(number=st.integers())(check)
    assert examples.may_be_shrunk(drawn)
    assert not examples.may_be_shrunk(settings(phases=[Phase.explicit, Phase.generate])(drawn))
    assert not examples.may_be_shrunk(check)


def test_a_check_that_draws_while_it_runs_has_no_examples_and_runs_until_it_fails() -> None:
    assert examples.draw(check_that_draws, 0, "draws") is None
    seen: list[int] = []

    def fails(example: dict[str, Any]) -> bool:
        seen.append(example["data"].draw(st.integers(0, 100)))
        return seen[-1] >= 50

    examples.search(check_that_draws, 0, "draws", fails, shrinks=False)
    first = next(index for index, number in enumerate(seen) if number >= 50)
    assert set(seen[first:]) == {seen[first]}


SOURCE = b"""def helper(x):
    return x + 1


def search(x):
    for i in range(3):
        while x:

            # a comment
            if x > 2:
                x = helper(x)
        y = 0
    return x


def plain(x):
    for i in x:
        x.append(i)
"""


def frame(line: int, function: str) -> Frame:
    return Frame("work.py", line, function, "")


@pytest.mark.parametrize(
    ("frames", "line", "text"),
    [
        ([frame(7, "search")], 7, "while x:"),
        ([frame(10, "search")], 7, "while x:"),
        ([frame(2, "helper"), frame(11, "search")], 7, "while x:"),
        ([frame(12, "search")], 6, "for i in range(3):"),
        ([frame(18, "plain")], 17, "for i in x:"),
        ([frame(2, "helper")], 2, "return x + 1"),
        ([frame(999, "search")], 999, ""),
    ],
)
def test_every_line_of_a_loop_leads_to_the_loops_first_line(frames: list[Frame], line: int, text: str) -> None:
    place = endless_loop(frames, {"work.py": SOURCE})
    assert place is not None
    assert (place.line, place.text) == (line, text)


def test_without_frames_there_is_no_place() -> None:
    assert endless_loop([], {}) is None
