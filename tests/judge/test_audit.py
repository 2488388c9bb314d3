"""A student process notes what submitted code does that no exercise needs, and the judge reads it as bounded data."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from grader.results import Flag
from grader.student import audit, namespaces

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each case needs a process of its own")
FILE = "/submission/tensor_ops.py"


def watched(source: str, call: Callable[[dict[str, object]], object] | None = None) -> list[Flag]:
    """The flags of a process that imports `source` under watch, and then makes a call."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(reading)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            finish = audit.watch(writing, [FILE])
            code = compile(source, FILE, "exec")
            module: dict[str, object] = {"__name__": "tensor_ops"}
            exec(code, module)
            finish()
            if call is not None:
                call(module)
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as stream:
        data = stream.read()
    os.waitpid(process, 0)
    return audit.read(data)


def texts(source: str) -> list[str]:
    return [flag.text for flag in watched(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import sys\nsys._getframe()", "looked at the frames of its callers"),
        ("import sys\ng = getattr(sys, '_get' + 'frame')\ng(0)", "looked at the frames of its callers"),
        ("import inspect\ninspect.currentframe()", "looked at the frames of its callers"),
        ("import gc\ngc.get_objects()", "looked at all objects of the process"),
        ("import gc\nf = vars(gc)['get_' + 'referrers']\nf(f)", "looked for what refers to an object"),
        ("def f(): pass\ngetattr(f, '__co' + 'de__')", "looked inside a function or frame"),
        ("def f(): yield\nf().gi_frame", "looked inside a function or frame"),
        ("try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame", "looked inside a function or frame"),
        ("def f(): pass\nf.__code__ = (lambda: 1).__code__", "changed a function's inside"),
        ("exec('1' + '1')", "ran text as code"),
        ("eval(chr(49))", "compiled text"),
        ("compile('1', 'torch/x.py', 'eval')", "compiled text"),
        ("import sys\nsys.settrace(None)", "set a trace function"),
        ("import sys\nsys.addaudithook(print)", "added an audit hook"),
        ("import ctypes\nctypes.string_at(b'x')", "called C functions by ctypes"),
        ("import ctypes\nctypes.CDLL(None)", "called C functions by ctypes"),
        ("open('/pro' + 'c/self/maps')", "opened /proc/self/maps"),
        ("from pathlib import Path\nPath('/proc/self/maps').read_bytes()", "opened /proc/self/maps"),
        ("import os\nos.kill(os.getpid(), 0)", "sent a signal"),
        ("import os\nos.fork() or os._exit(0)", "forked"),
        ("import os\nos.system('true')", "started a program"),
        ("import subprocess\nsubprocess.run(['true'])", "started a program"),
        ("import grader.no_such", "imported grader.no_such"),
        ("__import__('grad' + 'er.no_such')", "imported grader.no_such"),
        ("exec('import sys; sys._getframe()')", "looked at the frames of its callers"),
    ],
)
def test_what_no_exercise_needs_is_noted(source: str, expected: str) -> None:
    text = f"try:\n    {source.replace(chr(10), chr(10) + '    ')}\nexcept ImportError:\n    pass\n"
    assert expected in texts(text)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch\ntorch.allclose = print", "replaced torch.allclose"),
        ("import torch\nsetattr(torch.Tensor, '__e' + 'q__', print)", "replaced torch.Tensor.__eq__"),
        ("import torch\ntorch.nn.functional.__dict__['relu'] = print", "replaced torch.nn.functional.relu"),
        ("import torch\ntorch.nn.Module.__call__ = print", "replaced torch.nn.Module.__call__"),
        ("import builtins\nbuiltins.abs = print", "replaced builtins.abs"),
        ("import time\ntime.perf_counter = print", "replaced time.perf_counter"),
        ("import torch\ndel torch.equal", "replaced torch.equal"),
        ("import torch\ntorch.Tensor.sum = print", "replaced torch.Tensor.sum"),
        ("import torch\nclass T(torch.Tensor): pass\ntorch.Tensor = T", "replaced torch.Tensor"),
    ],
)
@pytest.mark.parametrize("how", ["remembered", "not remembered", "without versions"])
def test_what_an_import_replaces_is_noted(
    source: str, expected: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespaces, "_remembered", [])
    if how == "without versions":
        monkeypatch.setattr(namespaces, "_are_counted", lambda: False)
    elif how == "remembered":
        namespaces.remember()
    assert Flag("replaced", expected) in watched(source)


def test_what_stands_for_a_module_is_noted_and_does_nothing_unnoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "_remembered", [])
    namespaces.remember()
    source = """
import sys, torch
class Module:
    @property
    def __dict__(self):
        sys._getframe()
        return {}
sys.modules["time"] = Module()
"""
    flags = watched(source)
    assert Flag("replaced", "replaced time.sleep") in flags
    assert [flag for flag in flags if flag.text == "looked at the frames of its callers"]


def test_what_was_replaced_before_is_not_the_submissions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "_remembered", [])
    namespaces.remember()
    monkeypatch.setattr(torch, "equal", torch.allclose)
    assert watched("import torch\n") == []
    assert Flag("replaced", "replaced torch.equal") in watched("import torch\ntorch.equal = print")


HONEST = """
import collections, dataclasses, enum, functools, inspect, json, logging, math, os, random, typing, warnings
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

Point = collections.namedtuple("Point", "x y")

@dataclasses.dataclass
class Config:
    lr: float = 0.1

class Kind(enum.Enum):
    A = 1

def decorated(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner

@decorated
def train():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=Config().lr)
    data = TensorDataset(torch.rand(8, 2), torch.rand(8, 1))
    for x, y in DataLoader(data, batch_size=4, shuffle=True):
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    torch.save(net.state_dict(), os.devnull)
    inspect.signature(train)
    warnings.warn("slow")
    logging.getLogger(__name__).warning("x")
    print(id(net), hash(Point(1, 2)), repr(net), np.ones(2).ctypes)
    torch.jit.script(nn.Linear(2, 2))
    import gc
    gc.collect()

train()
"""


def test_honest_code_leaves_no_note() -> None:
    assert watched(HONEST) == []


def test_a_note_says_where_it_was_and_each_is_noted_once() -> None:
    flags = watched("import sys\n\ndef f():\n    return sys._getframe()\n\nfor _ in range(99):\n    f()\n")
    assert flags == [Flag("event", "looked at the frames of its callers", "tensor_ops.py", 4)]


def test_calls_after_the_import_are_watched_as_well() -> None:
    flags = watched("import gc\ndef f():\n    gc.get_objects()", lambda module: module["f"]())  # type: ignore[operator]
    assert [flag.line for flag in flags] == [3]


def test_what_the_grader_does_in_that_process_is_not_the_students() -> None:
    def call(module: dict[str, object]) -> None:
        sys._getframe()
        exec("1")

    assert watched("x = 1", call) == []


def test_the_hook_cannot_be_found_or_removed_without_a_note() -> None:
    source = """
import gc
for one in gc.get_objects():
    if getattr(one, "__name__", "") == "hook":
        one.__code__ = (lambda event, args: None).__code__
import sys
sys._getframe()
"""
    assert "looked at all objects of the process" in texts(source)


def test_a_closed_descriptor_ends_nothing() -> None:
    assert texts("import os\nos.closerange(3, 99)\nimport gc\ngc.get_objects()") == []


@pytest.mark.parametrize(
    "forged", [b"\xff" * 5000, b"event\t" * 2000, b"event\tx\ty\t1e9\n", b"replaced\t\t\t\n", b"\n" * 9999]
)
def test_any_bytes_are_read(forged: bytes) -> None:
    assert set(audit.read(forged)) <= {Flag("event", "wrote into the grader's notes about it")}


def test_forged_lines_are_bounded_and_printable() -> None:
    line = "event\t\x1b[2J" + "w" * 5000 + "\t../../x\x07\t" + "9" * 30 + "\n"
    flags = audit.read(line.encode() * 500)
    assert len(flags) <= audit.MOST_EVENTS and all(str(flag).isprintable() and len(str(flag)) < 300 for flag in flags)
    many = "".join(f"event\tx{n}\ty\t{n}\n" for n in range(999))
    assert len(audit.read(many.encode())) == audit.MOST_EVENTS


def test_it_leads_nowhere() -> None:
    """What the hook holds are names and texts, and nothing of the grader but a module that holds nothing of it."""
    for module, further in ((audit, ["from grader.student import namespaces"]), (namespaces, [])):
        source = Path(module.__file__).read_text()
        top = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
        assert [line for line in top if "grader" in line or "torch" in line] == further, top
    assert torch is not None
