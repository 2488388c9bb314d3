"""Which engine is used, and what it needs of a system: found by trying."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from grader.errors import UserError
from grader.judge.time_limit import TimeLimit
from grader.sandbox import process_tree
from grader.student import engine
from grader.student.prints import FilePrints

linux = pytest.mark.skipif(sys.platform != "linux", reason="compares with what Linux says")


@linux
def test_forked_processes_are_the_choice_where_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(engine.VARIABLE, raising=False)
    assert engine.choose().engine == "forked"


@pytest.mark.parametrize(("module", "name"), [(os, "fork"), (signal, "SIGUSR1")])
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
    monkeypatch.delenv(engine.VARIABLE, raising=False)
    monkeypatch.delattr(module, name, raising=False)
    assert engine.choose() == ("portable", f"this system has no {module.__name__}.{name}")  # type: ignore[attr-defined]


def test_macos_does_not_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(engine.VARIABLE, raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert engine.choose().engine == "portable"


def test_a_variable_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(engine.VARIABLE, "portable")
    assert engine.choose().engine == "portable"
    monkeypatch.setenv(engine.VARIABLE, "steam")
    with pytest.raises(UserError, match="no such engine"):
        engine.choose()
    monkeypatch.setenv(engine.VARIABLE, "forked")
    monkeypatch.delattr(os, "fork", raising=False)
    with pytest.raises(UserError, match=r"os\.fork"):
        engine.choose()


@linux
def test_psutil_sees_what_proc_says(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)']); "
    with subprocess.Popen([sys.executable, "-c", sleeper + "print(1, flush=True); time.sleep(99)"], stdout=-1) as one:
        assert one.stdout is not None and one.stdout.readline()
        by_proc = process_tree.descendants(one.pid)
        memory = process_tree.memory_of([os.getpid()], 0)
        threads = process_tree.count_threads(one.pid)
        monkeypatch.setattr(process_tree, "HAS_PROC", False)
        assert process_tree.descendants(one.pid) == by_proc and len(by_proc) == 1
        assert process_tree.count_threads(one.pid) == threads == 1
        assert process_tree.memory_of([os.getpid()], 0) >= memory // 2
        assert process_tree.is_alive(by_proc[0])
        while not process_tree.activity(by_proc[0])[0]:  # it is still starting
            assert process_tree.is_alive(by_proc[0])
            time.sleep(0.01)
        assert process_tree.look([os.getpid()]).worked > 0
        process_tree.kill_tree_below(one.pid)
        assert not process_tree.is_alive(by_proc[0])
        process_tree.kill(one.pid)
        process_tree.kill(one.pid)
    assert not process_tree.is_alive(one.pid)


def test_what_is_printed_to_a_file_is_cut_at_its_limit_and_never_grows_long(tmp_path: Path) -> None:
    prints = FilePrints(tmp_path / "prints", 10)
    with open(tmp_path / "prints", "ab", buffering=0) as file:
        file.write(b"first")
        assert prints.seen() == "first"
        file.write(b" and much more")
        assert prints.take().startswith("first and \n(cut here")
        file.write(bytes(FilePrints.TOO_LONG_BYTES))
        prints.cut()
        assert (tmp_path / "prints").stat().st_size == 0
        prints.take()
        file.write(b"later")
        assert prints.take() == "later"
    prints.close()
    prints.close()


def test_the_judges_limit_needs_no_interval_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "setitimer", raising=False)
    alive = threading.Event()
    before = set(threading.enumerate())
    with TimeLimit(alive=alive.set).ticking():
        until = time.monotonic() + 60
        while not alive.is_set() and time.monotonic() < until:
            pass
    assert alive.is_set()
    assert set(threading.enumerate()) <= before
