"""The pictures of the shipped course: one for each topic, with a sentence that says what to look for, and all drawn."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from shared import WarmUp

from grader.course import Course, pictured
from grader.intake.submission import Submission
from grader.pictures import Diagram, Grid, Lines, Picture
from grader.reports.drawing import problem_of

COURSE = Course.load(None)


def titles(file: Path) -> list[str]:
    calls = [one for one in ast.walk(ast.parse(file.read_text())) if isinstance(one, ast.Call)]
    named = [one for one in calls if isinstance(one.func, ast.Name) and one.func.id == "picture"]
    return [ast.literal_eval(one.keywords[0].value) for one in named]


@pytest.mark.parametrize("topic", [one.name for one in COURSE.modules])
def test_each_topic_has_a_picture_that_says_what_to_look_for(topic: str) -> None:
    found = titles(COURSE.check_file(topic))
    assert found and all(len(title.partition(": ")[2].split()) >= 4 for title in found), found


@pytest.fixture(scope="module")
def drawn(warm: WarmUp) -> dict[str, tuple[Picture, ...]]:
    """The pictures of each exercise, of the course's own solutions."""
    names = pictured(COURSE)
    files = {f"{one.name}.py": COURSE.solution_file(one.name).read_bytes() for one in COURSE.modules}
    result = warm(pictures=True).of(Submission("somebody", files), *names)
    return {one.name: one.pictures for one in result.exercises if one.name in names}


@pytest.mark.slow
def test_each_is_drawn_of_the_solution(drawn: dict[str, tuple[Picture, ...]]) -> None:
    assert sorted(drawn) == sorted(pictured(COURSE))
    for name, pictures in drawn.items():
        assert pictures, name
        for picture in pictures:
            assert not problem_of(picture, on_a_page=True), (name, picture)


@pytest.mark.slow
def test_a_formula_has_its_gradients_beside_it(drawn: dict[str, tuple[Picture, ...]]) -> None:
    data = drawn["graph.backward"][0].data
    assert isinstance(data, Diagram)
    assert [line.split()[-2:] for line in data.lines if "─ a" in line] == [["2", "21"]] * 2


@pytest.mark.slow
def test_the_graph_that_was_recorded_ends_in_w_and_b(drawn: dict[str, tuple[Picture, ...]]) -> None:
    data = drawn["autograd.logistic_loss"][1].data
    assert isinstance(data, Diagram)
    assert {line[-1] for line in data.lines if not line.endswith("0")} == {"w", "b"}


@pytest.mark.slow
def test_the_resumed_losses_go_on_as_those_that_never_stopped(drawn: dict[str, tuple[Picture, ...]]) -> None:
    data = drawn["checkpoints.save_checkpoint"][0].data
    assert isinstance(data, Lines)
    whole, resumed = data.series.values()
    pairs = list(zip(whole, resumed, strict=True))
    assert all(one is None for _, one in pairs[:12]) and len(pairs) == 24
    assert all(left is not None and right is not None and abs(left - right - 0.05) < 1e-3 for left, right in pairs[12:])


@pytest.mark.slow
def test_rows_come_once_in_an_epoch_and_in_another_order_in_the_next(drawn: dict[str, tuple[Picture, ...]]) -> None:
    data = drawn["datasets.make_loaders"][0].data
    assert isinstance(data, Grid)
    epochs = [list(row) for row in data.values]
    assert all(sorted(one or 0 for one in row) == list(range(24)) for row in epochs) and epochs[0] != epochs[1]


@pytest.mark.slow
def test_the_timeline_has_all_moves_and_one_wait_at_the_end(drawn: dict[str, tuple[Picture, ...]]) -> None:
    data = drawn["devices.train_on"][0].data
    assert isinstance(data, Diagram)
    lanes = {line[:14].strip(): line[14:] for line in data.lines[:3]}
    assert lanes["Python waits"].strip("·") == "╳" == lanes["Python waits"][-1] and lanes["to the GPU"].count("■") > 12


@pytest.mark.slow
def test_the_mask_of_attention_is_seen(drawn: dict[str, tuple[Picture, ...]]) -> None:
    data = drawn["layers.attention"][0].data
    assert isinstance(data, Grid)
    assert all(value == 0 for row, values in enumerate(data.values) for value in list(values)[row + 1 :])
