"""A machine with little memory: whoever takes it loses points, and nobody else does. In a real control group."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from shared import OWN_COURSE

from grader.machine import _control_groups, memory_bytes, workers_in_memory

BYTES = 1400 << 20
SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
HUNGRY = """

own_cosine = cosine


def cosine(a, b):
    rows = [bytearray(b"x") * (100 << 20) for _ in range(14)]
    return own_cosine(a, b)
"""
"""Takes 1.4 GiB: less than a submission may elsewhere, more than the control group has beside the grader."""
CHILDREN = """
import os, time

own_cosine = cosine


def cosine(a, b):
    for _ in range(5):
        if not os.fork():
            rows = [bytearray(b"x") * (50 << 20) for _ in range(5)]
            time.sleep(600)
            os._exit(0)
    while True:
        time.sleep(1)  # until the limit of memory, or that of time, ends it
"""
"""Takes as much in processes that hold 250 MiB each."""


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of `BYTES`, below the one that this process is in."""
    parents = _control_groups()
    if not parents:
        pytest.skip("this system has no control groups")
    group = parents[0] / f"torchkata-test-{os.getpid()}"
    version_1 = (parents[0] / "memory.limit_in_bytes").exists()
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if version_1 else "memory.max")).write_text(str(BYTES))
        if not version_1:
            (group / "memory.swap.max").write_text("0")
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"no control group can be made here: {error.strerror}")
    yield group
    group.rmdir()


def run_in(group: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs ``python -m`` with these arguments in the group."""
    code = (
        "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid()));"
        "os.execv(sys.executable, [sys.executable, '-m', *sys.argv[2:]])"
    )
    command = [sys.executable, "-c", code, str(group / "cgroup.procs"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_who_takes_more_memory_than_there_is_loses_points_and_the_others_get_theirs(
    group: Path, tmp_path: Path
) -> None:
    texts = {"alice": SOLUTION, "bob": SOLUTION + HUNGRY, "carol": SOLUTION + CHILDREN, "dora": SOLUTION}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "vectors.py").write_text(text)
    people = [str(tmp_path / name) for name in texts]
    out = tmp_path / "out"
    done = run_in(group, "grader", "grade", *people, "--course", str(OWN_COURSE), "--out", str(out), "--jobs", "2")
    assert "--jobs 2: the memory is enough for 1 at a time" in done.stderr, done.stderr
    assert "--memory: a submission may use 0.9 GiB here" in done.stderr, done.stderr
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    found = {one["submission"]: one for one in results}
    assert {name: (one["score"], one["max"]) for name, one in found.items()} == {
        **dict.fromkeys(("alice", "dora"), (3, 3)),
        **dict.fromkeys(("bob", "carol"), (1, 3)),
    }
    for name in ("bob", "carol"):
        (cosine,) = (one for one in found[name]["exercises"] if one["name"] == "vectors.cosine")
        assert {check["verdict"] for check in cosine["checks"]} == {"crashed"}
        assert "memory" in cosine["checks"][0]["message"]


def test_doctor_says_what_the_group_allows(group: Path) -> None:
    lines = run_in(group, "grader", "doctor").stdout.splitlines()
    assert "memory      1.4 GiB, enough for 1 submission at a time, each with 0.9 GiB at most" in lines


def test_memory_is_known_here() -> None:
    memory = memory_bytes()
    assert memory is not None and 1 <= workers_in_memory() <= max(memory >> 30, 1)
