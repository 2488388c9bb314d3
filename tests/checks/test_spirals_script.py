"""The last topic as a program: it trains and reports alone, and under torchrun on all ranks together.

The latter is nightly: other scripts are checked under torchrun in the suite, and `run_on_ranks` of this one on ranks.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.course import Course

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for solution in Course.load(None).solutions_dir.glob("*.py"):
        shutil.copy(solution, tmp_path)
    return tmp_path


def output(folder: Path, *command: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}  # two ranks may have one GPU
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_alone_it_prints_the_report(folder: Path) -> None:
    best, measured, improving = output(folder, "spirals.py").splitlines()
    assert re.fullmatch(r"best epoch: \d+ of 60", best)
    found = re.fullmatch(r"validation: loss 0\.\d{4}, accuracy ([01]\.\d{4})", measured)
    assert found and float(found[1]) >= 0.95
    assert re.fullmatch("still improving: (yes|no)", improving)


@pytest.mark.nightly
def test_under_torchrun_every_rank_reaches_the_same_accuracy(folder: Path) -> None:
    """Each rank ends without torch's own end, which can abort on a busy machine (as `_ranks/launch.py` says)."""
    program = "import os, runpy\nrunpy.run_path('spirals.py', run_name='__main__')\nos._exit(0)\n"
    (folder / "program.py").write_text(program)
    text = output(folder, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "program.py")
    found = re.findall(r"^rank (\d) of 2: validation accuracy ([01]\.\d{4})$", text, re.MULTILINE)
    assert sorted(rank for rank, _ in found) == ["0", "1"]
    assert found[0][1] == found[1][1] and float(found[0][1]) >= 0.95
