"""Attributes that come along with a result."""

import subprocess
import sys

import pytest

CODE = """
import threading
from grader.testkit import twins

class Owner:
    def __init__(self):
        self.x, self.y, self.z = 1, 2, [3]

owner, end = Owner(), threading.Event()
twins.begin(False)

def comes_with(name):
    return dict(twins.run("getattr", ("value", owner), [("value", name)])[1][2])

assert [comes_with(name) for name in "xyz"] == [{}, {"x": ("value", 1)}, {"x": ("value", 1), "y": ("value", 2)}]
thread = threading.Thread(target=end.wait)
thread.start()
assert comes_with("z") == {}
end.set()
thread.join()
assert comes_with("x") == {"y": ("value", 2)}
"""


@pytest.mark.slow
def test_nothing_comes_along_while_another_thread_may_change_it() -> None:
    """In a process of its own, which has no other thread."""
    subprocess.run([sys.executable, "-c", CODE], check=True)
