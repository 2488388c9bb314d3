"""Weights of topics and letter grades: how a mark is made of points."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course import Course, CourseError, content_hash
from grader.course.marks import MarkPolicy, read_letters
from grader.gradebook import Row
from grader.gradebook.records import Late
from grader.reports.entries import Entry
from grader.results import ExerciseResult, SubmissionResult, total_points

MANIFEST = """[course]
name = "c"
title = "C"
{course}

[[topics]]
name = "a"
title = "A"
{topic}
  [[topics.exercises]]
  name = "one"
  points = 4.0
"""


def policy(tmp_path: Path, course: str = "", topic: str = "") -> MarkPolicy:
    return load(tmp_path, course, topic).marks


def load(tmp_path: Path, course: str = "", topic: str = "") -> Course:
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "course.toml").write_text(MANIFEST.format(course=course, topic=topic))
    return Course.load(tmp_path, complete=False)


def test_without_weights_a_topic_counts_by_its_points() -> None:
    assert MarkPolicy().share([("a.x", 1, 4), ("a.y", 2, 2), ("b.x", 3, 4)]) == 0.6
    assert MarkPolicy().share([("a.x", 0, 0)]) is None


@pytest.mark.parametrize(
    ("weights", "share"),
    [
        ((("a", 3.0), ("b", 1.0)), (3 * 0.25 + 1.0) / 4),
        ((("a", 3.0),), (3 * 0.25 + 1.0) / 4),
        ((("a", 0.0),), 1.0),
        ((("c", 5.0),), (0.25 + 1.0) / 2),
    ],
    ids=["both", "the other has 1", "nothing", "of a topic that is not assessed"],
)
def test_a_weight_says_how_much_a_topic_counts(weights: tuple[tuple[str, float], ...], share: float) -> None:
    assert MarkPolicy(weights=weights).share([("a.x", 1, 4), ("b.x", 2, 2), ("c.x", 0, 0)]) == pytest.approx(share)


def test_a_letter_is_given_from_its_percentage_on(tmp_path: Path) -> None:
    found = policy(tmp_path, "letters = { F = 0, A = 90, B = 79.5 }")
    assert [found.letter(one) for one in (100.0, 90.0, 89.9, 79.5, 79.4, 0.0, None)] == [*"AABBFF", ""]
    assert policy(tmp_path).letter(100.0) == ""


@pytest.mark.parametrize(
    ("scores", "most", "penalty", "letter"),
    [
        ((2249.0,), 2500.0, 0.0, "B"),  # 89.96 %, which is shown as 90.0
        ((89.999,), 100.0, 0.0, "B"),
        ((0.7, 0.1, 0.1), 1.0, 0.0, "A"),  # as floats 0.8999999999999999
        ((0.1, 0.2, 0.6), 1.0, 0.0, "A"),
        ((6.3,), 7.0, 0.0, "A"),
        ((10.0,), 10.0, 0.1, "A"),  # exactly 90 % after a late day
        ((9.999,), 10.0, 0.1, "B"),
        ((11.0,), 10.0, 0.0, "A"),  # with a bonus
    ],
)
@pytest.mark.parametrize("weights", [(), (("a", 1.0),)])
def test_letters_compare_what_is_exact(
    scores: tuple[float, ...], most: float, penalty: float, letter: str, weights: tuple[tuple[str, float], ...]
) -> None:
    parts = tuple(
        ExerciseResult(name=f"a.x{n}", score=score, max=most if n == 0 else 0.0) for n, score in enumerate(scores)
    )
    made = SubmissionResult(submission="ann", score=total_points(scores), max=most, exercises=parts)
    late = Late(1, penalty, "roster") if penalty else None
    policy = MarkPolicy(letters=(("A", 90.0), ("B", 80.0)), weights=weights)
    assert Entry(Row(made, "d", 0.1, late=late), policy=policy).letter == letter


@pytest.mark.parametrize(
    ("course", "topic", "said"),
    [
        ("letters = { A = 190 }", "", "`A` must be a percentage from 0 to 100, not 190"),
        ("letters = { A = true }", "", "`A` must be a percentage"),
        ("letters = { A = 50, B = 50 }", "", "two letters have the same percentage"),
        ('letters = "A"', "", "write a table of letters"),
        ("", "weight = -1.0", "weight must be a number from 0 on, not -1.0"),
        ('resubmissions = "newest"', "", "newest"),
    ],
)
def test_a_value_that_means_nothing_is_refused_with_its_line(
    tmp_path: Path, course: str, topic: str, said: str
) -> None:
    with pytest.raises(CourseError) as error:
        policy(tmp_path, course, topic)
    assert said in str(error.value) and f"course.toml:{4 if course else 9}" in str(error.value)


def test_what_changes_no_result_makes_nothing_be_graded_again(tmp_path: Path) -> None:
    plain = content_hash(load(tmp_path / "course"))
    more = load(tmp_path / "course", 'letters = { A = 90 }\nresubmissions = "best"', "weight = 2.0")
    assert more.marks.weights and content_hash(more) == plain
    assert content_hash(load(tmp_path / "course", "strict_import = true")) != plain


def test_letters_are_sorted_from_the_best_to_the_last() -> None:
    assert read_letters({"C": 1, "A": 3, "B": 2}) == (("A", 3.0), ("B", 2.0), ("C", 1.0))
