"""``--devices``: what it means on a machine, which device files the sandbox shows, and that grades do not mix."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import stat
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_here import run_here
from shared import REPO

from grader import machine
from grader.errors import UserError
from grader.grading.protocol import WorkerOptions
from grader.grading.settings import selection
from grader.sandbox import kernel
from grader.sandbox.limits import Limits
from grader.sandbox.sandbox import Sandbox

OWN = REPO / "examples" / "own_course"
NO_CUDA = machine.why_no_gpu()


def in_sandbox(sandbox: Sandbox, look: Callable[[], Any]) -> Any:
    """What a function returns in a child process inside the sandbox."""
    reader, writer = os.pipe()
    child = sandbox.fork(lambda: os.write(writer, json.dumps(look()).encode()) and None, [writer])
    os.close(writer)
    with open(reader, encoding="utf-8") as ended:
        text = ended.read()
    assert os.waitpid(child, 0)[1] == 0
    return json.loads(text)


# ---------------------------------------------------------------- what the option means on a machine


def test_device_files_of_a_machine_are_found(tmp_path: Path) -> None:
    names = ["nvidia0", "nvidia11", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"]
    (tmp_path / "nvidia-caps").mkdir()
    for name in [*names, "nvidia-caps/nvidia-cap1", "null", "nvidia0.bak", "sda"]:
        (tmp_path / name).touch()
    assert {str(path.relative_to(tmp_path)) for path in machine.gpu_files(tmp_path)} == {
        *names,
        "nvidia-caps/nvidia-cap1",
    }
    assert machine.gpu_files(tmp_path / "nothing") == []


def test_a_driver_without_a_gpu_is_reported_as_no_gpu(tmp_path: Path) -> None:
    (tmp_path / "nvidiactl").touch()
    assert machine.why_no_gpu(tmp_path) == "no NVIDIA GPU, or no driver for it"


def test_auto_is_resolved_for_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "why_no_gpu", lambda: None)
    assert [machine.resolve_devices(name) for name in ("auto", "simulated", "real")] == ["auto", "simulated", "real"]
    monkeypatch.setattr(machine, "why_no_gpu", lambda: "none")
    assert [machine.resolve_devices(name) for name in ("auto", "simulated")] == ["simulated", "simulated"]
    with pytest.raises(UserError, match="needs a CUDA device"):
        machine.resolve_devices("real")


@pytest.mark.skipif(NO_CUDA is None, reason="there is a CUDA device")
@pytest.mark.parametrize("command", ["check", "grade", "verify"])
def test_real_devices_are_refused_where_there_are_none(command: str, tmp_path: Path) -> None:
    where = [OWN / "solutions", "--out", tmp_path] if command == "grade" else []
    ended = run_here(command, *where, "--course", OWN, "--devices", "real")
    assert ended.returncode == 4 and "Traceback" not in ended.stderr
    assert ended.stderr.splitlines() == [
        f"error: --devices real: needs a CUDA device ({NO_CUDA})",
        "  use --devices simulated",
    ]


def test_an_unknown_kind_of_devices_is_refused() -> None:
    ended = run_here("check", "--devices", "fake")
    assert ended.returncode == 4 and "auto" in ended.stderr


def test_doctor_says_what_auto_means() -> None:
    line = next(line for line in run_here("doctor").stdout.splitlines() if line.startswith("devices"))
    assert ("simulated" in line) if NO_CUDA is None else (f"simulated ({NO_CUDA})" in line)


# ---------------------------------------------------------------- grades do not mix


def test_another_kind_of_devices_is_another_grading() -> None:
    keys = {selection(WorkerOptions(devices=name)) for name in ("auto", "simulated", "real")}
    assert len(keys) == 3


@pytest.mark.skipif(NO_CUDA is None, reason="there is a CUDA device")
def test_auto_without_cuda_is_the_same_grading_as_simulated(tmp_path: Path) -> None:
    for name in ("auto", "simulated"):
        options = ("--course", OWN, "--out", tmp_path, "--jobs", "1", "--devices", name)
        ran = run_here("grade", OWN / "solutions", *options)
        assert ran.returncode == 0, ran.stderr
    assert "run 2: 0 graded, 1 taken over" in run_here("status", "--out", tmp_path).stdout


# ---------------------------------------------------------------- what the sandbox shows


@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux")
def test_with_real_devices_the_files_of_the_gpus_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Path("/dev/tty")
    monkeypatch.setattr(machine, "cuda_paths", lambda: [node])

    def look() -> list[object]:
        found: list[object] = [node.exists() and os.access(node, os.R_OK | os.W_OK)]
        with open("/dev/random", "rb") as random:
            request = 0x80045200  # RNDGETENTCNT: an ioctl on a device file, as CUDA's are
            found.append(len(fcntl.ioctl(random, request, struct.pack("i", 0))))
        found.append(resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY)
        found.append(os.environ.get("CUDA_VISIBLE_DEVICES"))
        return found

    assert stat.S_ISCHR(node.stat().st_mode)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    unlimited = resource.getrlimit(resource.RLIMIT_AS)[1] == resource.RLIM_INFINITY
    with closing(Sandbox(limits=Limits(), gpus=True)) as sandbox:
        assert in_sandbox(sandbox, look) == [True, 4, unlimited, "3"]
    with closing(Sandbox(limits=Limits())) as sandbox:
        shown = "mount-namespace" not in sandbox.layers
        if not shown:
            assert in_sandbox(sandbox, look) == [False, 4, False, ""]
