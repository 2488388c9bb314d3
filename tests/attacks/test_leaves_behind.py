"""Submissions that leave something for whoever comes next, or want to be the first whose replies become a plan.

Each replaces ``gram`` of an honest submission: what it earns by a right result it keeps, and nobody else notices.
"""

from __future__ import annotations

import pytest
from arena import EXERCISES, LIMITS, MARK, PORT, PROJECT, Arena

from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.results import SubmissionResult, to_json


def with_gram(text: str) -> Submission:
    """The solution with ``text`` below it."""
    solution = (PROJECT / "solutions" / "tensor_ops.py").read_text()
    return Submission("somebody", {"tensor_ops.py": f"{solution}\n{text}".encode()})


LEAVES = {
    "shared_memory": f"""
def gram(x):
    for number in range(8):
        with open(f"/dev/shm/{MARK}-{{number}}", "wb") as file:
            file.write(bytes(1000))
    return x @ x.T
""",
    "shared_memory_of_torch": """
kept = []

def gram(x):
    kept.append(torch.zeros(1000).share_memory_())
    return x @ x.T
""",
    "an_abstract_socket": f"""
import socket

kept = []

def gram(x):
    try:
        one = socket.socket(socket.AF_UNIX)
        one.bind("\\0{MARK}")
        one.listen()
        kept.append(one)
    except OSError:
        pass
    return x @ x.T
""",
    "a_port_in_a_thread": f"""
import socket, threading

def serve():
    with socket.create_server(("127.0.0.1", {PORT})) as server:
        server.accept()

def gram(x):
    threading.Thread(target=serve, daemon=True).start()
    return x @ x.T
""",
    "a_process_of_its_own_session": """
import os, time

forked = []

def gram(x):
    forked.append(1)
    if len(forked) > 1:
        return x @ x.T
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                time.sleep(1)
        os._exit(0)
    os.wait()
    return x @ x.T
""",
    "orphans_that_have_ended": """
import os, time

forked = []

def fork():
    for _ in range(1000):  # on a busy machine those before it may end, and be reaped, a little later
        try:
            return os.fork()
        except BlockingIOError:
            time.sleep(0.01)
    raise RuntimeError

def gram(x):
    while len(forked) < 15:  # with the children of each, more than a submission may have at a time
        forked.append(1)
        if fork() == 0:
            code = 1
            try:
                fork()
                code = 0
            finally:
                os._exit(code)
        if os.wait()[1]:
            return None  # the limit of processes was never free again: shown as a wrong answer
    return x @ x.T
""",
    "higher_limits": """
import resource

def gram(x):
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
        soft, hard = resource.getrlimit(kind)
        for wanted in ((hard, hard), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)):
            try:
                resource.setrlimit(kind, wanted)
            except (OSError, ValueError):
                pass
        if resource.getrlimit(kind)[0] > soft:
            return None  # a limit was raised: shown as a wrong answer
    return x @ x.T
""",
    "settings_of_torch": """
def gram(x):
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(3)
    torch.set_grad_enabled(False)
    return x @ x.T
""",
}


@pytest.mark.parametrize("what", LEAVES)
def test_nothing_is_left_for_the_next(arena: Arena, what: str) -> None:
    result = arena.attack(with_gram(LEAVES[what]))
    assert result.score == result.max == len(EXERCISES)


SLEEPERS = """
import os, time

def leaving(function):
    def leave(*args):
        for _ in range(60):
            try:
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(1e6)
            except OSError:
                break
        return function(*args)
    return leave

as_float32, make_tensor, describe, gram = map(leaving, (as_float32, make_tensor, describe, lambda x: x @ x))
"""


def test_sleepers_in_every_process_cost_no_exercise_and_no_worker(arena: Arena) -> None:
    """With its limit of processes used up each time; the wrong answer has the course's own run beside them."""
    result = arena.attack(with_gram(SLEEPERS))
    assert {one.name.partition(".")[2] for one in result.exercises if not one.score} == {"gram"}
    assert result.score == len(EXERCISES) - 1, result


FIRST = {
    "values": """
def gram(x):
    return torch.zeros(3, 3)

def make_tensor(values):
    raise KeyError("grader")

class Wide:
    def __getattr__(self, name):
        return 7

def describe(x):
    return Wide()

def as_float32(x):
    raise NotImplementedError("grader.testkit.devices: not simulated")
""",
    "some right ones": """
import os

calls, seen = [], []
as_it_should_be = make_tensor

def make_tensor(values):
    calls.append(1)
    if len(calls) == 4:
        os._exit(0)
    return as_it_should_be(values)

def gram(x):
    seen.append(1)
    return x @ x.T if len(seen) < 3 else x
""",
}
"""Each replaces some exercises: by other values and kinds of result at once, or after some calls."""


def graded_in_order(submissions: list[Submission]) -> list[SubmissionResult]:
    """The results of submissions that a new worker gets one after the other."""
    names = tuple(f"tensor_ops.{name}" for name in EXERCISES)
    worker = Worker()
    worker.configure(WorkerOptions(exercises=names, limits=LIMITS))
    try:
        results = [worker.grade(one, 120.0) for one in submissions]
    finally:
        worker.end(gently=True)
    return [one for one in results if isinstance(one, SubmissionResult)]


@pytest.mark.slow
@pytest.mark.parametrize("attack", FIRST)
def test_the_first_of_a_class_decides_nothing_for_the_others(arena: Arena, attack: str) -> None:
    """They get what the solution got where nobody had been before it."""
    hostile, second, third = graded_in_order([with_gram(FIRST[attack]), arena.honest, arena.honest])
    replaced = {name for name in EXERCISES if f"def {name}(" in FIRST[attack]}
    assert {one.name.partition(".")[2] for one in hostile.exercises if not one.score} == replaced
    assert to_json(second) == to_json(third) == arena.expected
