"""No verdict depends on the seed: every answer of the project, right and wrong, with several of them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from promise_tables import TABLES
from seeds import Graded, show
from shared import REPO, as_nightly

from grader.sandbox import kernel

NEEDS_SANDBOX = pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
PASSED_ONCE = {
    "debugging.each_epoch_new: leaves_out_the_last_batch": 27,
    "debugging.same_after_resume: at_least_one_more_epoch": 3,
}
"""Wrong answers, each with a seed whose generated examples it passes: only a case that is spelled out fails it."""
FIRST, *REST = PASSED_ONCE.items()


@pytest.mark.nightly
@NEEDS_SANDBOX
@pytest.mark.parametrize("topic", TABLES)
def test_no_answer_passes_with_one_seed_and_fails_with_another(topic: str) -> None:
    assert_no_problem(topic)


@pytest.mark.slow
@NEEDS_SANDBOX
@pytest.mark.parametrize(("name", "seed"), [FIRST, *map(as_nightly, REST)])
def test_a_wrong_answer_fails_with_the_seed_that_it_once_passed(name: str, seed: int) -> None:
    assert_no_problem(name.partition(".")[0], "--only", name, "--seeds", str(seed))


def assert_no_problem(topic: str, *options: str) -> None:
    """Runs the script: fails unless it finds answers, and no problem."""
    done = subprocess.run(
        [sys.executable, REPO / "tests" / "seeds.py", "--topics", topic, *options],
        cwd=REPO,
        env={"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(rf"{topic}: \d+ right and [1-9]\d* wrong answers, 0 problems", done.stdout), done.stdout


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
