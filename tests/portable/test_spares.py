"""New Pythons of the portable engine: those that cannot start, and who else may connect in their place."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from grader.border import frames, wire
from grader.sandbox.limits import Limits
from grader.student import portable
from grader.student.process import Hello, Ready
from grader.student.student_process import HostGone


class NeverReady:
    """Stands for a new Python that ends at its start."""

    def finish_start(self) -> None:
        raise HostGone("it ended")

    def end(self) -> None:
        pass


def test_a_system_that_starts_no_process_any_more_is_said_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(order: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(portable, "SpawnedPython", refuse)
    first: Any = NeverReady()
    host = portable.PortableHost(first, Limits())
    try:
        for _ in range(2):
            with pytest.raises(HostGone, match="no more processes"):
                host.take()
        assert host._spares == deque()
    finally:
        host.close()


TOKEN = b"t" * 32


@pytest.fixture
def starting() -> Any:
    """A new Python as the judge sees it while it starts; no process is behind it."""
    one: Any = object.__new__(portable.SpawnedPython)
    one.listener, one.calls, one._token = socket.create_server(("127.0.0.1", 0)), None, TOKEN
    one.listener.settimeout(0.1)
    one.popen = SimpleNamespace(poll=lambda: None)
    yield one
    one.listener.close()
    if one.calls is not None:
        one.calls.close()


def trickle(listener: socket.socket) -> threading.Event:
    """A stranger, connected, who sends a frame byte by byte for a minute, and notes if the judge hangs up."""
    stranger, is_hung_up_on = socket.create_connection(listener.getsockname()), threading.Event()

    def send() -> None:
        try:
            with stranger:
                for byte in frames.frame(bytes(3000)):
                    stranger.sendall(bytes([byte]))
                    time.sleep(0.02)
        except OSError:
            is_hung_up_on.set()

    threading.Thread(target=send, daemon=True).start()
    return is_hung_up_on


def test_a_stranger_who_sends_slowly_does_not_hold_the_judge(starting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable, "START_SECONDS", 0.5)
    is_hung_up_on = trickle(starting.listener)
    with pytest.raises(HostGone, match="not ready"):
        starting.finish_start()
    assert is_hung_up_on.wait(60)


def test_the_process_itself_is_taken_after_strangers(starting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable, "_CONNECTING_SECONDS", 0.3)
    trickle(starting.listener)
    ready = Ready(process=os.getpid())
    address = starting.listener.getsockname()
    with socket.create_connection(address) as stranger, socket.create_connection(address) as itself:
        frames.send(stranger, wire.pack(Hello(b"x" * 32, ready)))
        frames.send(itself, wire.pack(Hello(TOKEN, ready)))
        starting.finish_start()
        assert starting.calls.getpeername() == itself.getsockname() and starting.pid == os.getpid()
