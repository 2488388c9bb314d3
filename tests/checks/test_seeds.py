"""No verdict depends on the seed: every answer of the project, right and wrong, with several of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from promise_tables import TABLES
from seeds import Graded, show
from shared import REPO

from grader.sandbox import kernel


@pytest.mark.nightly
@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
@pytest.mark.parametrize("topic", TABLES)
def test_no_answer_passes_with_one_seed_and_fails_with_another(topic: str) -> None:
    done = subprocess.run(
        [sys.executable, REPO / "tests" / "seeds.py", "--topics", topic],
        cwd=REPO,
        env={"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{topic}: "), done.stdout


def test_an_answer_that_depends_on_the_seed_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    both = {"fixed": "passed", "drawn": "passed"}
    cases = [
        Graded("t.e: by chance", is_right=False, verdicts={0: both, 3: {**both, "drawn": "failed"}}),
        Graded("t.e: refused", is_right=True, verdicts={0: both, 3: {**both, "drawn": "timeout"}}),
        Graded("t.e: always", is_right=False, verdicts={0: {"fixed": "failed"}, 3: {"fixed": "failed"}}),
        Graded("t.e: the solution", is_right=True, verdicts={0: both, 3: both}),
    ]
    assert show("t", {one.name: one for one in cases}) == 2
    assert capsys.readouterr().out.splitlines() == [
        "t: 2 right and 2 wrong answers, 2 problems, 2 verdicts that depend on the seed",
        "  PROBLEM t.e: by chance: wrong, and passes with 0",
        "  PROBLEM t.e: refused: right, and fails with 3: drawn timeout",
        "  t.e: by chance: drawn passed with 0, failed with 3",
        "  t.e: refused: drawn passed with 0, timeout with 3",
    ]
