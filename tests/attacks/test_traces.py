"""What one process of a topic leaves in its sandbox: a later one, which decides, must not find it."""

from __future__ import annotations

import pytest
from arena import HONEST, PROJECT, Arena, messages_of

from grader.intake.submission import Submission

TRACES = {
    "limits_of_the_leader": """
def leave():
    resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (77, 256))

def is_there():
    return " 77 " in open("/proc/1/limits").read()
""",
    "processors_of_the_leader": """
def leave():
    os.sched_setaffinity(os.getppid(), {max(os.sched_getaffinity(0))})

def is_there():
    return os.sched_getaffinity(0) == {max(range(os.cpu_count()))} != {0}
""",
    "counters_of_the_network": """
def leave():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()

def is_there():
    (row,) = (row.split() for row in open("/proc/net/dev") if row.strip().startswith("lo:"))
    return row[1] != "0"
""",
    "process_numbers": """
def leave():
    for _ in range(12):
        if not os.fork():
            os._exit(0)
        os.wait()

def is_there():
    return os.getpid() > 12
""",
}


@pytest.mark.parametrize("trace", TRACES)
def test_a_second_try_finds_no_trace_of_the_first(arena: Arena, trace: str) -> None:
    """``gram`` is wrong, and leaves a trace; it would be right if the process had found one when it began."""
    solution = (PROJECT / "solutions" / "tensor_ops.py").read_text()
    text = f"""
import os, resource, socket
{TRACES[trace]}
is_second = is_there()
left = []

def gram(x):
    if is_second:
        return x @ x.T
    if not left:
        left.append(1)
        try:
            leave()
        except OSError:
            pass
    return x + 1
"""
    result = arena.attack(Submission("somebody", {"tensor_ops.py": f"{solution}\n{text}".encode()}))
    assert result.score == len(HONEST), messages_of(result)
    assert not result.notes, "the look at the start could not be taken"
