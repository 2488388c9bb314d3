"""`make gpu` on a machine without a GPU: what runs there, and what it says of a Python that cannot be used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader import machine

HERE = Path(__file__).parent


def run(file: str, *arguments: str, modules: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a script of this folder; files in `modules` come before installed ones."""
    environment = {**os.environ, "PYTHONPATH": str(modules)} if modules else None
    command = [sys.executable, str(HERE / file), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.slow
@pytest.mark.skipif(machine.why_no_gpu() is None, reason="there is a GPU: `make gpu` proves more")
def test_answers_run_on_simulated_devices_alone() -> None:
    ran = run("compare.py", "--topics", "efficiency", "--every", "60")
    assert ran.returncode == 0, ran.stderr
    assert re.match(r"efficiency: 2 answers, 0 verdicts on both, 0 problems \(simulated \d+ s\)\n", ran.stdout)


@pytest.mark.parametrize(
    ("torch", "words"),
    [
        ("raise ImportError('no CUDA library')", "cannot use torch (ImportError: no CUDA library): make gpu PYTHON="),
        (
            "__version__ = '2.5.1'\nclass cuda:\n    device_count = staticmethod(lambda: 0)\n",
            "torch 2.5.1 is too old: the project needs 2.6 or newer",
        ),
    ],
    ids=["no torch", "an old torch"],
)
def test_a_python_without_a_good_torch_is_refused_in_one_line(tmp_path: Path, torch: str, words: str) -> None:
    (tmp_path / "torch.py").write_text(torch)
    ran = run("rehearse.py", modules=tmp_path)
    assert ran.returncode == 1 and words in ran.stderr and len(ran.stderr.splitlines()) == 1
