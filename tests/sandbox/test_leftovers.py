"""What a sandboxed process leaves in shared memory is gone before the next one runs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.sandbox import kernel
from grader.sandbox.limits import Limits
from grader.sandbox.sandbox import Sandbox
from grader.sandbox.workspace import remove_shared_memory

pytestmark = [
    pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64"),
    pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root has another user id to give"),
]
NAME = "torchkata-left-over"
KEY = 0x7061


def run(sandbox: Sandbox, child: Callable[[], None]) -> int:
    """The status of a child of the sandbox."""
    return os.waitpid(sandbox.fork(child, []), 0)[1]


def leave() -> None:
    """Leaves a file and objects of System V."""
    Path("/dev/shm", NAME).write_text("x")
    libc = ctypes.CDLL(None)
    made = [libc.shmget(KEY, 4096, 0o1600), libc.semget(KEY, 1, 0o1600), libc.msgget(KEY, 0o1600)]
    os._exit(0 if min(made) >= 0 else 9)


def look() -> None:
    """Ends with 0 if nothing of that is there."""
    libc = ctypes.CDLL(None)
    found = [libc.shmget(KEY, 0, 0), libc.semget(KEY, 0, 0), libc.msgget(KEY, 0)]
    os._exit(0 if max(found) < 0 and not os.path.exists(f"/dev/shm/{NAME}") else 1)


@pytest.mark.parametrize(
    "without", [(), ("ipc-namespace", "seccomp")], ids=["all layers", "without namespace and seccomp"]
)
def test_nothing_is_left_in_shared_memory(without: tuple[str, ...]) -> None:
    with contextlib.closing(Sandbox(limits=Limits(), without=without)) as sandbox:
        if "uid" not in sandbox.layers:
            pytest.skip(str(sandbox.reasons["uid"]))
        left = run(sandbox, leave)
        assert not without or left == 0  # with all layers some of it is refused
        assert run(sandbox, look) == 0
        run(sandbox, leave)
    assert not os.path.exists(f"/dev/shm/{NAME}")
    for table, key in (("shm", KEY), ("sem", KEY), ("msg", KEY)):
        rows = Path("/proc/sysvipc", table).read_text().splitlines()[1:]
        assert not [row for row in rows if row.split()[0] == str(key)]


def test_files_and_objects_of_one_user_are_removed() -> None:
    process = os.fork()
    if not process:
        try:
            os.setresuid(64_321, 64_321, 64_321)
            leave()
        finally:
            os._exit(8)
    assert os.waitpid(process, 0)[1] == 0
    other = Path("/dev/shm", f"{NAME}-of-another")
    other.touch()
    try:
        remove_shared_memory(64_321)
        assert not Path("/dev/shm", NAME).exists() and other.exists()
        tables = [Path("/proc/sysvipc", kind).read_text() for kind in ("shm", "sem", "msg")]
        assert not [row for table in tables for row in table.splitlines() if row.split()[0] == str(KEY)]
    finally:
        other.unlink()


@pytest.mark.parametrize("uid", [0, os.geteuid() if hasattr(os, "geteuid") else 0])
def test_nobody_elses_things_are_removed(uid: int) -> None:
    with pytest.raises(ValueError, match="may have things of its own"):
        remove_shared_memory(uid)


def test_no_limit_can_be_raised_again() -> None:
    def raise_each() -> None:
        for name in ("DATA", "AS", "NPROC", "FSIZE", "NOFILE", "CORE", "CPU", "MSGQUEUE"):
            kind = getattr(resource, f"RLIMIT_{name}")
            soft, hard = resource.getrlimit(kind)
            if soft != hard:
                os._exit(2)
            for wanted in ((soft + 1, hard + 1), (soft + 1, hard), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)):
                with contextlib.suppress(OSError, ValueError):
                    resource.setrlimit(kind, wanted)
                    os._exit(3)
        os._exit(0)

    with contextlib.closing(Sandbox(limits=Limits())) as sandbox:
        if "rlimits" not in sandbox.layers:
            pytest.skip(str(sandbox.reasons["rlimits"]))
        assert run(sandbox, raise_each) == 0
