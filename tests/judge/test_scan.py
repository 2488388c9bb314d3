"""What no exercise needs is noticed in the source, however it is written, and honest code is left alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from answer_files import every
from shared import REPO

from grader.course import Course, misconceptions_of
from grader.judge.scan import MOST_BYTES, MOST_FLAGS, scan
from grader.results import Flag


def texts(source: str, kit: str = "") -> list[str]:
    return [flag.text for flag in scan({"tensor_ops.py": source.encode()}, kit)]


TAMPERING = {
    "grader": [
        "import grader",
        "from grader.testkit import probes",
        "def f():\n    import grader.border.service as s",
        "m = __import__('grader.testkit.devices', fromlist=['x'])",
        "import importlib\nm = importlib.import_module('grader.testkit')",
        "import importlib as i\nm = i.import_module('gra' + 'der')",
        "name = 'grader.testkit.probes'",
        "import kit",
        "from kit import files\nfiles.CAN_CRASH = False",
    ],
    "sys.modules": [
        "import sys\nsys.modules",
        "import sys as s\nx = s.modules['torch']",
        "from sys import modules",
        "from sys import modules as m",
        "import sys\ngetattr(sys, 'modules')",
        "import sys\ngetattr(sys, 'mod' + 'ules')",
        "import sys\nn = 'modules'\ngetattr(sys, n)",
        "import os\nos.__dict__['x'] = 1",
    ],
    "gc": [
        "import gc\ngc.get_objects()",
        "from gc import get_referrers",
        "import gc as g\ng.get_referents(1)",
        "import gc\ngetattr(gc, ''.join(['get_', 'objects']))()",
        "import operator\noperator.methodcaller('gc.get_objects')",
    ],
    "frames": [
        "import sys\nsys._getframe(1)",
        "import inspect\ninspect.stack()",
        "import inspect\ninspect.currentframe().f_back",
        "def f(e):\n    return e.__traceback__.tb_frame",
        "def f(g):\n    return g.gi_frame.f_locals",
        "getattr(object(), 'f_back')",
        "from operator import attrgetter\na = attrgetter('f_globals')",
        "import traceback\ntraceback.walk_stack(None)",
        "import logging\nlogging.currentframe()",
        "import logging as l\nl.sys._getframe()",
        "import sys\nsys._current_exceptions()",
        "from operator import attrgetter\nattrgetter('__traceback__.tb_frame.f_back')",
        "import operator as o\no.attrgetter('a', 'sys._getframe')",
        "import operator\noperator.attrgetter('__trace' + 'back__.tb_frame')",
        "import sys\nsys.settrace(print)",
    ],
    "insides": [
        "f = (lambda: 0).__globals__",
        "object.__subclasses__()",
        "def f(g):\n    return g.__closure__[0].cell_contents",
        "def f(g):\n    g.__code__ = f.__code__",
        "x = __builtins__",
        "def f(g):\n    return getattr(g, '__glo' + 'bals__')",
        "n = ''.join(['__sub', 'classes__'])\ngetattr(object, n)",
        "n = '__slabolg__'[::-1]",
        "def f(g):\n    return getattr(g, f'{\"__clo\"}sure__')",
        "class T:\n    def __torch_function__(self): pass",
        "from types import CodeType",
    ],
    "C": ["import ctypes", "from ctypes import string_at", "import ctypes.util", "c = __import__('ctypes')"],
    "made-up text": [
        "exec(open('x').read())",
        "import os\neval('1' + os.name)",
        "import builtins\nbuiltins.exec(chr(49))",
        "compile(bytes([49]), 'x', 'eval')",
        "exec('import sys; sys.modules')",
        "exec('exec(\"import ctypes\")')",
        "from builtins import eval as e\ne(input())",
    ],
    "patched": [
        "import torch\ntorch.allclose = lambda *a: True",
        "import torch\ntorch.Tensor.__eq__ = lambda a, b: True",
        "from torch import nn\nnn.Linear.forward = None",
        "import torch.nn.functional as F\nF.relu = None",
        "import torch as t\nsetattr(t, 'equal', print)",
        "from torch import Tensor\nTensor.to, x = print, 1",
        "import torch\ntorch.__dict__['allclose'] = print",
        "import torch\nvars(torch)['allclose'] = print",
        "import builtins\nbuiltins.abs = print",
        "import time\ntime.perf_counter = lambda: 0",
        "import torch\ndel torch.allclose",
        "import torch\nfor torch.allclose in [print]: pass",
        "import socket\nsocket.socket.sendall = print",
        "from socket import socket\nsetattr(socket, 'recv', print)",
        "import socket as s\ns.socket = print",
        "import msgspec\nmsgspec.msgpack.Decoder = print",
        "from msgspec import msgpack\nmsgpack.encode = print",
        "import linecache, traceback\ntraceback.walk_tb = print",
    ],
    "processes": [
        "import os\nos.kill(1, 9)",
        "from os import kill",
        "import os\nos.fork()",
        "open('/proc/self/mem')",
        "p = '/dev/shm/x'",
        "import os\ngetattr(os, 'ki' + 'll')(1, 9)",
        "import os\nos.dup(5)",
        "import posix\nposix.dup(5)",
        "import random\nrandom._os.fork()",
        "import torch\ntorch.os.kill(1, 9)",
        "open('/dev/fd/7')",
    ],
}


@pytest.mark.parametrize("kind", TAMPERING)
def test_tampering_is_noticed_however_it_is_written(kind: str) -> None:
    assert [source for source in TAMPERING[kind] if not texts(source, kit="kit")] == []


HONEST = [
    "from operator import attrgetter, methodcaller\nattrgetter('config.lr', 'a.b')\nmethodcaller('modules')",
    "import logging\nlogging.getLogger('a.b').info('x')",
    "import os, sys\nos.path.join('a', 'b')\nsys.path.append('x')\nos.environ.get('x')",
    "import socket\nwith socket.socket() as s:\n    s.bind(('127.0.0.1', 0))",
    "import traceback\ntraceback.print_exc()",
    "import torch\ntorch.backends.cudnn.deterministic = True",
    "import torch\nsetattr(torch.backends.cudnn, 'benchmark', False)",
    "import torch._dynamo\ntorch._dynamo.config.suppress_errors = True",
    "import gc\ngc.collect()",
    "import os\nos.environ['MASTER_PORT'] = '12345'",
    "import sys\nsys.exit(0)",
    "import torch\ndef f(net):\n    net.eval()\n    net = torch.compile(net)",
    "import re\nre.compile('x')",
    "import torch\ndef opt(name):\n    return getattr(torch.optim, name)",
    "import torch\ndef dtype(bits):\n    return getattr(torch, f'float{bits}')"
    if False
    else "x = getattr(object(), 'y')",
    "def f(model, name, value):\n    setattr(model, name, value)",
    "def f(model):\n    return model.__class__.__name__, model.__dict__",
    '"""Reads /proc/self/mem, grader.testkit and f_back: says the docstring."""',
    "def f(p, lr):\n    p.data = p.data - lr * p.grad\n    p.grad = None",
    "import inspect\ninspect.signature(print)",
    "import torch.multiprocessing as mp\nmp.spawn(print, nprocs=2)",
    "from torch import nn\nclass Net(nn.Module):\n    def cut(self):\n        self.a.bias = None",
]


@pytest.mark.parametrize("source", HONEST)
def test_honest_code_is_left_alone(source: str) -> None:
    assert texts(source) == []


def test_a_flag_says_where() -> None:
    source = b"import torch\n\n\ndef gram(x):\n    import sys\n    return sys.modules\n"
    assert scan({"tensor_ops.py": source}) == (Flag("source", "uses sys.modules", "tensor_ops.py", 6),)


def test_a_students_own_files_may_have_any_name() -> None:
    assert (
        scan({"tensor_ops.py": b"import checks\nfrom solutions import x", "checks.py": b"", "solutions/x.py": b""})
        == ()
    )


@pytest.mark.parametrize(
    "source",
    [
        b"def",
        b"\x00\xff\xfe",
        b"x = " + b"-" * 100_000 + b"1",
        b"x = " + b"+".join([b"a"] * 60_000),
        b"x = f" + b"()" * 60_000,
        b"# -*- coding: no-such -*-\nimport ctypes",
        b"exec('" + b"\\x65" * 1000 + b"')",
        b"",
    ],
)
def test_any_bytes_are_read_or_left_alone(source: bytes) -> None:
    assert all(flag.kind == "source" for flag in scan({"tensor_ops.py": source}))


def test_what_is_reported_is_bounded_and_printable() -> None:
    many = "import sys\n" + "sys.modules\n" * 1000
    assert len(scan({"a.py": many.encode()})) == MOST_FLAGS
    (flag,) = scan({"\x1b[2J" + "x" * 999 + ".py": b"import grader.\xc3\xa9" + b"y" * 9999})
    assert len(flag.text) <= 120 and len(flag.file) <= 80 and str(flag).isprintable()
    (long,) = scan({"a.py": b"#" * (MOST_BYTES + 1)})
    assert long.text == "is too long to be read for what no exercise needs"


HOSTILE = {
    "gram__claims_not_simulated",
    "place__raises_from_text",
    "mean__raises_the_graders_class_from_none",
    "count__raises_the_graders_class",
    "total__forks_processes",
    "total__kills_its_group",
    "total__kills_everybody",
}
"""Answers of the project that do what no exercise needs; all others are what students write."""


def honest_answers() -> dict[str, dict[str, bytes]]:
    """The right and wrong answers that the project owns in files: what a class may hand in."""
    course = Course.load(None)
    found: dict[str, dict[str, bytes]] = {}
    solved = {course.solution_file(topic.name).read_bytes() for topic in course.topics}
    for topic in course.topics:
        name = f"{topic.name}.py"
        found[topic.name] = {name: course.solution_file(topic.name).read_bytes()}
        found[f"{topic.name}, stub"] = {name: course.stub_file(topic.name).read_bytes()}
    for kind in ("right", "wrong"):
        for answer in every(kind):
            files = answer.submission().files
            found[str(answer)] = {name: text for name, text in files.items() if text not in solved}
    return {name: files for name, files in found.items() if name.rpartition("/")[2] not in HOSTILE}


def flagged_misconceptions() -> tuple[set[str], int]:
    """The misconceptions with a flag, and how many there are; those of a topic are read as one file."""
    course = Course.load(None)
    flagged: set[str] = set()
    count = 0
    for topic in course.topics:
        text = course.misconceptions_file(topic.name).read_text()
        written = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        wrong = {one.function for one in misconceptions_of(course, topic.name)}
        assert wrong <= {node.name for node in written}
        count += len(wrong)
        for flag in scan({f"{topic.name}.py": text.encode()}):  # one is of the import of the solutions
            flagged |= {node.name for node in written if node.lineno <= flag.line <= (node.end_lineno or 0)}
    return flagged, count


@pytest.mark.slow
def test_at_most_one_honest_submission_in_200_is_flagged() -> None:
    submissions = honest_answers()
    assert len(submissions) > 200
    flagged = {name: list(map(str, flags)) for name, files in submissions.items() if (flags := scan(files))}
    assert 200 * len(flagged) <= len(submissions), flagged


def test_at_most_one_misconception_in_200_is_flagged() -> None:
    flagged, count = flagged_misconceptions()
    assert count > 700
    assert 200 * len(flagged) <= count, flagged


def test_of_the_sample_class_only_those_are_flagged_who_do_such_things() -> None:
    flagged = {
        folder.name
        for folder in sorted((REPO / "examples" / "class").iterdir())
        if folder.is_dir() and scan({str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.py")})
    }
    assert flagged == {"kwame", "lena", "nadia"}


def test_most_hostile_submissions_that_reach_for_the_grader_are_noticed() -> None:
    folder = Path(__file__).parent.parent / "attacks" / "submissions"
    reach = (
        "frames gc_objects imports_answers own_memory other_processes replaces_the_service writes_memory reads_files"
    )
    for name in reach.split():
        assert scan({file.name: file.read_bytes() for file in (folder / name).rglob("*.py")}), name


def test_a_topic_that_is_not_graded_is_read_only_where_another_file_names_it() -> None:
    probing = b"import gc\ngc.get_objects()\n"
    files = {"tensor_ops.py": b"import helpers\n", "helpers.py": b"x = 1\n", "autograd.py": probing}
    assert scan(files, others=["autograd"]) == ()
    files["helpers.py"] = b"import autograd\n"
    assert [flag.file for flag in scan(files, others=["autograd"])] == ["autograd.py"]


def test_a_file_that_nothing_names_is_read() -> None:
    """A library may import it in place of its own, later."""
    files = {"tensor_ops.py": b"", "sympy/__init__.py": b"import gc\ngc.get_objects()\n"}
    assert [flag.file for flag in scan(files, others=["autograd"])] == ["sympy/__init__.py"]


def test_a_name_in_another_encoding_hides_no_file() -> None:
    spelt = b"# coding: utf-7\nimport +AGEAdQB0AG8AZwByAGEAZA-\n"
    files = {"tensor_ops.py": spelt, "autograd.py": b"import gc\ngc.get_objects()\n"}
    assert [flag.file for flag in scan(files, others=["autograd"])] == ["autograd.py"]
