"""The call that a failure of a suite shows: that of the part of the test which failed, with the calls before it."""

from __future__ import annotations

from pathlib import Path

import pytest
from judge_here import grade_here
from shared import WarmUp

from grader.intake.submission import Submission

MANIFEST = """
[course]
name = "bag"
title = "Bag"
credit = "per-check"

[suite]
modules = ["bag"]

[[topics]]
name = "bag"
title = "Bag"

[[topics.exercises]]
name = "Bag"
points = 5
tests = ["test_bag.py"]
"""
TESTS = """
import unittest
from pathlib import Path

from bag import Bag

DATA = Path(__file__).parent


class TestBag(unittest.TestCase):
    def test_remove(self):
        for gone in ("a", "b"):
            with self.subTest(gone):
                bag = Bag("ab")
                bag.remove(gone)
                self.assertEqual(len(bag), 1)
        Bag("").remove("c")


def test_refreshes():
    bag = Bag("ab")
    bag.put("a", 3)
    assert bag.get("a") == 3 and bag.get("b") == 1


def test_saves(tmp_path):
    Bag("ab").save(tmp_path / "bag.txt")
    assert (tmp_path / "bag.txt").exists()


def test_loads():
    assert len(Bag.load(DATA / "bag.txt")) == 4


def test_many():
    bag = Bag("ab")
    for number in range(30):
        bag.put("a", number)
    assert bag.get("a") == 29 or bag.get("a")
"""
RIGHT = """
class Bag:
    def __init__(self, items):
        self.items = dict.fromkeys(items, 1)

    def __len__(self):
        return len(self.items)

    def put(self, key, value):
        self.items[key] = value

    def get(self, key):
        return self.items.get(key)

    def remove(self, key):
        self.items.pop(key, None)

    def save(self, path):
        path.write_text("".join(self.items))

    @classmethod
    def load(cls, path):
        return cls(path.read_text())
"""
MESSAGES = {
    "TestBag.remove": ["Remove: 2 where 1 was expected", "Bag('ab').remove('a')"],
    "refreshes": ["Bag('ab').get('a')  # after put('a', 3)", " +  where None = <bag.Bag object>.get('a')"],
    "saves": ["Bag('ab').save(Path('tmp_path/bag.txt'))"],
    "loads": ["Bag.load(Path('tests/bag.txt'))"],
    "many": ["Bag('ab').get('a')  # after put(...), get(...)"],
}


@pytest.mark.slow
def test_call_is_that_of_the_failure(tmp_path: Path) -> None:
    files = {"course.toml": MANIFEST, "tests/test_bag.py": TESTS, "tests/bag.txt": "abcd", "exercises/bag.py": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    wrong = RIGHT.replace("self.items.pop(key, None)", "pass").replace("self.items[key] = value", "self.items = {}")
    wrong = wrong.replace("path.write_text(", "print(").replace("cls(path.read_text())", "cls('')")
    right, result = grade_here(tmp_path, {"bag": RIGHT}, {"bag": wrong})
    assert right.score == right.max == 5
    found = {check.name: check.message for check in result.exercises[0].checks}
    for name, lines in MESSAGES.items():
        assert set(lines) <= set(found[name].split("\n")), found[name]
        assert "<bound method" not in found[name]


MISSING = """
import pytest
import shelf
from shelf.board import Board


def test_within():
    from shelf import Shelf

    assert Shelf


def test_raises():
    with pytest.raises(ValueError):
        shelf.Shelf(-1)


def test_board():
    assert Board(2)
"""
SHELF = {"shelf/__init__.py": "from shelf.board import Board\n", "shelf/board.py": "class Board(int):\n    pass\n"}


@pytest.mark.slow
def test_name_that_is_missing_is_named_with_its_file(warm: WarmUp, tmp_path: Path) -> None:
    manifest = MANIFEST.replace('modules = ["bag"]', 'packages = ["shelf"]').replace("bag", "shelf")
    files = {"course.toml": manifest, "tests/test_shelf.py": MISSING}
    files |= {f"{folder}/{name}": text for folder in ("solutions", "exercises") for name, text in SHELF.items()}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    result = warm(tmp_path).of(Submission("none", {name: text.encode() for name, text in SHELF.items()}))
    within, raises, board = result.exercises[0].checks
    assert within.message == raises.message == "`Shelf` is not defined in shelf/__init__.py"
    assert board.verdict == "passed"
    without = {"shelf/__init__.py": SHELF["shelf/__init__.py"].encode()}
    *_, board = warm(tmp_path).of(Submission("half", without)).exercises[0].checks
    assert "`shelf.board` is not in your submission" in board.message, board.message
