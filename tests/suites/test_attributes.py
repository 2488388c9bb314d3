"""Attributes that come along with a result."""

import subprocess
import sys

import pytest

CODE = """
import threading
import numpy
from grader.testkit import twins

class Owner:
    def __init__(self):
        self.x, self.y, self.z = 1, 2, [3]
        self.text, self.numbers, self.few = "a" * 1000, numpy.ones(1000), numpy.ones(4)

owner, end = Owner(), threading.Event()
twins.begin(False)

def comes_with(name):
    return dict(twins.run("getattr", ("value", owner), [("value", name)])[1][2])

assert [comes_with(name) for name in "xyz"] == [{}, {"x": ("value", 1)}, {"x": ("value", 1), "y": ("value", 2)}]
assert "few" not in comes_with("few") and {*comes_with("text")} == {*comes_with("numbers")} == {"x", "y", "few"}
thread = threading.Thread(target=end.wait)
thread.start()
assert comes_with("z") == {}
end.set()
thread.join()
assert {*comes_with("x")} == {"y", "few"}
"""


@pytest.mark.slow
def test_what_is_small_comes_along_and_nothing_while_another_thread_may_change_it() -> None:
    """In a process of its own, which has no other thread."""
    subprocess.run([sys.executable, "-c", CODE], check=True)
