"""Comparisons that a check can trust: exact types, real bytes, and a mismatch said in words.

Only exact built-in types, tensors and NumPy's own arrays and scalars are compared, never through the value's own
``__eq__``. Everything here runs in the judge on decoded data.
"""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from grader.border import arrays, tables
from grader.border.failures import NotSimulatedHere, SubmissionRaised
from grader.border.labels import name_of
from grader.border.proxies import FarObject, class_name_of
from grader.border.wire import plain
from grader.pictures import Compared
from grader.testkit.show import SomeEntries, show
from grader.text import counted, with_article

_LONGEST_KEY: Final = 100
"""Characters of a key that a mismatch names."""
_FUNCTIONS: Final = ("function", "method", "builtin_function_or_method", "method_descriptor")
_MOST_LISTED: Final = 4
_LARGEST_FACTOR: Final = 1e6
"""A factor beyond it is no simple relation, and may not fit in a tensor."""
_MOST_DRAWN: Final = 8
"""Rows, and columns, of a matrix that are drawn."""
_MOST_TIMES: Final = 100.5
_LEAST_COUNTED: Final = 2
"""Of two whole numbers, the least one that says how many times larger the other is."""
_LARGEST_COMPARED: Final = 1e300
"""The quotient of two larger ints may be no float."""
_MOST_RELATED: Final = 1 << 20
"""Numbers of a tensor for which a mismatch says how wrong ones and right ones are related."""
_TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1e-4, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1e-4, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}


class _Tolerance(NamedTuple):
    """Relative and absolute tolerance; None: by dtype."""

    rtol: float | None = None
    atol: float | None = None

    def of(self, dtype: torch.dtype) -> tuple[float, float]:
        rtol, atol = _TOLERANCES.get(dtype, (0.0, 0.0))
        return (rtol if self.rtol is None else self.rtol, atol if self.atol is None else self.atol)


_USUAL: Final = _Tolerance()


class Mismatch(AssertionError):
    """A comparison failed.

    Attributes:
        reason: the mismatch in words, without any expected value.
        actual: the value that came back.
        expected: the value that is right.
        number: the first item that differs, of a list or a tuple; else None.
        is_of_another_type: whether the types or the dtypes of the two, or of parts of them, differ, so that no value
            can be right.
    """

    def __init__(
        self, reason: str, actual: object, expected: object, tolerance: _Tolerance = _USUAL, number: int | None = None
    ) -> None:
        super().__init__(reason)
        self.number = number
        self._tolerance = tolerance
        self.reason = reason
        self.actual = actual
        self.expected = expected
        self.is_of_another_type = _are_of_other_types(actual, expected)

    def shown(self) -> tuple[str, str]:
        """The two values as messages show them: of their dicts only the entries that differ."""
        actual, expected = _that_differ(self.actual, self.expected, self._tolerance)
        return show(actual), show(expected)

    def compared(self) -> Compared | None:
        """The first matrices of the two that differ, to be drawn; None if other parts differ, or another way."""
        if self.is_of_another_type:
            return None
        pair = _first_that_differ(self.actual, self.expected, self._tolerance)
        try:
            return None if pair is None else _matrices(*pair, self._tolerance)
        except (RuntimeError, TypeError, ValueError):  # torch cannot compare all dtypes; a drawing decides no verdict
            return None

    def of_part(self, number: int) -> "Mismatch":
        """The mismatch of one item of the two lists or tuples that were compared."""
        actual: Any = self.actual
        expected: Any = self.expected
        return Mismatch(_without_place(self.reason, number), actual[number], expected[number], self._tolerance)

    def __str__(self) -> str:
        return f"{self.reason}\nreturned: {show(self.actual)}\nexpected: {show(self.expected)}"


def _are_of_other_types(actual: object, expected: object) -> bool:
    one, other = _comparable(actual, expected)
    if type(one) is not type(other):
        return True
    if isinstance(one, Tensor) or arrays.is_array(one):
        return bool(one.dtype != other.dtype)
    pairs = zip(one, other, strict=False) if isinstance(one, list | tuple) and isinstance(other, list | tuple) else ()
    return any(_are_of_other_types(*pair) for pair in pairs if not any(part is None for part in pair))


class CaughtException:
    """The exception that `raises` caught; filled in once its block has ended.

    Attributes:
        message: the exception's text.
    """

    message: str = ""


def assert_close(
    actual: object,
    expected: object,
    rtol: float | None = None,
    atol: float | None = None,
    what: str = "",
    each: str | Sequence[str] = "",
) -> None:
    """Fails unless both have the same structure, types, dtypes and shapes, and numbers that are close.

    Args:
        rtol: relative tolerance; by dtype when left out (1e-4 for float32, 1e-7 for float64 and Python floats).
        atol: absolute tolerance; by dtype when left out.
        what: the name of the compared value, e.g. ``"the second gradient"``; opens the message.
        each: the name of the first item of a list, ``"batch 1"`` or ``"rank 0"``, from which the others are counted,
            or the names of all: the message says which items are right and which are wrong.

    Raises:
        Mismatch: with the reason in words.
    """
    tolerance = _Tolerance(rtol, atol)
    reason = next(_differences(actual, expected, tolerance, ""), "")
    if not reason:
        return
    number, place = None, re.match(r"at \[(\d+)\]", reason)
    if place and isinstance(plain(actual), list | tuple):
        number = int(place[1])
        if each:
            reason = f"{_which(actual, expected, tolerance, each)}: {_without_place(reason, number)}"
    raise Mismatch(f"{what}: {reason}" if what else reason, actual, expected, tolerance, number)


def assert_equal(actual: object, expected: object, what: str = "", each: str | Sequence[str] = "") -> None:
    """Fails unless both are exactly equal, types included: ``1``, ``1.0`` and ``True`` differ, NaN equals NaN.

    Raises:
        Mismatch: with the reason in words.
    """
    assert_close(actual, expected, 0.0, 0.0, what, each)


def assert_that(condition: bool, sentence: str) -> None:
    """Fails with a sentence for the student unless the condition is exactly True."""
    if condition is not True:
        raise AssertionError(sentence)


@contextmanager
def raises(kind: type[Exception], match: str = "", what: str = "") -> Iterator[CaughtException]:
    """Fails unless the block raises exactly this exception type (no subclass).

    Args:
        kind: a built-in exception type.
        match: text that the message must contain.
        what: what is done, e.g. ``"index 3 of 3 windows"``; opens the message.
    """
    caught = CaughtException()
    wanted = kind.__name__
    try:
        yield caught
    except SubmissionRaised as error:
        found = repr(error.message[:200])
        if error.kind != wanted or not error.exact:
            if error.kind in ("missing", "NotImplementedError") or isinstance(error, NotSimulatedHere):
                raise
            raise AssertionError(f"raised {error.kind}({found}) where {wanted} was expected") from error
        caught.message = error.message
        if match not in error.message:
            raise AssertionError(f"the message of the {wanted} should contain {match!r}, but it is {found}") from error
        return
    raise AssertionError(": ".join(filter(None, (what, f"no exception where {wanted} was expected"))))


def _without_place(reason: str, number: int) -> str:
    """The reason of a mismatch of a list, as that of its first item that differs."""
    return reason.replace(f"at [{number}]: ", "", 1).replace(f"at [{number}][", "at [", 1)


def _which(actual: object, expected: object, tolerance: _Tolerance, each: str | Sequence[str]) -> str:
    """Which items of two lists of one length are right and which are wrong, in words."""
    items: Any = plain(actual)
    right: Any = plain(expected)
    wrong = [bool(next(_differences(*pair, tolerance, ""), "")) for pair in zip(items, right, strict=True)]
    if isinstance(each, str):
        noun, _, first = each.rpartition(" ")
        each = [f"{noun} {number}" for number in range(int(first), int(first) + len(wrong))]
        at = wrong.index(True)
        if all(wrong[at:]) and len(wrong) - at > 1:
            return f"wrong from {each[0]} on" if at == 0 else f"right up to {each[at - 1]}, wrong from {each[at]} on"
    names = [name for name, is_wrong in zip(each, wrong, strict=True) if is_wrong]
    others = [name for name, is_wrong in zip(each, wrong, strict=True) if not is_wrong]
    return f"right for {_listed(others)}, wrong for {_listed(names)}" if others else f"wrong for {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST_LISTED:
        return f"{', '.join(names[: _MOST_LISTED - 1])} and {len(names) - _MOST_LISTED + 1} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _differences(actual: Any, expected: Any, tolerance: _Tolerance, where: str) -> Iterator[str]:
    """The differences in words, one at a time."""
    place = f"at {where}: " if where else ""
    actual, expected = _comparable(actual, expected)
    if isinstance(actual, FarObject):
        kind = class_name_of(actual)
        found = "a function" if kind in _FUNCTIONS else f"an object of class {kind}"
        yield f"{place}{found} where {_name(expected)} was expected"
    elif isinstance(expected, Tensor) and isinstance(actual, Tensor):
        if reason := _tensor_difference(actual, expected, tolerance):
            yield place + reason
    elif arrays.is_array(expected) and arrays.is_array(actual):
        one, other = arrays.to_tensor(actual), arrays.to_tensor(expected)
        if one is other is None and actual.dtype.kind == expected.dtype.kind:  # of texts, times or objects
            yield from _differences(actual.tolist(), expected.tolist(), tolerance, where)
        elif one is None or other is None:
            yield f"{place}an array of {actual.dtype} where one of {expected.dtype} was expected"
        elif reason := _tensor_difference(one, other, tolerance):
            yield place + reason.replace("torch.", "")
    elif type(actual) is not type(expected):
        yield f"{place}{_name(actual)} where {_name(expected)} was expected"
    elif tables.is_value(expected):
        if reason := tables.difference(actual, expected, *tolerance.of(torch.float64)):
            yield place + reason
    elif isinstance(expected, float):
        rtol, atol = tolerance.of(torch.float64)
        is_close = math.isfinite(expected) and abs(actual - expected) <= atol + rtol * abs(expected)
        if not (is_close or actual == expected or (math.isnan(actual) and math.isnan(expected))):
            yield f"{place}{_apart(actual, expected)}{_times(actual, expected)}"
    elif isinstance(expected, (list, tuple, dict)) and len(actual) != len(expected):
        found = counted(len(actual), "entry", "entries") if isinstance(actual, dict) else counted(len(actual), "item")
        lost = _missing(actual, expected, tolerance) if isinstance(expected, list) else ""
        yield f"{place}{found} where {len(expected)} {'was' if len(expected) == 1 else 'were'} expected{lost}"
    elif isinstance(expected, (list, tuple)):
        for index, pair in enumerate(zip(actual, expected, strict=True)):
            yield from _differences(*pair, tolerance, f"{where}[{index}]")
    elif isinstance(expected, dict):
        # By their text: keys that are equal may still be of different types, as 1 and True, and NaN is not itself.
        by_key, wanted = (
            {repr(arrays.as_number(key)): item for key, item in items.items()} for items in (actual, expected)
        )
        if set(by_key) != set(wanted):
            keys, others = (show(sorted(str(key)[:_LONGEST_KEY] for key in items)) for items in (actual, expected))
            yield f"{place}keys {keys} where {others} were expected"
        else:
            for text, item in wanted.items():
                yield from _differences(by_key[text], item, tolerance, f"{where}[{text[:_LONGEST_KEY]}]")
    elif actual != expected:
        yield f"{place}{show(actual)} where {show(expected)} was expected{_times(actual, expected)}"


def _comparable(actual: object, expected: object) -> tuple[Any, Any]:
    """The two as what they are compared as: containers as plain ones, and NumPy's scalars.

    Two scalars, or a scalar and an array, are compared as arrays, which have a dtype. Where a scalar is expected, the
    number that it holds is right, too; where a Python number is, a scalar is of another type.
    """
    one, other = plain(actual), plain(expected)
    kinds = [type(value) in arrays.SCALARS for value in (one, other)]
    if any(kinds):
        if all(is_scalar or arrays.is_array(value) for is_scalar, value in zip(kinds, (one, other), strict=True)):
            return arrays.numpy.asarray(one), arrays.numpy.asarray(other)
        return one, arrays.as_number(other)
    return one, other


def _missing(actual: list[Any], expected: list[Any], tolerance: _Tolerance) -> str:
    """Which items of a list are missing, if those that are there are its first ones, or its last ones."""
    count, number = len(actual), len(expected) - len(actual)
    if not 0 < count < len(expected):
        return ""
    for side, part in (("last", expected[:count]), ("first", expected[-count:])):
        if not next(_differences(actual, part, tolerance, ""), ""):
            return f": the {side} {'one is' if number == 1 else f'{number} are'} missing"
    return ""


def _that_differ(actual: Any, expected: Any, tolerance: _Tolerance) -> tuple[object, object]:
    """The two values, whose dicts with the same keys keep only the entries that differ."""
    one: Any = plain(actual)
    other: Any = plain(expected)
    if type(one) is not type(other) or type(one) not in (dict, list, tuple) or len(one) != len(other):
        return actual, expected
    if type(one) is not dict:
        parts = [_that_differ(*pair, tolerance) for pair in zip(one, other, strict=True)]
        return type(one)(part[0] for part in parts), type(one)(part[1] for part in parts)
    if list(map(repr, one)) != list(map(repr, other)):
        return actual, expected
    pairs = {key: (item, right) for (key, item), right in zip(one.items(), other.values(), strict=True)}
    wrong = {key: pair for key, pair in pairs.items() if next(_differences(*pair, tolerance, ""), "")}
    kept = {key: _that_differ(*pair, tolerance) for key, pair in wrong.items()}
    ones, others = ({key: pair[side] for key, pair in kept.items()} for side in (0, 1))
    return (ones, others) if len(wrong) == len(pairs) else (SomeEntries(ones), SomeEntries(others))


def _first_that_differ(actual: Any, expected: Any, tolerance: _Tolerance) -> tuple[Tensor, Tensor] | None:
    """The first two tensors that differ, of values that may hold several; None if something else differs first."""
    one, other = _comparable(actual, expected)
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one, other
    if arrays.is_array(one) and arrays.is_array(other):
        pair = arrays.to_tensor(one), arrays.to_tensor(other)
        return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])
    if type(one) is not type(other) or type(one) not in (dict, list, tuple) or len(one) != len(other):
        return None
    if type(one) is dict:
        if list(map(repr, one)) != list(map(repr, other)):
            return None
        one, other = one.values(), other.values()
    for parts in zip(one, other, strict=True):
        if next(_differences(*parts, tolerance, ""), ""):
            return _first_that_differ(*parts, tolerance)
    return None


def _matrices(actual: Tensor, expected: Tensor, tolerance: _Tolerance) -> Compared | None:
    """Two matrices side by side, or those of the same place in two tensors of more dims; None if they are none."""
    if actual.dtype is not expected.dtype:
        return None
    if not actual.dim() == expected.dim() >= 2 or actual.is_complex() or min(actual.numel(), expected.numel()) < 1:
        return None
    if any(one.layout is not torch.strided or one.is_meta or one.is_quantized for one in (actual, expected)):
        return None
    one, other = (tensor.detach() if tensor.is_cpu else tensor.detach().cpu() for tensor in (actual, expected))
    first = (0,) * one.dim()
    wrong = torch.zeros(one.shape, dtype=torch.bool)
    if one.shape == other.shape:
        rtol, atol = tolerance.of(other.dtype)
        wrong = ~torch.isclose(one, other, rtol=rtol, atol=atol, equal_nan=True)
        if not wrong.any():  # the devices differ
            return None
        first = tuple(wrong.nonzero()[0].tolist())
    elif one.dim() > 2:
        return None
    one, other, wrong = (matrix[first[:-2]] for matrix in (one, other, wrong))
    if max(1, *(min(matrix.shape) for matrix in (one, other))) == 1:  # a row or a column is read more easily as it is
        return None
    corner = tuple(max(0, min(at - 3, size - _MOST_DRAWN)) for at, size in zip(first[-2:], one.shape, strict=True))
    shown = [matrix[corner[0] :, corner[1] :][:_MOST_DRAWN, :_MOST_DRAWN] for matrix in (one, other, wrong)]
    return Compared(
        found=tuple(tuple(map(_short, row)) for row in shown[0].tolist()),
        expected=tuple(tuple(map(_short, row)) for row in shown[1].tolist()),
        differs=tuple(map(tuple, shown[2].tolist())),
        corner=(corner[0], corner[1]),
        sizes=((one.shape[0], one.shape[1]), (other.shape[0], other.shape[1])),
    )


def _short(number: float) -> str:
    return str(number) if isinstance(number, int) and abs(number) < 1e8 else f"{number:.4g}"  # True is an int, too


def _tensor_difference(actual: Tensor, expected: Tensor, tolerance: _Tolerance) -> str:
    if actual.shape != expected.shape:
        reason = f"shape {tuple(actual.shape)} where {tuple(expected.shape)} was expected"
        return f"{reason}{_other_shape(actual.detach(), expected.detach())}"
    if actual.dtype != expected.dtype:
        return f"dtype {actual.dtype} where {expected.dtype} was expected"
    if name_of(actual) != name_of(expected):
        return f"device {name_of(actual)} where {name_of(expected)} was expected"
    one, other = actual.detach(), expected.detach()
    if torch.equal(one, other):
        return ""
    rtol, atol = tolerance.of(expected.dtype)
    wrong = ~torch.isclose(one, other, rtol=rtol, atol=atol, equal_nan=True)
    count = int(wrong.sum())
    if not count:
        return ""
    if one.dim() == 0:
        here, there = one.item(), other.item()
        return f"{_apart(here, there)}{_times(here, there)}"
    position = tuple(int(index) for index in wrong.nonzero()[0])
    differ = "differs" if count == 1 else "differ"
    return (
        f"{count} of {counted(wrong.numel(), 'value')} {differ}, the first at {list(position)}: "
        f"{_apart(one[position].item(), other[position].item())}"
        f"{(_relation(one, other, rtol, atol) or _largest(one, other)) if count > 1 else ''}"
    )


def _relation(actual: Tensor, expected: Tensor, rtol: float, atol: float) -> str:
    """What joins wrong numbers and right ones, in words, if it is something simple; else empty."""

    def fits(one: Tensor, other: Tensor) -> bool:
        return torch.allclose(one, other, rtol=rtol, atol=atol)

    if actual.is_complex() or actual.numel() > _MOST_RELATED:
        return ""
    one, other = actual.double(), expected.double()
    if not (one.isfinite().all() and other.isfinite().all()):
        return ""
    if one.dim() == 2 and one.shape == other.T.shape and fits(one, other.T):
        return "; rows and columns are exchanged"
    if fits(one.flatten().sort().values, other.flatten().sort().values):
        return "; the numbers are the right ones, in another order"
    if fits(one, -other):
        return "; the sign is wrong everywhere"
    factor = float((one * other).sum() / (other * other).sum()) if other.any() else 0.0
    if not 1 / _LARGEST_FACTOR < abs(factor) < _LARGEST_FACTOR or not fits(one, other * factor):
        return ""
    times, parts = round(factor), round(1 / factor)
    if times > 1 and fits(one, other * times):
        return f"; all are {times} times too large"
    return f"; all should be {parts} times as large" if parts > 1 and fits(one, other / parts) else ""


def _other_shape(actual: Tensor, expected: Tensor) -> str:
    """How a tensor of another shape holds the right numbers, in words; else empty."""
    if actual.dtype != expected.dtype or actual.numel() != expected.numel() or not 0 < actual.numel() <= _MOST_RELATED:
        return ""
    if actual.dim() == 2 == expected.dim() and torch.equal(actual, expected.T):
        return ": rows and columns are exchanged"
    if torch.equal(actual.flatten(), expected.flatten()):
        sizes, others = ([size for size in one.shape if size != 1] for one in (actual, expected))
        if actual.dim() == expected.dim():
            return ": the numbers are right, with the dimensions in another order" if sizes == others else ""
        more = "too many" if actual.dim() > expected.dim() else "too few"
        return f": the numbers are right, with a dimension of size 1 {more}" if sizes == others else ""
    return ""


def _largest(actual: Tensor, expected: Tensor) -> str:
    """How far numbers are apart at most, in words; empty if that says nothing more, as beside nan and inf."""
    if not expected.is_floating_point():
        return ""
    apart = (actual.double() - expected.double()).abs()
    return f"; the largest difference is {show(float(apart.max()))}" if apart.isfinite().all() else ""


def _apart(actual: object, expected: object) -> str:
    """The two in words: numbers that `show` writes alike, with as many digits as they need to differ."""
    one, other = show(actual), show(expected)
    if one == other and isinstance(actual, float) and isinstance(expected, float):
        digits = next((digits for digits in range(7, 18) if f"{actual:.{digits}g}" != f"{expected:.{digits}g}"), 17)
        one, other = f"{actual:.{digits}g}", f"{expected:.{digits}g}"
    return f"{one} where {other} was expected"


def _times(actual: Any, expected: Any) -> str:
    """How many times too large or too small a number is, in words, if that is a whole number; else empty.

    Small whole numbers are silent: 2 is twice 1 in many a way.
    """
    if type(actual) not in (int, float) or type(actual) is not type(expected) or not actual or not expected:
        return ""
    least, largest = sorted((abs(actual), abs(expected)))
    if not largest < _LARGEST_COMPARED or (least < _LEAST_COUNTED and actual % 1 == 0 == expected % 1):
        return ""
    for factor, words in ((actual / expected, "times too large"), (expected / actual, "times too small")):
        if 1.5 < factor < _MOST_TIMES and abs(factor - round(factor)) < 1e-5 * factor:
            return f", {round(factor)} {words}"
    return ", with the wrong sign" if abs(actual + expected) < 1e-5 * abs(expected) else ""


def _name(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if arrays.is_array(value):
        return f"an array of shape {value.shape}"
    return with_article(type(value).__name__)
