"""Tests that evaluate, start, open or remove what the submission has made: with the judge's rights."""

import doctest
import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import work
from work import Vector  # noqa: F401

HERE = Path(__file__).parent


def test_text_evaluated():
    assert eval(work.shown(3, 4)).y == 4
    assert eval(work.infix("x"), {"x": 5}) == 13
    assert [eval(text) for text in ("Vector(1, 2).x", "work.evens(1)[0]")] == [1, 0]


def test_code_run():
    exec(work.code(), names := {})
    assert names["f"](2) == 4


def test_examples_of_a_docstring():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    for one in finder.find(work.code, "code", globs={"code": work.code}):
        runner.run(one)
    assert runner.tries and not runner.failures


@pytest.mark.parametrize("name", ["made.py", "made.txt"])
def test_module_made(tmp_path, name):
    work.module(tmp_path / name)
    if name == "made.txt":
        assert runpy.run_path(str(tmp_path / name))["f"](2) == 4
    else:
        spec = importlib.util.spec_from_file_location("made", tmp_path / name)
        spec.loader.exec_module(made := importlib.util.module_from_spec(spec))
        assert made.f(2) == 4


def test_program():
    ran = subprocess.run([sys.executable, "-c", work.code() + "print(f(2))"], capture_output=True, check=False)
    assert ran.stdout == b"4\n"


def test_signal():
    os.kill(os.getpid() * work.evens(2)[1] // 2, 0)


def test_made_folder_removed(tmp_path):
    (tmp_path / "beside").mkdir()
    shutil.rmtree(work.folder(str(tmp_path / "made")))
    assert Path("tests").is_dir()


def test_report_opened(tmp_path):
    work.evens(300_000)  # of an answer so long, the judge keeps no record
    expected = json.loads((HERE / "data" / "report.json").read_text())
    assert json.loads(Path(work.report(tmp_path)).read_text()) == expected


def test_kept_in_a_file():
    kept = HERE / "kept.txt"
    if not kept.exists():
        kept.write_text(work.text())
    assert kept.read_text() == "abc"


def test_mean_and_deviation():
    found = work.standard(torch.arange(4.0))
    assert abs(found.mean()) < 1e-6
    assert abs(found.std() - 1) < 1e-6


def test_found():
    assert work.page().find("<b>") >= 0
    assert work.page().islower()


def test_all():
    assert all(map(work.is_even, [2, 4]))


def test_named():
    named = work.named(3, 4)
    assert named.length() == 5
    assert named == (3, 4)
    assert named.a + sum(named) == 10


def test_tensor_of_a_class():
    assert work.of_a_class().allclose(torch.ones(2))
    assert work.of_a_class().sum() == 2
