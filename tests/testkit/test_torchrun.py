"""Scripts under the real ``torchrun``, graded in the sandbox: how each ends, and that nothing of it stays behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from shared import REPO, Warm, WarmUp

from grader.sandbox import kernel, process_tree
from grader.sandbox.sandbox import probe_layers

MANIFEST = """\
[course]
name = "script"
title = "Script"

[[topics]]
name = "script"
title = "Script"
preload = ["torch._dynamo", "torch.distributed.run"]

[[topics.exercises]]
name = "main"
points = 1

[[topics]]
name = "hanging"
title = "A script that does not end"
preload = ["torch._dynamo", "torch.distributed.run"]

[[topics.exercises]]
name = "main"
points = 1
"""
CHECKS = '''\
"""Checks of a script."""
from grader.testkit import assert_equal, exercise, ranks

@exercise("TOPIC.main")
def test_main(submission):
    """One line on each worker."""
    ran = ranks.torchrun(submission.main, "TOPIC.py", seconds=SECONDS)
    assert_equal((ran.exit_code, ran.lines), (0, [1, 1]))
'''
HEAD = """\
import os, signal, sys, time
import torch
import torch.distributed as dist
from torch import nn

rank = int(os.environ.get("RANK", "0"))

def main():
    dist.init_process_group("gloo")
    x = torch.tensor(dist.get_rank() + 1)
    dist.all_reduce(x)
"""
RIGHT = """\
    model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    print(f"{int(x)} {dist.get_world_size()} {os.environ['LOCAL_RANK']}")
"""
SECONDS = {"script": 300.0, "hanging": 3.0}
"""How long the script of a topic may take: more than anything needs that ends, and little where it does not."""
GUARD = 'if __name__ == "__main__":\n    main()\n'
SCRIPTS = {
    "leaves the group": (RIGHT + "    dist.destroy_process_group()\n" + GUARD, "passed", ""),
    "leaves it open": (RIGHT + GUARD, "passed", ""),
    "exits with 0": (RIGHT + "    sys.exit()\n" + GUARD, "passed", ""),
    "exits with 3": (RIGHT + "    sys.exit(3)\n" + GUARD, "failed", "[0]: 1 where 0 was expected"),
    "leaves by os._exit": (RIGHT + "    sys.stdout.flush()\n    os._exit(0)\n" + GUARD, "passed", ""),
    "fails by os._exit": (RIGHT + "    os._exit(5)\n" + GUARD, "failed", "[0]: 1 where 0 was expected"),
    "has no guard": (RIGHT, "failed", "at [1][0]: 0 where 1 was expected"),
    "raises on one rank": (
        RIGHT + "    assert rank == 0, 'not me'\n    time.sleep(99)\n" + GUARD,
        "failed",
        "[0]: 1 where 0 was expected",
    ),
    "is killed": (
        RIGHT + "    rank and os.kill(os.getpid(), signal.SIGKILL)\n    dist.barrier()\n" + GUARD,
        "failed",
        "[0]: 1 where 0 was expected",
    ),
}
HANGS = RIGHT + "    rank or dist.barrier()\n    time.sleep(99)\n" + GUARD


@pytest.fixture(scope="module")
def graded(warm: WarmUp, tmp_path_factory: pytest.TempPathFactory) -> Warm:
    folder = tmp_path_factory.mktemp("script")
    (folder / "course.toml").write_text(MANIFEST)
    for name in ("checks", "solutions", "exercises"):
        (folder / name).mkdir()
    for topic, seconds in SECONDS.items():
        checks = CHECKS.replace("TOPIC", topic).replace("SECONDS", str(seconds))
        (folder / "checks" / f"test_{topic}.py").write_text(checks)
        (folder / "solutions" / f"{topic}.py").write_text(HEAD + RIGHT + GUARD)
        (folder / "exercises" / f"{topic}.py").write_text("def main(): raise NotImplementedError\n")
    return warm(Path(folder), check_seconds=20.0)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_ends_as_it_would_from_the_command_line(graded: Warm, name: str) -> None:
    body, verdict, words = SCRIPTS[name]
    (check,) = graded.grade(script=HEAD + body).exercises[0].checks
    assert check.verdict == verdict and words in check.message, check.message


def test_what_a_script_does_is_flagged_as_in_a_call(graded: Warm) -> None:
    hidden = '    [__import__("sys")][0].__getattribute__("_get" + "frame")()\n'
    result = graded.grade(script=HEAD + RIGHT + hidden + GUARD)
    assert result.exercises[0].checks[0].verdict == "passed"
    assert [(flag.text, flag.file) for flag in result.flags] == [("looked at the frames of its callers", "script.py")]
    assert graded.grade(script=HEAD + RIGHT + GUARD).flags == ()


def test_a_script_that_hangs_is_ended(graded: Warm) -> None:
    (check,) = graded.grade(hanging=HEAD + HANGS).exercises[1].checks
    assert check.verdict == "timeout" and "hanging.py did not end" in check.message, check.message
    assert "rank 0: 3 2 0" in check.message and "rank 1: 3 2 1" in check.message, "what it had printed"


WITHOUT_MOUNTS = """
import os, struct, sys
from grader.sandbox import kernel, seccomp

number = {"x86_64": 165, "aarch64": 40}[kernel.MACHINE]
program = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)]
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
seccomp.install(b"".join(struct.pack("=HBBI", *one) for one in program))
os.execv(sys.executable, [sys.executable, "-m", "grader", *sys.argv[1:]])
"""
"""The command where `mount` is refused, as AppArmor does in containers."""


@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
def test_a_script_is_not_assessed_where_no_lock_can_be_made() -> None:
    """Without a mount namespace, Landlock keeps the launcher from /dev/shm: no answer could pass."""
    for layer in ("landlock", "net-namespace"):
        if reason := probe_layers().get(layer, "not for this user"):
            pytest.skip(f"{layer}: {reason}")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MOUNTS, "check", "solutions", "ddp.main", "--format", "json"],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done
    (result,) = map(json.loads, done.stdout.splitlines())
    assert "mount-namespace" not in result["sandbox"] and "landlock" in result["sandbox"]
    found = {check["name"]: check["verdict"] for one in result["exercises"] for check in one["checks"]}
    assert found.pop("under_torchrun") == "skipped" and set(found.values()) == {"passed"}


OUTLIVES = """
import ctypes, os, signal, time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
ctypes.CDLL(None).prctl(1, 0)  # PR_SET_PDEATHSIG: not to end with its parent
with open("PLACE", "w") as file:
    file.write(str(os.getpid()))
time.sleep(60)
"""


@pytest.mark.skipif(not kernel.SUPPORTED, reason="needs prctl")
def test_a_script_that_outlives_its_worker_is_ended_too(tmp_path: Path) -> None:
    place = tmp_path / "process"
    (tmp_path / "script.py").write_text(OUTLIVES.replace("PLACE", str(place)))
    run = "from grader.testkit._ranks.launch import run_launcher\nprint(run_launcher('script.py', 1, 8.0, {}, ''))"
    subprocess.run([sys.executable, "-c", run], cwd=tmp_path, capture_output=True, timeout=120, check=True)
    script = int(place.read_text())
    alive = process_tree.is_alive(script)
    process_tree.kill(script)
    assert not alive
