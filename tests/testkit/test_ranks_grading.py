"""Ranks in the sandbox: a class of unlucky and hostile submissions, graded by the command, each with its verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.course import Course
from grader.results import SubmissionResult, from_json

REPO = Path(__file__).resolve().parent.parent.parent
MANIFEST = """\
[course]
name = "team"
title = "Team"

[[topics]]
name = "team"
title = "Team"
preload = ["torch._dynamo"]

[[topics.exercises]]
name = "total"
points = 1

[[topics.exercises]]
name = "alone"
points = 1
"""
CHECKS = '''\
"""Checks of team."""
from grader.testkit import assert_equal, exercise, probes, ranks

@exercise("team.total")
def test_total(submission):
    """The sum over the ranks, on every rank, and the group as it was."""
    world = ranks.run(submission.total, ranks.RANK, look=ranks.call(probes.has_group), seconds=2.0)
    assert_equal(world.results, [1, 1])
    assert_equal(world.looks, [True, True])

@exercise("team.alone")
def test_alone(submission):
    """It is one."""
    assert_equal(submission.alone(), 1)
'''
HEAD = """\
import os, signal, socket, subprocess, sys, time
import torch
import torch.distributed as dist

def alone():
    return 1

def total(rank):
    x = torch.tensor(rank)
"""
TOTAL = "    dist.all_reduce(x)\n    return int(x)\n"
SUBMISSIONS = {
    "right": (TOTAL, "passed", ""),
    "wrong": ("    return int(x)\n", "failed", "at [0]: 0 where 1 was expected"),
    "raises": ("    assert rank == 0, 'not me'\n" + TOTAL, "failed", "AssertionError: not me (on rank 1)"),
    "hangs": (f"    if rank == 0:\n    {TOTAL}", "timeout", "rank 1 never reached all_reduce: rank 1 had returned"),
    "loops": (
        "    while rank:\n        pass\n" + TOTAL,
        "timeout",
        "rank 1 never reached all_reduce: rank 1 was in line",
    ),
    "sleeps": ("    time.sleep(99)\n", "timeout", "no end within 2 s: rank 0 was in line"),
    "exits": ("    if rank:\n        os._exit(0)\n" + TOTAL, "crashed", "ended the process of rank 1 with exit code 0"),
    "leaves": (
        "    dist.all_reduce(x)\n    dist.destroy_process_group()\n    return int(x)\n",
        "failed",
        "at [0]: False where True was expected",
    ),
    "opens": (
        "    s = socket.socket()\n    s.bind(('127.0.0.1', 12345))\n    s.listen()\n" + TOTAL,
        "failed",
        "Address already in use (on rank",
    ),
    "forks": (
        "    for _ in range(3):\n        if not os.fork():\n            os.setsid()\n"
        "            os.execv('/bin/sleep', ['torchkata-left-behind', '600'])\n" + TOTAL,
        "passed",
        "",
    ),
    "kills_its_parent": ("    os.kill(os.getppid(), signal.SIGKILL)\n" + TOTAL, "crashed", "ended by signal 9"),
    "kills_its_group": ("    os.killpg(0, signal.SIGKILL)\n", "crashed", "SIGKILL"),
    "forges": (
        "    os.write(1, b'{}' * 100)\n    for fd in range(3, 64):\n        try:\n"
        "            os.write(fd, b'\\x93\\x00' * 40)\n        except OSError:\n            pass\n    return 1\n",
        "not passed",  # which way it goes depends on what the garbage meets first
        "",
    ),
    "prints": ("    for _ in range(100_000):\n        print('x' * 99)\n" + TOTAL, "passed", ""),
}


def grader(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "grader", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SubmissionResult]:
    """All submissions, graded in one run."""
    root = tmp_path_factory.mktemp("team")
    stub = (
        HEAD.partition("def alone")[0] + "def alone():\n    raise NotImplementedError\n\ndef total(rank):\n    pass\n"
    )
    files = {
        "course/course.toml": MANIFEST,
        "course/checks/test_team.py": CHECKS,
        "course/exercises/team.py": stub,
        "course/solutions/team.py": HEAD + TOTAL,
        **{f"class/{name}/team.py": HEAD + body for name, (body, _, _) in SUBMISSIONS.items()},
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    out = root / "out"
    run = grader("grade", root / "class", "--course", root / "course", "--out", out, "--jobs", "1")
    assert run.returncode == 1, run.stderr
    found = [from_json(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    return {result.submission: result for result in found}


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_verdict_of(results: dict[str, SubmissionResult], name: str) -> None:
    _, verdict, text = SUBMISSIONS[name]
    total, alone = results[name].exercises
    found = total.checks[0].verdict
    assert alone.checks[0].verdict == "passed"
    assert found != "passed" if verdict == "not passed" else found == verdict, total.checks[0].message
    assert text in total.checks[0].message


def test_nothing_is_left_behind(results: dict[str, SubmissionResult]) -> None:
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert b"torchkata-left-behind" not in command.read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue


def _refusal(tmp_path: Path, preload: str) -> str:
    for name, text in {"course.toml": MANIFEST.replace('["torch._dynamo"]', preload), "checks/test_team.py": CHECKS,
                       "exercises/team.py": HEAD + TOTAL, "solutions/team.py": HEAD + TOTAL}.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    run = grader("check", "--json", "--course", tmp_path, "--submission", tmp_path / "solutions")
    assert run.returncode != 0
    return run.stderr + run.stdout


def test_a_module_to_preload_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "No module named 'no_such_module'" in _refusal(tmp_path, '["no_such_module"]')


def test_what_is_no_module_name_is_told_with_its_line(tmp_path: Path) -> None:
    text = _refusal(tmp_path, '["../x"]')
    assert "`../x` cannot be the name of a module" in text and "course.toml:8" in text


def test_preload_of_a_course(tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(MANIFEST, encoding="utf-8")
    course = Course.load(tmp_path, complete=False)
    assert course.preload(["team"]) == ["torch._dynamo"]
    assert course.preload([]) == []
    assert json.dumps(course.topic("team").preload) == '["torch._dynamo"]'
