"""Whoever reaches into the grader or into torch is flagged for an instructor; the verdicts are as without a flag."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared import Warm, WarmUp

from grader.results import SubmissionResult, to_json

COURSE = Path(__file__).resolve().parent.parent / "courses" / "needs"
RIGHT = (COURSE / "solutions" / "lab.py").read_text()


@pytest.fixture
def lab(warm: WarmUp) -> Warm:
    return warm(COURSE)


def with_own(body: str, head: str = "") -> str:
    return f"{head}\n{RIGHT}\n\ndef plain():\n    {body}\n"


def seen(result: SubmissionResult) -> list[str]:
    return [str(flag) for flag in result.flags]


def test_an_honest_submission_has_no_flag(lab: Warm) -> None:
    assert lab.grade(lab=RIGHT).flags == ()


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("import torch\ntorch.allclose = print", "replaced torch.allclose"),
        ("import torch\nt = vars(__import__('torch'))\nt['allclose'] = print", "replaced torch.allclose"),
        ("class T: pass\nimport torch\nx = torch\nx.equal = print", "replaced torch.equal"),
        ("import builtins as b\nc = b\nc.abs = print", "replaced builtins.abs"),
    ],
)
def test_replaced_functions_are_flagged(lab: Warm, head: str, words: str) -> None:
    assert words in seen(lab.grade(lab=with_own("return 1", head)))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import gc\n    n = 'get_objects'\n    getattr(gc, n)()\n    return 1", "look at line "),
        ("s = __import__('sys')\n    s._getframe()\n    return 1", "looked at the frames of its callers"),
        ("f = open\n    f(chr(47) + 'proc/self/status').read()\n    return 1", "opened /proc/self/status"),
        ("(lambda: 0).__getattribute__('__co' 'de__')\n    return 1", "__code__"),
        ("e = [eval]\n    e[0](chr(49))\n    return 1", "compiled text"),
    ],
)
def test_what_happens_in_a_call_is_flagged_and_changes_no_verdict(lab: Warm, body: str, words: str) -> None:
    honest, result = lab.grade(lab=RIGHT), lab.grade(lab=with_own(body))
    assert any(words in text for text in seen(result)), seen(result)
    assert result.exercises == honest.exercises


def test_what_a_wrong_answer_does_is_flagged_too_and_once(lab: Warm) -> None:
    result = lab.grade(lab=with_own("s = __import__('sys')\n    s._getframe()\n    return 2"))
    assert result.exercises[0].score == 0
    assert sum("frames of its callers" in text for text in seen(result)) == 1


@pytest.mark.parametrize("head", ["import sys\nsys.modules\n1 / 0", "import sys\nsys.modules\ndef"])
def test_a_submission_that_cannot_be_imported_is_flagged_as_far_as_it_can_be_read(lab: Warm, head: str) -> None:
    result = lab.grade(lab=head)
    assert result.score == 0 and bool(result.flags) == ("1 / 0" in head)


def test_forging_notes_flags_nobody_but_oneself(lab: Warm) -> None:
    honest = to_json(lab.grade(lab=RIGHT))
    forge = """
import os
for descriptor in range(3, 64):
    try:
        os.write(descriptor, b"event\\tlooked at \\x1b[2J\\tother.py\\t3\\n" + b"x" * 20_000)
    except OSError:
        pass
"""
    result = lab.grade(lab=with_own("return 1", forge))
    assert all(text.isprintable() for text in seen(result))
    assert to_json(lab.grade(lab=RIGHT)) == honest


def test_a_full_pipe_stops_nobody(lab: Warm) -> None:
    many = "import sys\nfor n in range(999):\n    exec(compile('s._getframe()', 'x', 'eval'), {'s': sys})"
    assert lab.grade(lab=with_own("return 1", many)).exercises[0].score == 1
