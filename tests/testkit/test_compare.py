"""Comparisons: exact in types, close in numbers, every mismatch in words."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from judge_here import ServiceHere
from torch import nn

from grader.border.channel import Channel
from grader.border.failures import MissingName, SubmissionRaised, exception_of
from grader.border.messages import Raised
from grader.border.proxies import Remote
from grader.border.service import Service
from grader.testkit import assert_close, assert_equal, assert_that, raises
from grader.testkit.compare import Mismatch

T = torch.tensor
N = np.array


def remote(kind: str = "Linear") -> Remote:
    module = type(torch)("nothing")
    return Remote(Channel(ServiceHere(Service(module, frozenset()))), 0, kind)


SAME = [
    (1, 1),
    (True, True),
    (None, None),
    ("a", "a"),
    (b"a", b"a"),
    (1.5, 1.5),
    (math.nan, math.nan),
    (math.inf, math.inf),
    (1 + 2j, 1 + 2j),
    ([1, (2.0, "x")], [1, (2.0, "x")]),
    ({"a": 1, "b": T([1.0])}, {"b": T([1.0]), "a": 1}),
    (torch.float16, torch.float16),
    (torch.device("cpu"), torch.device("cpu")),
    (torch.Size([2]), torch.Size([2])),
    (T([1, 2]), T([1, 2])),
    (T([math.nan, math.inf]), T([math.nan, math.inf])),
    (torch.zeros(0, 3), torch.zeros(0, 3)),
    (torch.zeros(2, 3).T, torch.zeros(3, 2)),
    (T([1.0], requires_grad=True), T([1.0])),
    (nn.Parameter(T([1.0])), T([1.0])),
    (T([True, False]), T([True, False])),
    (T([1 + 1j]), T([1 + 1j])),
    (N([1.0, math.nan]), N([1.0, math.nan])),
    (N([1, 2], dtype=">i8"), N([1, 2])),
    (1.5, np.float64(1.5)),
    (2, np.int32(2)),
    (True, np.bool_(True)),
    ({1: [2.0]}, {np.int64(1): [np.float32(2)]}),
    (np.float64(2), N(2.0)),
    (Path("a/b"), Path("a/b")),
]

DIFFERENT = [
    (True, 1, "a bool where an int was expected"),
    (1, True, "an int where a bool was expected"),
    (1, 1.0, "an int where a float was expected"),
    (1.0, 1, "a float where an int was expected"),
    (None, 0, "None where an int was expected"),
    (0, None, "an int where None was expected"),
    ("1", 1, "a str where an int was expected"),
    (b"a", "a", "a bytes where a str was expected"),
    ((1, 2), [1, 2], "a tuple where a list was expected"),
    (2.0, T(2.0), "a float where a tensor of shape () was expected"),
    (T(2.0), 2.0, "a tensor of shape () where a float was expected"),
    (T(True), True, "a tensor of shape () where a bool was expected"),
    ([1], [1, 2], "1 item where 2 were expected: the last one is missing"),
    ([3, 4], [1, 2, 3, 4], "2 items where 4 were expected: the first 2 are missing"),
    ([4, 3], [1, 2, 3, 4], "2 items where 4 were expected"),
    ([], [1], "0 items where 1 was expected"),
    ([1, 2], [], "2 items where 0 were expected"),
    ({}, {"a": 1}, "0 entries where 1 was expected"),
    ({"a": 1}, {"a": 1, "b": 2}, "1 entry where 2 were expected"),
    ([1, [2, 4]], [1, [2, 3]], "at [1][1]: 4 where 3 was expected"),
    ({"a": {"b": 1}}, {"a": {"b": 2}}, "at ['a']['b']: 1 where 2 was expected"),
    ({"a": 1}, {"b": 1}, "keys ['a'] where ['b'] were expected"),
    ({1: 0}, {True: 0}, "keys"),
    (2, 3, "2 where 3 was expected"),
    ("a", "b", "'a' where 'b' was expected"),
    (math.nan, 1.0, "nan where 1.0 was expected"),
    (1.0, math.nan, "1.0 where nan was expected"),
    (math.inf, -math.inf, "inf where -inf was expected"),
    (1e308, math.inf, "1e+308 where inf was expected"),
    (torch.float16, torch.float32, "torch.float16 where torch.float32 was expected"),
    (
        T([1.0]),
        T([[1.0]]),
        "shape (1,) where (1, 1) was expected: the numbers are right, with a dimension of size 1 too f",
    ),
    (
        T([[1], [2]]),
        T([1, 2]),
        "shape (2, 1) where (2,) was expected: the numbers are right, with a dimension of size 1 t",
    ),
    (T([[1, 2, 3], [4, 5, 6]]), T([[1, 4], [2, 5], [3, 6]]), "(3, 2) was expected: rows and columns are exchanged"),
    (T([[1, 2, 3], [4, 5, 6]]), T([[1, 2], [3, 4], [5, 6]]), "shape (2, 3) where (3, 2) was expected"),
    (T([1, 2]), T([1.0, 2.0]), "dtype torch.int64 where torch.float32 was expected"),
    (T([1.0]).double(), T([1.0]), "dtype torch.float64 where torch.float32 was expected"),
    (torch.zeros(0), torch.zeros(0, 3), "shape (0,) where (0, 3) was expected"),
    (T([1.0, 2.0, 4.0]), T([1.0, 3.0, 5.0]), "2 of 3 values differ, the first at [1]: 2.0 where 3.0 was expected"),
    (T([[1, 2], [3, 5]]), T([[1, 2], [3, 4]]), "1 of 4 values differs, the first at [1, 1]: 5 where 4 was expected"),
    (T([math.nan]), T([0.0]), "1 of 1 value differs, the first at [0]: nan where 0.0 was expected"),
    (T(1.0), T(2.0), "1.0 where 2.0 was expected"),
    (T([1.0]).double(), T([1.0]).double() + 3e-7, "1 where 1.0000003 was expected"),
    (T(1.0).double(), T(1.0).double() + 3e-7, "1 where 1.0000003 was expected"),
    (1.0, 1.0 + 3e-7, "1 where 1.0000003 was expected"),
    (0.9, 0.3, "0.9 where 0.3 was expected, 3 times too large"),
    (T(0.25), T(0.5), "0.25 where 0.5 was expected, 2 times too small"),
    (-0.3, 0.3, "-0.3 where 0.3 was expected, with the wrong sign"),
    (0.9, 0.4, "0.9 where 0.4 was expected"),
    (T([True]), T([False]), "True where False was expected"),
    (T([[1.0, 2.0], [3.0, 4.0]]), T([[1.0, 3.0], [2.0, 4.0]]), "2.0 where 3.0 was expected; rows and columns are exch"),
    (T([1, 2, 3]), T([3, 2, 1]), "1 where 3 was expected; the numbers are the right ones, in another order"),
    (T([1.0, -2.0]), T([-1.0, 2.0]), "1.0 where -1.0 was expected; the sign is wrong everywhere"),
    (T([3.0, 6.0]), T([1.0, 2.0]), "3.0 where 1.0 was expected; all are 3 times too large"),
    (T([1.0, 2.0]), T([4.0, 8.0]), "1.0 where 4.0 was expected; all should be 4 times as large"),
    (T([1.0, 2.0]), T([2.5, 5.0]), "1.0 where 2.5 was expected; the largest difference is 3.0"),
    (T([0.0, 0.0]), T([2.5, 5.0]), "0.0 where 2.5 was expected; the largest difference is 5.0"),
    (T([1 + 1j]), T([1 - 1j]), "1 of 1 value differs"),
    (N([1.0, 2.0]), T([1.0, 2.0]), "an array of shape (2,) where a tensor of shape (2,) was expected"),
    (N([1.0]), [1.0], "an array of shape (1,) where a list was expected"),
    (N([1.0], dtype="f4"), N([1.0]), "dtype float32 where float64 was expected"),
    (np.float32(1), np.float64(1), "dtype float32 where float64 was expected"),
    (
        N([1, 2]),
        N([[1, 2]]),
        "shape (2,) where (1, 2) was expected: the numbers are right, with a dimension of size 1 t",
    ),
    (N([3.0, 6.0]), N([1.0, 2.0]), "3.0 where 1.0 was expected; all are 3 times too large"),
    (N([1], dtype="u8"), N([2], dtype="u8"), "1 of 1 value differs, the first at [0]: 1 where 2 was expected"),
    (np.float64(1), 1, "a float64 where an int was expected"),
    (np.bool_(True), 1, "a bool where an int was expected"),
    (np.float64(2), 2.0, "a float64 where a float was expected"),
    (Path("a"), "a", "where a str was expected"),
    (Path("a"), Path("b"), "Path('a') where Path('b') was expected"),
]


@pytest.mark.parametrize(("actual", "expected"), SAME, ids=repr)
def test_equal_values_pass(actual: Any, expected: Any) -> None:
    assert_equal(actual, expected)
    assert_close(actual, expected)


@pytest.mark.parametrize(("actual", "expected", "words"), DIFFERENT, ids=repr)
def test_every_mismatch_is_put_into_words(actual: Any, expected: Any, words: str) -> None:
    for compare in (assert_equal, assert_close):
        with pytest.raises(Mismatch) as caught:
            compare(actual, expected)
        assert words in caught.value.reason
        assert (caught.value.actual is actual, caught.value.expected is expected) == (True, True)


def test_a_handle_is_no_value() -> None:
    with pytest.raises(Mismatch) as caught:
        assert_close([remote("float")], [1.0])
    assert caught.value.reason == "at [0]: an object of class float where a float was expected"


def test_a_function_is_named_as_one() -> None:
    with pytest.raises(Mismatch) as caught:
        assert_close((remote("builtin_function_or_method"), 1), (1, 1))
    assert caught.value.reason == "at [0]: a function where an int was expected"


@pytest.mark.parametrize(
    ("actual", "expected", "is_of_another_type"),
    [
        (1.0, 1, True),
        ((2, "1"), (1, 1), True),
        ([T([1])], [T([1.0])], True),
        ((remote("function"), 1), (1, 1), True),
        ([None, 2], [T(1.0), 3], False),
        ([1, 2], [1, 3], False),
    ],
)
def test_a_part_of_another_type_makes_the_whole_so(actual: Any, expected: Any, is_of_another_type: bool) -> None:
    with pytest.raises(Mismatch) as caught:
        assert_equal(actual, expected)
    assert caught.value.is_of_another_type is is_of_another_type


def test_what_is_compared_opens_the_message() -> None:
    with pytest.raises(Mismatch, match=r"^the second gradient: 1 where 2 was expected"):
        assert_equal(1, 2, what="the second gradient")


@pytest.mark.parametrize(
    ("dtype", "close", "far"),
    [
        (torch.float16, 1e-3, 1e-2),
        (torch.bfloat16, 1e-2, 1e-1),
        (torch.float32, 1e-5, 1e-2),
        (torch.float64, 1e-8, 1e-5),
        (torch.complex64, 1e-5, 1e-2),
    ],
)
def test_closeness_depends_on_the_dtype(dtype: torch.dtype, close: float, far: float) -> None:
    one = torch.ones(3, dtype=dtype)
    assert_close(one + close, one)
    with pytest.raises(Mismatch):
        assert_close(one + far, one)
    with pytest.raises(Mismatch):
        assert_equal(one + max(close, torch.finfo(dtype).eps), one)


def test_whole_numbers_are_never_merely_close() -> None:
    with pytest.raises(Mismatch):
        assert_close(T([10**9 + 1]), T([10**9]))
    with pytest.raises(Mismatch):
        assert_close(10**9 + 1, 10**9)


def test_given_tolerances_hold_for_floats_and_tensors() -> None:
    assert_close(1.05, 1.0, atol=0.1)
    assert_close(T([105.0]), T([100.0]), rtol=0.1)
    with pytest.raises(Mismatch):
        assert_close(1.05, 1.0, atol=0.01)


def test_the_message_of_a_mismatch_shows_both_sides() -> None:
    with pytest.raises(AssertionError, match=r"returned: tensor\(\[1\.\]\)\nexpected: tensor\(\[2\.\]\)"):
        assert_close(T([1.0]), T([2.0]))


def test_assert_that_takes_only_true() -> None:
    assert_that(True, "never seen")
    for no in (False, 1, "yes", T(True), None):
        with pytest.raises(AssertionError, match="the sentence"):
            assert_that(no, "the sentence")  # type: ignore[arg-type]


def raised(kind: str, message: str = "", built_in: bool = True) -> SubmissionRaised:
    error = exception_of(Raised(kind, built_in, message, ()))
    assert isinstance(error, SubmissionRaised)
    return error


def test_the_very_exception_type_passes_and_its_message_can_be_read() -> None:
    with raises(ValueError, match="two sizes") as info:
        raise raised("ValueError", "needs two sizes")
    assert info.message == "needs two sizes"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (raised("TypeError", "no"), "raised TypeError('no') where ValueError was expected"),
        (raised("UnicodeError", "a subclass"), "raised UnicodeError"),
        (raised("ValueError", "of their own", built_in=False), "raised ValueError"),
        (raised("ValueError", "another text"), "should contain 'sizes', but it is 'another text'"),
    ],
    ids=repr,
)
def test_another_exception_is_put_into_words(error: SubmissionRaised, words: str) -> None:
    with pytest.raises(AssertionError) as caught, raises(ValueError, match="sizes"):
        raise error
    assert words in str(caught.value)
    assert caught.value.__cause__ is error


def test_no_exception_is_put_into_words() -> None:
    with pytest.raises(AssertionError, match="no exception where ValueError was expected"), raises(ValueError):
        pass


def test_an_unwritten_exercise_is_no_answer_to_raises() -> None:
    missing = MissingName("gram")
    missing.kind = "missing"
    for error in (missing, raised("NotImplementedError")):
        with pytest.raises(SubmissionRaised) as caught, raises(ValueError):
            raise error
        assert caught.value is error


def test_of_a_dict_only_the_entries_that_differ_are_shown() -> None:
    one = [{"a": T([1.0]), "b": 1, "c": {"d": 1, "e": 2}}, {"a": T([1.0])}]
    other = [{"a": T([1.0]), "b": 1, "c": {"d": 1, "e": 3}}, {"a": T([1.0])}]
    with pytest.raises(Mismatch) as caught:
        assert_close(one, other)
    assert caught.value.shown() == ("[{'c': {'e': 2, …}, …}, {…}]", "[{'c': {'e': 3, …}, …}, {…}]")
    with pytest.raises(Mismatch) as keys:
        assert_close({"a": 1}, {"b": 1})
    assert keys.value.shown() == ("{'a': 1}", "{'b': 1}")


def test_what_is_said_of_shapes_and_of_nan_is_true() -> None:
    def reason(actual: object, expected: object) -> str:
        with pytest.raises(Mismatch) as caught:
            assert_close(actual, expected)
        return caught.value.reason

    assert reason(torch.ones(1, 3, 1), torch.ones(3, 1, 1)).endswith("the dimensions in another order")
    assert "largest difference" not in reason(T([math.nan, 1.0, math.nan]), T([0.0, 1.0, 0.0]))


@pytest.mark.parametrize(
    ("actual", "each", "words"),
    [
        ([1.0, 2.0, 9.0, 9.0], "batch 1", "right up to batch 2, wrong from batch 3 on: 9.0 where 3.0 was expected"),
        ([9.0, 9.0, 9.0, 9.0], "step 0", "wrong from step 0 on: 9.0 where 1.0 was expected"),
        ([1.0, 9.0, 3.0, 4.0], "rank 0", "right for rank 0, rank 2 and rank 3, wrong for rank 1: 9.0 where 2.0"),
        ([1.0, 2.0, 3.0, 9.0], ("a", "b", "c", "d"), "right for a, b and c, wrong for d: 9.0 where 4.0 was expected"),
        ([1.0, 2.0], "batch 1", "2 items where 4 were expected"),
    ],
)
def test_each_item_of_a_list_has_a_name(actual: list[float], each: str | tuple[str, ...], words: str) -> None:
    with pytest.raises(Mismatch) as caught:
        assert_close(actual, [1.0, 2.0, 3.0, 4.0], what="losses", each=each)
    assert caught.value.reason.startswith(f"losses: {words}")


@pytest.mark.parametrize(
    ("actual", "expected", "words"),
    [
        (166, 83, "166 where 83 was expected, 2 times too large"),
        (83, 166, "83 where 166 was expected, 2 times too small"),
        (4.0, 2.0, "4.0 where 2.0 was expected, 2 times too large"),
        (torch.tensor(12), torch.tensor(4), "12 where 4 was expected, 3 times too large"),
        (2, 1, "2 where 1 was expected"),
        (7, 3, "7 where 3 was expected"),
        (10**400, 2, "was expected"),
        (math.inf, 0.5, "inf where 0.5 was expected"),
        (T([4, 6]), T([2, 3]), "; all are 2 times too large"),
    ],
)
def test_a_whole_multiple_is_called_that(actual: object, expected: object, words: str) -> None:
    with pytest.raises(Mismatch) as caught:
        assert_close(actual, expected)
    assert caught.value.reason.endswith(words)


def test_no_exception_is_said_of_what_was_done() -> None:
    words = "^index 3 of 3 windows: no exception where IndexError was expected$"
    with pytest.raises(AssertionError, match=words), raises(IndexError, what="index 3 of 3 windows"):
        pass
