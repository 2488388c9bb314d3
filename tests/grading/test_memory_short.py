"""Memory that is short costs nobody points: in a real control group, in which the system ends processes."""

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
"""Takes 1.4 GiB: less than a submission may, more than the control group has beside the grader."""


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
def test_what_the_system_ends_is_not_assessed_and_the_others_get_their_points(group: Path, tmp_path: Path) -> None:
    for name, text in {"alice": SOLUTION, "bob": SOLUTION + HUNGRY, "carol": SOLUTION}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "vectors.py").write_text(text)
    people = [str(tmp_path / name) for name in ("alice", "bob", "carol")]
    out = tmp_path / "out"
    done = run_in(group, "grader", "grade", *people, "--course", str(OWN_COURSE), "--out", str(out), "--jobs", "2")
    assert "--jobs 2: the memory is enough for 1 at a time" in done.stderr, done.stderr
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    found = {one["submission"]: one for one in results}
    assert [found[name]["score"] == found[name]["max"] == 3 for name in ("alice", "carol")] == [True, True]
    assert found["bob"]["score"] == found["bob"]["max"] < 3
    (cosine,) = (one for one in found["bob"]["exercises"] if one["name"] == "vectors.cosine")
    assert {check["verdict"] for check in cosine["checks"]} <= {"skipped", "passed"}
    assert "memory_short" in {check["cause"]["kind"] for check in cosine["checks"] if check["cause"]}


def test_doctor_says_what_the_group_allows(group: Path) -> None:
    lines = run_in(group, "grader", "doctor").stdout.splitlines()
    assert "memory      1.4 GiB, enough for 1 submission at a time" in lines


def test_memory_is_known_here() -> None:
    memory = memory_bytes()
    assert memory is not None and 1 <= workers_in_memory() <= max(memory >> 30, 1)
