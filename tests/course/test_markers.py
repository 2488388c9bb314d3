"""Markers for a solution that somebody wrote without them: what its stub keeps, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course.markers import with_markers
from grader.course.stubs import stub_of

SOLVED = '''
"""Shapes."""

import math
from answers import area_of
import torch, answers.deep as deep

SIZE = 3
TABLE = deep.table(SIZE)


def traced(f):
    return f


def _square(x):
    return x * x


class _Point:
    """A private class that a signature needs."""

    def __init__(self, x): self.x = x


def area(r: float, at: _Point = None) -> float:
    """The area of a disk."""
    # pi r squared
    return math.pi * _square(r)
    # exactly


def double(x): return 2 * x


class Shape:
    sides = 4

    class Corner:
        def angle(self):
            return 90

    def __init__(self, n):
        """Has `n` sides."""
        self.n = n

    def _check(self):
        assert self.n

    @property
    def corners(self):
        self._check()
        return self.n

    unit = "cm"

    def _last(self):
        return 1


@traced
def size(x):
    return area_of(x)


BIG = double(SIZE)
ALIAS = Shape

if __name__ == "__main__":
    print(area(2))
'''
STUB = '''
"""Shapes."""

import math

SIZE = 3
TABLE = ...


def traced(f):
    return f




class _Point:
    """A private class that a signature needs."""

    def __init__(self, x):
        raise NotImplementedError("write `_Point.__init__` here")


def area(r: float, at: _Point = None) -> float:
    """The area of a disk."""
    raise NotImplementedError("write `area` here")


def double(x):
    raise NotImplementedError("write `double` here")


class Shape:
    sides = 4

    class Corner:
        def angle(self):
            raise NotImplementedError("write `Shape.Corner.angle` here")

    def __init__(self, n):
        """Has `n` sides."""
        raise NotImplementedError("write `Shape.__init__` here")

    @property
    def corners(self):
        raise NotImplementedError("write `Shape.corners` here")

    unit = "cm"

    def _last(self):
        raise NotImplementedError("write `Shape._last` here")


@traced
def size(x):
    raise NotImplementedError("write `size` here")


BIG = ...
ALIAS = Shape

'''


def test_stub_has_signatures_docstrings_and_constants_and_nothing_that_answers() -> None:
    marked, whole = with_markers(SOLVED, Path("shapes.py"), ["area", "double", "Shape"], ["answers"])

    assert stub_of(marked, "shapes.py") == STUB
    assert whole == ["traced"]
    without = "\n".join(line for line in marked.split("\n") if line.strip() not in ("# solution:", "# end"))
    assert (
        without.replace("def double(x):\n    return", "def double(x): return").replace(
            "(self, x):\n        self", "(self, x): self"
        )
        == SOLVED
    )


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    if x:\n        return 1\n    # the other way\n\n    return 2\n",
        "class A:\n    def _f(self): ...\n    def g(self): 'words'\n",
        "class A: pass\n\ndef f(): pass; x = 1\n",
        "@decorated(\n    1)\nasync def f(\n    x,\n):\n    '''Words.'''\n    # a remark\n    return x\n",
        "def f():\n    return '''\n# no comment\n'''\n",
        "def größe(): return 'ß'; 1\n",
    ],
)
def test_any_form_of_a_definition_becomes_a_stub(source: str) -> None:
    marked, _ = with_markers(source, Path("a.py"), [], [])
    stub = stub_of(marked, "a.py")
    assert "return" not in stub and "remark" not in stub and "x = 1" not in stub
