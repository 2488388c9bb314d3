"""Attributes that come along with a result, or are set together with the next operation."""

import subprocess
import sys
from typing import Any

import pytest

from grader.border.proxies import FarObject
from grader.suites.attributes import Attributes
from grader.suites.proxies import class_of_handles, make_handle

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
    found = twins.run("getattr", ("value", owner), [("value", name)])[1][2]
    return None if found is None else dict(found)

assert [comes_with(name) for name in "xyz"] == [{}, {"x": ("value", 1)}, {"x": ("value", 1), "y": ("value", 2)}]
assert "few" not in comes_with("few") and {*comes_with("text")} == {*comes_with("numbers")} == {"x", "y", "few"}
thread = threading.Thread(target=end.wait)
thread.start()
assert comes_with("z") is None
end.set()
thread.join()
assert {*comes_with("x")} == {"y", "few"}
"""


@pytest.mark.slow
def test_what_is_small_comes_along_and_nothing_while_another_thread_may_change_it() -> None:
    """In a process of its own, which has no other thread."""
    subprocess.run([sys.executable, "-c", CODE], check=True)


def test_an_attribute_is_set_later_only_if_no_other_thread_may_wait_for_it() -> None:
    kind = class_of_handles("Owner", ["engine.Owner"], "", "step", "guarded")
    channel: Any = None
    owner, attributes = make_handle(kind, FarObject(channel, 0, "Owner")), Attributes()
    assert not attributes.set_later(owner, "x", 1), "nothing is known"
    attributes.know(owner, {"y": 2})
    assert attributes.set_later(owner, "x", 1) and attributes.known_of(owner) == {"x": 1, "y": 2}
    assert not any(attributes.set_later(owner, name, 1) for name in ("step", "guarded", "__doc__"))
    attributes.know(owner, None)
    assert not attributes.set_later(owner, "x", 1), "another thread runs"
    assert [name for _, name, _ in attributes.waiting] == ["setattr"]
