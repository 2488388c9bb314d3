"""A student process notes what submitted code does that no exercise needs, and the judge reads it as bounded data."""

from __future__ import annotations

import fcntl
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.results import Flag
from grader.student import audit

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each case needs a process of its own")
FILE = "/submission/tensor_ops.py"


WRITING: list[int] = []


def watched(source: str, call: Callable[[dict[str, object]], object] | None = None) -> list[Flag]:
    """The flags of a process that imports `source` under watch, and then makes a call."""
    reading, writing = os.pipe()
    WRITING[:] = [writing]
    process = os.fork()
    if not process:
        try:
            os.close(reading)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            audit.watch(writing, [FILE])
            code = compile(source, FILE, "exec")
            module: dict[str, object] = {"__name__": "tensor_ops"}
            exec(code, module)
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
        ("import sys\nsys.settrace(None)", "set a trace function"),
        ("import ctypes\nctypes.string_at(b'x')", "called C functions by ctypes"),
        ("import ctypes\nctypes.CDLL(None)", "called C functions by ctypes"),
        ("open('/pro' + 'c/self/maps')", "opened memory or open files of a process"),
        ("from pathlib import Path\nPath('/proc/self/maps').read_bytes()", "opened memory or open files of a process"),
        ("import os\nos.kill(os.getpid(), 0)", "sent a signal"),
        ("import os\nos.fork() or os._exit(0)", "forked"),
        ("import grader.no_such", "imported the grader"),
        ("__import__('grad' + 'er.no_such')", "imported the grader"),
        ("exec('import sys; sys._getframe()')", "looked at the frames of its callers"),
    ],
)
def test_what_no_exercise_needs_is_noted(source: str, expected: str) -> None:
    text = f"try:\n    {source.replace(chr(10), chr(10) + '    ')}\nexcept ImportError:\n    pass\n"
    assert expected in texts(text)


FRAMES = "looked at the frames of its callers"
MEMORY = "opened memory or open files of a process"


@pytest.mark.parametrize(
    "source",
    [
        "import logging\nlogging.currentframe()",
        "import sys\nsys._current_frames()",
        "import sys\nvars(sys)['_current_' + 'exceptions']()",
        "import traceback\nlist(traceback.walk_stack(None))",
        "import traceback\ntraceback.extract_stack()",
        "import traceback\ntraceback.StackSummary.extract(traceback.walk_stack(None))",
        "import inspect\ninspect.stack()",
        "try:\n    1 / 0\nexcept ArithmeticError as e:\n    e.__traceback__.tb_frame",
        "import operator as o\ntry:\n    1 / 0\nexcept Exception as e:\n    o.attrgetter('__traceback__.tb_frame')(e)",
        "g = (x for x in [1])\ngetattr(g, 'gi_' + 'frame')",
        "async def f(): pass\nc = f()\nc.cr_frame\nc.close()",
    ],
)
def test_frames_are_noted_by_whatever_way_they_are_reached(source: str) -> None:
    assert texts(source) == [FRAMES]


@pytest.mark.parametrize(
    "source",
    [
        "open(b'/proc/self/maps')",
        "import os, pathlib\nos.open(pathlib.Path('/proc/self/maps'), 0)",
        "import os\nos.open(os.fsencode('/proc/self/maps'), 0)",
        "import io\nio.open_code('/proc/self/maps')",
        "import io, pathlib\nio.FileIO(pathlib.Path('/proc/self/maps'))",
        "import io\nclass P:\n    def __fspath__(self): return '/dev/null'\nio.FileIO(P())",
        "class P:\n    def __fspath__(self): return b'/proc/self/maps'\nopen(P())",
        "class S(str):\n    def __str__(self): return '/dev/null'\nopen(S('/proc/self/maps'))",
        "class B(bytes):\n    def decode(self, *a): return '/dev/null'\nopen(B(b'/proc/self/maps'))",
        "open('/proc//self/./maps')",
        "open('/proc/self/fdinfo/../maps')",
        "open('/proc/thread-self/maps')",
        "open('/dev/fd/1')",
        "import os\nos.chdir('/proc/self')\nopen('maps')",
        "import os\nos.open('maps', 0, dir_fd=os.open('/proc/self', 0))",
        "import os\nos.open('self/maps', 0, dir_fd=os.open(b'/proc/', 0))",
        "import os\nos.listdir('/proc/self/fd')",
        "import os\nlist(os.scandir(b'/proc/self/fd'))",
        "import os, tempfile\nos.symlink('/proc/self/maps', tempfile.mkdtemp() + '/x')",
        "import shutil, os\nshutil.copyfile('/proc/self/maps', os.devnull)",
        "import linecache\nlinecache.getlines('/proc/self/maps')",
        "import pathlib\npathlib.Path('/proc', 'self', 'maps').open()",
    ],
)
def test_memory_and_open_files_are_noted_by_whatever_path_they_are_opened(source: str) -> None:
    assert texts(source) == [MEMORY]


def test_a_descriptor_of_the_graders_is_not_opened_in_silence() -> None:
    class Number(int):
        def __hash__(self) -> int:
            return 0

    for kind in (int, Number):

        def call(module: dict[str, object], kind: type[int] = kind) -> None:
            for line in ("open(number, 'wb', closefd=False)", "fcntl.fcntl(number, fcntl.F_DUPFD)"):
                exec(compile(line, FILE, "exec"), {"number": kind(WRITING[0]), "fcntl": fcntl})

        assert [flag.text for flag in watched("", call)] == [MEMORY]


def test_the_code_of_a_function_is_not_replaced_in_silence() -> None:
    assert texts("def f(): pass\nsetattr(f, '__co' + 'de__', f.__code__)") == ["replaced the code of a function"]


def test_the_hook_runs_no_submitted_code() -> None:
    """Whatever takes the place of a function, or is asked for its class: what it did would not be noted."""
    source = """
import builtins, contextlib, os, pathlib, posixpath, re, sys
asked = []
class Path(type):
    def __hash__(self): asked.append("hash"); return 0
    def __getattribute__(self, name): asked.append(name); return type.__getattribute__(self, name)
class Odd(metaclass=Path):
    @property
    def __class__(self): asked.append("class"); return str
    def __fspath__(self): return os.devnull
import io
kept = [io.FileIO(Odd())]
asked.clear()
def replaced(name):
    def inner(*args, **kwargs):
        asked.append(name)
    return inner
for module, names in ((os, "write fspath getcwd close"), (posixpath, "normpath join"), (sys, "_getframe")):
    for name in names.split():
        setattr(module, name, replaced(name))
for name in ("isinstance", "len", "str", "bytes", "type", "issubclass", "range", "frozenset"):
    setattr(builtins, name, replaced(name))
contextlib.suppress = replaced("suppress")
kept.append(open(b"/proc/self/maps"))
if asked:
    raise SystemExit(3)
kept.append(open("/proc/self/mem"))
"""
    assert [flag.line for flag in watched(source) if flag.text == MEMORY] == [12, 24, 27]


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
    import io, tempfile
    folder = tempfile.mkdtemp()
    handle, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as stream:
        stream.write(b"x")
    open(os.fsencode(name)).close()
    io.FileIO(name).close()
    os.listdir(folder), list(os.scandir(os.open(folder, 0))), os.listdir("/proc/self/task")
    os.symlink(name, name + "2")
    logging.getLogger("x").error("y", stack_info=True, exc_info=True)
    import cProfile, multiprocessing, pdb, subprocess, traceback
    import gc
    gc.collect()
    exec("n = 1 + 1")
    eval("nn.ReLU()")
    print(train.__wrapped__.__code__.co_varnames, Config.__init__.__defaults__)
    subprocess.run(["true"], check=True)
    child = multiprocessing.get_context("fork").Process(target=print)
    child.start()
    child.terminate()
    child.join()
    profile = cProfile.Profile()
    profile.enable()
    profile.disable()
    open("/proc/cpuinfo").read()
    open("/proc/self/status").read()
    try:
        1 / 0
    except ZeroDivisionError as error:
        traceback.format_exception(error)

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
        gc.get_objects()

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


@pytest.mark.parametrize("forged", [b"\xff" * 5000, b"forked\t" * 2000, b"x\ty\t1e9\n", b"\t\t\t\n", b"\n" * 9999])
def test_any_bytes_are_read(forged: bytes) -> None:
    assert set(audit.read(forged)) <= {Flag("event", "wrote into the grader's notes about it")}


def test_forged_lines_are_bounded_and_printable() -> None:
    line = "\x1b[2J" + "w" * 5000 + "\t../../x\x07\t" + "9" * 30 + "\n"
    flags = audit.read(line.encode() * 500)
    assert len(flags) <= audit.MOST_EVENTS and all(str(flag).isprintable() and len(str(flag)) < 300 for flag in flags)
    many = "".join(f"x{n}\ty\t{n}\n" for n in range(999))
    assert len(audit.read(many.encode())) == audit.MOST_EVENTS


def test_it_leads_nowhere() -> None:
    """The hook holds names and texts, and nothing of the grader."""
    source = Path(audit.__file__).read_text()
    top = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert not [line for line in top if "grader" in line or "torch" in line], top
