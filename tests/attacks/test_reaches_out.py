"""Submissions that reach for the network, other processes and other folders; honest only when nothing was reached."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from arena import Arena, submission

from grader.intake.submission import Submission


@pytest.mark.parametrize("attack", ["writes_elsewhere", "writes_memory", "gains_rights", "listens"])
def test_nothing_is_reached(arena: Arena, attack: str) -> None:
    arena.survive(attack, gram="passed")


def test_servers_of_the_host_are_out_of_reach(arena: Arena, tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        local.bind(str(tmp_path / "socket"))
        abstract.bind("\0torchkata-attack")
        local.listen()
        abstract.listen()
        places = f"PORTS = ({server.getsockname()[1]},)\nPATHS = ({str(tmp_path / 'socket')!r},)\n"
        files = {**submission("network").files, "places.py": places.encode()}
        assert arena.attack(Submission("network", files)).score == 4
