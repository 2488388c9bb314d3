"""Memory that looks as if nobody held it: buffers of sockets, pages of the host that were written to, shared pages.

Each attack takes more than it may, and ends by itself before it has 1.5 GiB.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from arena import EXERCISES, HONEST, LIMITS, PROJECT, Arena, messages_of
from msgspec.structs import replace

from grader.grading.protocol import WorkerOptions
from grader.intake.submission import Submission

ROOMY = replace(LIMITS, check_seconds=20.0, topic_seconds=150.0, memory_bytes=384 << 20)
"""Time enough to take all the memory on a slow machine: who takes too much is ended for that, and soon."""


@pytest.fixture(scope="module")
def roomy(arenas: list[Arena]) -> Iterator[Arena]:
    """An arena with these limits."""
    names = tuple(f"tensor_ops.{name}" for name in EXERCISES)
    honest = Submission("honest", {"tensor_ops.py": (PROJECT / "solutions" / "tensor_ops.py").read_bytes()})
    arena = Arena(WorkerOptions(exercises=names, limits=ROOMY, misconceptions=False), honest)
    yield arena
    arena.close()


@pytest.fixture
def arena(roomy: Arena, request: pytest.FixtureRequest) -> Iterator[Arena]:
    with roomy.after(request.session) as arena:
        yield arena


def with_gram(text: str) -> Submission:
    """The solution with ``text`` below it."""
    solution = (PROJECT / "solutions" / "tensor_ops.py").read_text()
    return Submission("somebody", {"tensor_ops.py": f"{solution}\n{CHILDREN}\n{text}".encode()})


CHILDREN = """
import os, signal, time

def in_children(count, action, seconds=60):
    \"\"\"Forks, lets all children act together and wait, and ends them so long after the last has acted.\"\"\"
    children = []
    global says
    acted, says = os.pipe()
    waits, go = os.pipe()
    for _ in range(count):
        child = os.fork()
        if not child:
            try:
                os.close(acted)
                os.close(go)
                os.read(waits, 1)
                os.close(waits)
                kept = action()
                os.write(says, b"x")
                time.sleep(600)
            finally:
                os._exit(0)
        children.append(child)
    for one in (says, waits, go):
        os.close(one)
    while count and (said := os.read(acted, count)):
        count -= len(said)
    os.close(acted)
    time.sleep(0 if count else seconds)  # a child that ended without having acted is no attack
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

def fill(one):
    one.setblocking(False)
    try:
        while True:
            one.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    return one
"""
HIDES = {
    "processes_whose_first_thread_has_ended": """
import ctypes, threading

def hold():
    while open("/proc/self/stat").read().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    data = bytearray(b"x") * (110 << 20)
    os.write(says, b"x")
    time.sleep(60)

def hold_in_a_thread():
    threading.Thread(target=hold).start()
    ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)  # `exit` of this thread alone

def gram(x):
    in_children(6, hold_in_a_thread)
    return x @ x.T
""",
    "pages_of_the_host": """
import ctypes

def write_again():
    for line in open("/proc/self/maps"):
        span, rights, *_ = line.split()
        start, end = (int(word, 16) for word in span.split("-"))
        if rights == "rw-p":
            pages = memoryview((ctypes.c_char * (end - start)).from_address(start)).cast("B")[::4096]
            pages[:] = bytes(pages)

def gram(x):
    in_children(6, write_again)
    return x @ x.T
""",
    "buffers_of_socket_pairs": """
import socket

def gram(x):
    in_children(12, lambda: [fill(one) for _ in range(100) for one in socket.socketpair()])
    return x @ x.T
""",
    "connections_that_nobody_takes": """
import socket

def connect(address):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(address)
        fill(one)

def gram(x):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("listener")
    listener.listen(4096)
    for _ in range(3500):
        connect("listener")
    time.sleep(60)
    return x @ x.T
""",
}


@pytest.mark.parametrize("attack", HIDES)
def test_it_counts_as_memory_of_the_submission(arena: Arena, attack: str) -> None:
    result = arena.attack(with_gram(HIDES[attack]))
    assert result.score == len(HONEST)
    assert result.max == len(EXERCISES)
    assert "memory" in " ".join(messages_of(result)), messages_of(result)


def test_memory_that_processes_share_counts_once(arena: Arena) -> None:
    shares = """
data = []

def gram(x):
    if not data:
        data.append(bytearray(b"x") * (200 << 20))
        in_children(4, lambda: sum(data[0][::4096]), seconds=1)
    return x @ x.T
"""
    result = arena.attack(with_gram(shares))
    assert result.score == len(EXERCISES), messages_of(result)
