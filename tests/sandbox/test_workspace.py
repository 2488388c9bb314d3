"""The folders of sandboxes: what is left of killed ones goes, and nothing else."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from grader import locks
from grader.sandbox import workspace
from grader.sandbox.workspace import Workspace, folder_in_use

KILLED = """
import os, signal
from grader.sandbox.workspace import Workspace, folder_in_use

made, of_suite = Workspace(), folder_in_use("torchkata-suite-")
of_suite.__enter__()
(made.work / "closed").mkdir()
(made.work / "closed" / "file").touch()
(made.work / "closed").chmod(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_what_a_killed_host_left_is_removed_by_the_next_and_folders_in_use_are_not(tmp_path: Path) -> None:
    with contextlib.closing(Workspace()) as used:
        ended = subprocess.run([sys.executable, "-c", KILLED], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
        assert ended.returncode == -signal.SIGKILL
        assert len(list(tmp_path.iterdir())) == 3
        with contextlib.closing(Workspace()) as new, folder_in_use("torchkata-suite-") as of_suite:
            assert set(tmp_path.iterdir()) == {used.base, new.base, of_suite}
        assert not of_suite.exists()


def test_no_folder_of_somebody_elses_is_removed_however_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one with such a name, nor one made where folders could not be locked, for as long as it may be used."""
    mine = tmp_path / "torchkata-sandbox-mine"
    (mine / "work").mkdir(parents=True)
    with monkeypatch.context() as without:
        without.setattr(workspace, "_OFFERED", False)
        never_locked = Workspace()
    with monkeypatch.context() as without:
        without.setattr(locks, "lock", lambda descriptor, wait=True: False)
        not_lockable = Workspace()
    theirs = {mine, never_locked.base, not_lockable.base}
    for folder in theirs:
        os.utime(folder, (0, 0))
    with contextlib.closing(Workspace()) as new:
        assert set(tmp_path.iterdir()) == {new.base, *theirs}
    for one in (never_locked, not_lockable):
        one.close()
    assert list(tmp_path.iterdir()) == [mine]


def test_a_folder_that_was_removed_before_it_was_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks for what killed hosts left may hold the lock first."""
    lock, waiting = locks.lock, [True]

    def too_late(descriptor: int, *, wait: bool = True) -> bool:
        if waiting.pop() if waiting else False:
            with contextlib.closing(Workspace()):
                pass
        return lock(descriptor, wait=wait)

    monkeypatch.setattr(locks, "lock", too_late)
    with contextlib.closing(Workspace()) as made:
        assert made.work.is_dir() and list(tmp_path.iterdir()) == [made.base]
