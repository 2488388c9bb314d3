"""The first sentence about a suite's failing test, where students are: in a course without its solutions."""

import functools
import itertools
from pathlib import Path

import pytest
from judge_here import grade_here

MANIFEST = """
[course]
name = "work"
title = "Work"
credit = "per-check"

[suite]
modules = ["work"]

[[topics]]
name = "work"
title = "Work"

[[topics.exercises]]
name = "all"
points = 20
tests = ["test_work.py"]
"""
TESTS = """
import unittest

import numpy as np
import pytest
import torch
import work
from work import EmptyError


def is_near(a, b):
    return np.allclose(a, b)


def test_alike():
    assert torch.allclose(work.ones(), torch.ones(2))


def test_in_a_helper():
    assert is_near(work.ones().numpy(), np.ones(2))


def test_shape():
    assert work.ones().shape == (2,), "one for each"


def test_words():
    assert work.words("A b") == ["a", "b"]


def test_count():
    assert len(work.words("A b")) == 2 or not "shown"


def test_apart():
    assert not torch.equal(work.ones(), torch.zeros(2))
    assert work.words("A").count("a"), "one of them"


def test_largest_of_none():
    with pytest.raises(EmptyError, match="no values"):
        work.largest([])


def test_largest_key_error():
    with pytest.raises(KeyError):
        work.largest([])


def test_largest_value_error():
    with pytest.raises(ValueError):
        work.largest([])


class TestWork(unittest.TestCase):
    def test_equal(self):
        self.assertTrue(torch.equal(work.ones(), torch.ones(2)), "not ones")

    def test_is_large(self):
        self.assertTrue(work.largest([3]) > 2)

    def test_raises(self):
        with self.assertRaises(work.EmptyError):
            work.largest([])
"""
RIGHT = """
import torch


class EmptyError(KeyError, ValueError):
    pass


def ones():
    return torch.ones(2)


def words(text):
    return text.lower().split()


def largest(values):
    if not values:
        raise EmptyError("no values")
    return max(values)
"""
Change = tuple[str, str]
TWOS = ("return torch.ones(2)", "return 2 * torch.ones(2)")
DOUBLES = ("return torch.ones(2)", "return torch.ones(2).double()")
PRINTS = ("return text.lower().split()", "print(text.lower().split())")
TUPLE = ("return text.lower().split()", "return tuple(text.lower().split())")
LOOSE = ("return text.lower().split()", "text.lower().split()")
MAP = ("return text.lower().split()", "return map(str.lower, text.split())")
NO_EXCEPTION = ('raise EmptyError("no values")', "return 0")
UNWRITTEN = ('if not values:\n        raise EmptyError("no values")', 'raise NotImplementedError("write it")')
SENTENCES = (
    (TWOS, "alike", "Alike: 2 of 2 values differ, the first at [0]: 2.0 where 1.0 was expected"),
    (TWOS, "in_a_helper", "In a helper: 2 of 2 values differ, the first at [0]: 2.0 where 1.0 was expected"),
    (TWOS, "TestWork.equal", "Equal: not ones: 2 of 2 values differ, the first at [0]: 2.0 where 1.0 was expected"),
    (DOUBLES, "alike", "Alike: dtype torch.float64 where torch.float32 was expected"),
    (("ones(2)", "ones(3)"), "shape", "Shape: one for each: `work.ones().shape` is (3) where (2,) was"),
    (PRINTS, "words", "your code returned None: line 14 prints, and does not return: write `return`"),
    (LOOSE, "words", "your code returned None: line 14 makes a value: write `return` before it"),
    (("return text.lower()", "return text"), "apart", "Apart: one of them: `work.words('A').count('a')` is 0"),
    (TUPLE, "words", "Words: words('A b') gives ('a', 'b') where ['a', 'b'] was expected: it is no list: `list(...)`"),
    (MAP, "count", "this answer cannot be used: TypeError: object of type 'map' has no len(): `list(...)` makes a"),
    ((".split()", "\n"), "count", "Count: `len(work.words('A b')) == 2 or not 'shown'` is false: "),
    (NO_EXCEPTION, "largest_of_none", "Largest of none: no exception, where EmptyError was expected"),
    (NO_EXCEPTION, "TestWork.raises", "Raises: no exception, where EmptyError was expected"),
    (("no values", "x"), "largest_of_none", "Largest of none: the exception says \"'x'\", where"),
    (("(KeyError, ValueError)", "(KeyError)"), "largest_value_error", "Largest value error: it raises EmptyE"),
    (("raise EmptyError", "raise Emptier"), "largest_of_none", "`Emptier` is not defined"),
    (UNWRITTEN, "TestWork.raises", "`all` is not written yet"),
    (("max(values)", "2"), "TestWork.is_large", "Is large: `work.largest([3]) > 2` is False"),
)
"""A change of the right answer, a test that fails then, and how its message begins."""


def together() -> list[tuple[Change, ...]]:
    """All changes in as few answers as there are of one function; `largest` is also what it raises."""
    of: dict[str, list[Change]] = {"ones": [], "words": [], "largest": []}
    for change in dict.fromkeys(change for change, *_ in SENTENCES):
        (part,) = (one for one in RIGHT.split("\n\n\n") if change[0] in one)
        of[next((name for name in of if f"def {name}" in part), "largest")].append(change)
    return [tuple(one for one in some if one) for some in itertools.zip_longest(*of.values())]


def changed(*changes: Change) -> str:
    return functools.reduce(lambda text, change: text.replace(*change), changes, RIGHT)


ANSWERS = together()


@pytest.mark.slow
def test_sentence_says_what_differs_and_what_to_do(tmp_path: Path) -> None:
    files = {"course.toml": MANIFEST, "tests/test_work.py": TESTS, "exercises/work.py": "import torch"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    right, *wrong = grade_here(tmp_path, {"work": RIGHT}, *({"work": changed(*changes)} for changes in ANSWERS))
    assert [check.message for one in right.exercises for check in one.checks if check.verdict != "passed"] == []
    for result, changes in zip(wrong, ANSWERS, strict=True):
        messages = {one.name: one.message for one in result.exercises[0].checks}
        for change, test, sentence in SENTENCES:
            assert change not in changes or messages[test].startswith(sentence), (change, messages[test])
