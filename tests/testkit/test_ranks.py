"""Ranks: results by value, and every way for them to go wrong ends soon, with a name and with no process left."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.border.channel import Channel
from grader.border.failures import SubmissionCrashed, SubmissionRaised, SubmissionTimeout
from grader.border.proxies import SubmissionProxy
from grader.border.transport import Activity
from grader.course import Course
from grader.judge.in_process import LocalHost, ModuleProcess
from grader.kit import load
from grader.sandbox import process_tree
from grader.testkit import probes, ranks, recipes
from grader.testkit._ranks import rank as rank_process
from grader.testkit._ranks import world
from grader.testkit._ranks.members import LOCATE_SECONDS, Member, RankState, locate, own_lines, stuck

HEAD = """\
import os, sys, time
import torch
import torch.distributed as dist

"""
LINE = HEAD.count("\n") + 2
"""The line of the first statement of a function that follows the head."""

KIT = load(Course.load(None).kit)

Written = Callable[[str], SubmissionProxy]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No process may be left below this one, once the submission's transport is closed."""
    before = set(process_tree.descendants(os.getpid()))
    yield
    left = [pid for pid in process_tree.descendants(os.getpid()) if pid not in before and process_tree.is_alive(pid)]
    assert not left


@pytest.fixture
def written(tmp_path: Path, nothing_left: None) -> Iterator[Written]:
    """Makes a submission of some source; its ranks are forked from this process."""
    processes: list[ModuleProcess] = []

    def write(source: str) -> SubmissionProxy:
        folder = tmp_path / str(len(processes))
        folder.mkdir()
        (folder / "work.py").write_text(HEAD + source, encoding="utf-8")
        host = LocalHost(folder)
        host.modules[__name__] = sys.modules[__name__]
        topic = host.open_topic("work", {"work.py": b""}, None)
        processes.append(topic.start_afresh())
        assert processes[-1].finish_import(topic.deadline(20.0)) is None
        return SubmissionProxy(Channel(processes[-1], __name__.partition(".")[0]))

    yield write
    for process in processes:
        process.end()


# ---------------------------------------------------------------- what comes back


def test_results_come_by_value_in_order_of_rank(written: Written) -> None:
    submission = written("def f(rank, x):\n    y = x * (rank + 1)\n    dist.all_reduce(x)\n    return [y, x, rank]\n")
    world = ranks.run(submission.f, ranks.RANK, torch.tensor([1.0, 2.0]), world_size=3)
    assert [result[2] for result in world.results] == [0, 1, 2]
    for rank, (own, total, _) in enumerate(world.results):
        assert torch.equal(own, torch.tensor([1.0, 2.0]) * (rank + 1))
        assert torch.equal(total, torch.tensor([3.0, 6.0]))


def test_arguments_of_each_rank_are_made_there(written: Written) -> None:
    submission = written("def f(model, number, *, scale):\n    return [type(model).__name__, number * scale]\n")
    model = ranks.call(recipes.model, "linear", ranks.RANK)
    world = ranks.run(submission.f, model, ranks.each(3, 5), options={"scale": ranks.WORLD_SIZE})
    assert world.results == [["Linear", 6], ["Linear", 10]]


def test_looks_see_arguments_and_results(written: Written) -> None:
    submission = written("def f(model):\n    torch.nn.init.ones_(model.bias)\n    return model\n")
    model = ranks.call(recipes.model, "linear", ranks.RANK)
    world = ranks.run(submission.f, model, look=ranks.call(probes.state, ranks.RESULT))
    assert [look["bias"].tolist() for look in world.looks] == [[1.0] * recipes.CLASSES] * 2
    with pytest.raises(AssertionError, match="rank 0 returned a Linear"):
        _ = world.results


def test_no_look_is_sent_before_every_rank_has_returned(written: Written) -> None:
    """A look may hold what a check expects: a rank must not read it ahead, nor hear of it from another one."""
    submission = written(
        """
import select, socket

def note(data):
    with open("seen", "ab") as seen:
        seen.write(data)

def serving():
    frame = sys._getframe()
    while "requests" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["calls"], frame.f_locals["requests"]

def read_what_waits(rank):
    calls, requests = serving()
    note(bytes(requests.data))
    if select.select([calls], [], [], 0.3)[0]:
        note(calls.recv(1 << 16, socket.MSG_PEEK))
    with open("seen", "rb") as seen:
        return b"expected" in seen.read()

def have_another_tell(rank):
    _, requests = serving()
    if rank == 0:
        note(bytes(requests.data))
        feed = type(requests).feed
        type(requests).feed = lambda self, data: (note(data), feed(self, data))
        return False
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        if os.path.exists("seen"):
            with open("seen", "rb") as seen:
                if b"expected" in seen.read():
                    return True
    return False
"""
    )
    for function in (submission.have_another_tell, submission.read_what_waits):
        world = ranks.run(function, ranks.RANK, look=ranks.call(probes.copied, "expected"))
        assert (world.results, world.looks) == ([False, False], ["expected"] * 2)


def test_environment_is_that_of_torchrun(written: Written) -> None:
    submission = written("def f(names):\n    return [os.environ.get(name) for name in names]\n")
    names = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "EXTRA"]
    world = ranks.run(submission.f, names, group=False, env={"EXTRA": "r{rank}", "MASTER_ADDR": None})
    assert world.results == [[str(rank), str(rank), "2", None, f"r{rank}"] for rank in range(2)]


def test_the_group_is_set_up_unless_the_check_asks_for_none(written: Written) -> None:
    submission = written("def f():\n    return dist.is_initialized()\n")
    assert ranks.run(submission.f).results == [True, True]
    assert ranks.run(submission.f, group=False).results == [False, False]


def test_a_function_finds_no_pipes_but_those_for_stack_dumps_and_notes(written: Written) -> None:
    """What it could write elsewhere might pass for another rank's or for the judge's."""
    submission = written(
        "def f():\n    fds = [f'/proc/self/fd/{fd}' for fd in range(3, 1024)]\n"
        "    return sum(os.readlink(fd).startswith('pipe') for fd in fds if os.path.lexists(fd))\n"
    )
    pipes = ["dumps", "notes"]
    assert ranks.run(submission.f, group=False).results == [len(pipes)] * 2  # a group has pipes of its own


def test_prints_come_rank_by_rank(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    submission = written("def f(rank):\n    print('hello from', rank)\n    print(file=sys.stderr)\n    print()\n")
    world = ranks.run(submission.f, ranks.RANK, prints=True, lines=True)
    assert world.prints == ["hello from 0\n\n", "hello from 1\n\n"]
    assert world.lines == [1, 1]
    assert "rank 0: hello from 0\n" in capsys.readouterr().out


def test_endless_prints_are_cut(written: Written) -> None:
    submission = written("def f(rank):\n    for _ in range(3000):\n        print('x' * 1000)\n")
    world = ranks.run(submission.f, ranks.RANK, prints=True, seconds=20)
    assert max(map(len, world.prints)) <= 16 << 10


def test_ranks_start_from_the_same_numbers(written: Written) -> None:
    submission = written("def f():\n    return torch.rand(3)\n")
    torch.rand(5)
    one, other = ranks.run(submission.f).results, ranks.run(submission.f).results
    assert torch.equal(one[0], other[0]) and torch.equal(one[0], one[1])


def test_an_empty_folder_of_their_own_for_each_run(written: Written) -> None:
    submission = written(
        "def f():\n    found = os.listdir()\n    open('note', 'w').close()\n    return os.getcwd(), found\n"
    )
    first, second = ranks.run(submission.f), ranks.run(submission.f)
    assert first.results[0][0] == first.results[1][0] != second.results[0][0]
    assert [found for _, found in second.results] in ([[], []], [[], ["note"]], [["note"], []])


def test_read_only_ranks_cannot_write(written: Written) -> None:
    submission = written("def f(rank):\n    with open(f'{rank}', 'w') as file:\n        file.write('x')\n")
    with pytest.raises(SubmissionRaised, match=r"too large.* \(on rank 1\)"):
        ranks.run(submission.f, ranks.RANK, read_only=[1])


class Holding:
    """An object of a kit that holds the rank that uses it."""

    def state_dict(self) -> None:
        """Returns when the rank is not held any more."""
        ranks.hold()


def holding() -> Holding:
    """A recipe."""
    return Holding()


HELD = "rank 0 is held, so whoever returns meanwhile did not wait for it"
WAITS = {
    "not at all": ("    pass\n", [1]),
    "at a barrier": ("    dist.barrier()\n", []),
    "for a while": ("    rank and time.sleep(0.3)\n", [1]),
    "for a file": (
        "    rank or open('there', 'w').close()\n    while not os.path.exists('there'):\n        time.sleep(0.01)\n",
        [],
    ),
}


@pytest.mark.parametrize("how", WAITS)
def test_who_does_not_wait_for_the_rank_that_is_held_is_early(written: Written, how: str) -> None:
    wait, early = WAITS[how]
    submission = written("def f(rank, hold):\n    hold.state_dict()\n" + wait)
    world = ranks.run(submission.f, ranks.RANK, ranks.call(holding), held=0)
    assert world.early == early, HELD


def test_nobody_is_early_if_the_rank_was_never_held(written: Written) -> None:
    submission = written("def f(rank):\n    rank or time.sleep(0.2)\n")
    assert ranks.run(submission.f, ranks.RANK, held=0).early == []


# ---------------------------------------------------------------- ranks that fail


def test_an_exception_comes_as_itself_with_the_students_lines(written: Written) -> None:
    submission = written("def f(rank):\n    if rank == 1:\n        raise ValueError('odd')\n    dist.barrier()\n")
    with pytest.raises(ValueError, match=r"odd \(on rank 1\)") as caught:
        ranks.run(submission.f, ranks.RANK)
    assert isinstance(caught.value, SubmissionRaised)
    assert [(frame.file, frame.line) for frame in caught.value.frames] == [("work.py", LINE + 1)]


def test_an_exception_of_all_ranks_says_so(written: Written) -> None:
    submission = written("def f():\n    return {}['x']\n")
    with pytest.raises(KeyError, match="on every rank"):
        ranks.run(submission.f)


def test_a_look_that_finds_nothing_is_no_exception_of_the_students(written: Written) -> None:
    submission = written("def f():\n    return None\n")
    with pytest.raises(AssertionError, match="what rank 0 left cannot be used: TypeError"):
        ranks.run(submission.f, look=ranks.call(probes.state, ranks.RESULT))


def stair_in(error: SubmissionTimeout) -> list[tuple[int, str]]:
    """The step and the words of each rank; none if nothing is to be drawn."""
    return [(one.step, one.text) for one in error.stair.ranks] if error.stair else []


def test_ranks_that_wait_for_each_other_stand_on_the_lines_that_they_reached(written: Written) -> None:
    submission = written(
        "def meet():\n    dist.barrier()\ndef f(rank):\n    if rank == 0:\n        dist.broadcast(torch.ones(1), 1)\n"
        "    elif rank == 1:\n        meet()\n"
    )
    with pytest.raises(SubmissionTimeout) as caught:
        ranks.run(submission.f, ranks.RANK, world_size=3, seconds=1.5)
    assert stair_in(caught.value) == [
        (1, f"waits in broadcast for ranks 1 and 2, line {LINE + 3} of work.py, in f"),
        (2, f"waits in barrier for ranks 0 and 2, line {LINE} of work.py, in meet"),  # called further down
        (3, "returned"),
    ]


HANGS = {
    "collective on one rank": (
        "def f(rank):\n    if rank == 0:\n        dist.all_reduce(torch.ones(1))\n",
        f"rank 1 never reached all_reduce: rank 1 had returned. "
        f"rank 0, line {LINE + 1} of work.py, in f kept waiting for it",
    ),
    "a busy rank": (
        "def f(rank):\n    while rank == 1: pass\n    dist.barrier()\n",
        f"rank 1 never reached barrier: rank 1 was in line {LINE}",
    ),
    "different collectives": (
        "def f(rank):\n    if rank:\n        dist.barrier()\n    else:\n        dist.broadcast(torch.ones(1), 1)\n"
        "        dist.all_reduce(torch.ones(1))\n    dist.broadcast(torch.ones(1), 1)\n",
        "the ranks wait for each other: rank 0 in",
    ),
    "asleep": (
        "def f(rank):\n    time.sleep(100)\n",
        f"no end within 1.5 s: rank 0 was in line {LINE} of work.py, in f",
    ),
    "a reply that comes byte by byte": (
        "import socket, struct\ndef f(rank):\n    if rank:\n        return\n    for number in range(3, 256):\n"
        "        try:\n            one = socket.socket(fileno=os.dup(number))\n            one.getpeername()\n"
        "            break\n        except OSError:\n            pass\n    one.sendall(struct.pack('<I', 1 << 20))\n"
        "    while True:\n        socket.send_fds(one, [b'x'], [0])\n",
        "no end within 1.5 s: rank 0 was in line",
    ),
    "deaf": (
        "import faulthandler, signal\ndef f(rank):\n    faulthandler.unregister(signal.SIGUSR1)\n"
        "    signal.signal(signal.SIGUSR1, signal.SIG_IGN)\n    time.sleep(100 * rank)\n",
        "no end within 1.5 s: rank 1 was at a place that is not known",
    ),
}


@pytest.mark.parametrize("case", HANGS)
def test_a_hang_is_ended_and_named(written: Written, case: str) -> None:
    source, text = HANGS[case]
    ranks.run(written("def f():\n    pass\n").f)  # what is imported on first use is no part of the time
    submission = written(source)
    with pytest.raises(SubmissionTimeout) as caught:  # who sleeps is ended in time: it would return in the end
        ranks.run(submission.f, ranks.RANK, seconds=1.5)
    assert text in str(caught.value)
    assert len(caught.value.examples) == 1


class Starved:
    """Stands for the process of a rank that gets no processor for a while, as on a busy machine."""

    def __init__(self) -> None:
        self._until = time.monotonic() + 2 * LOCATE_SECONDS

    def stacks(self) -> str:
        dump = '  File "work.py", line 3 in f\n  File "/x/_ranks/rank.py", line 9 in perform\n'
        return dump if time.monotonic() > self._until else ""

    def activity(self) -> Activity:
        return Activity(at_rest=False, worked=0.0)

    def sources(self) -> list[int]:
        return []

    def post(self, request: bytes) -> None: ...
    def ask_where(self) -> None: ...
    def poll(self) -> None: ...


def test_a_rank_that_waits_for_a_processor_has_the_time_to_say_where_it_is() -> None:
    starved: Any = Starved()
    member = Member(0, starved, lambda size: None)
    member.post("call", b"")
    assert locate([member]) == [RankState("runs", place="line 3 of work.py, in f", lines=(3,))]


def test_a_check_may_leave_out_the_lines_at_which_ranks_wait(written: Written) -> None:
    submission = written("def f(rank):\n    if rank == 0:\n        dist.barrier()\n")
    said = "rank 1 never reached barrier: rank 1 had returned. rank 0 kept waiting for it$"
    with pytest.raises(SubmissionTimeout, match=said) as caught:
        ranks.run(submission.f, ranks.RANK, seconds=1.0, names_places=False)
    assert stair_in(caught.value) == [(0, "waits in barrier for rank 1"), (1, "returned")]


def test_what_ranks_wait_for_a_processor_is_left_out_of_their_time(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = written("def f():\n    time.sleep(1.5)\n    return True\n")
    monkeypatch.setattr(process_tree, "activity", lambda pid: (False, 0.0))
    assert ranks.run(submission.f, seconds=1.0).results == [True, True]


def test_a_rank_that_nobody_joins_is_named(written: Written) -> None:
    submission = written("def f(rank):\n    if rank == 0:\n        dist.init_process_group('gloo')\n")
    with pytest.raises(SubmissionTimeout, match="rank 1 never reached init_process_group: rank 1 had returned"):
        ranks.run(submission.f, ranks.RANK, group=False, seconds=1.5)


def test_a_rank_that_dies_is_named(written: Written) -> None:
    submission = written("def f(rank):\n    if rank == 1:\n        os._exit(7)\n    dist.barrier()\n")
    with pytest.raises(SubmissionCrashed, match="ended the process of rank 1 with exit code 7"):
        ranks.run(submission.f, ranks.RANK)


def test_a_rank_killed_by_a_signal_is_named(written: Written) -> None:
    submission = written(
        "import ctypes\ndef f(rank):\n    if rank == 0:\n        ctypes.string_at(0)\n    dist.barrier()\n"
    )
    with pytest.raises(SubmissionCrashed, match=r"ended the process of rank 0 with signal 11 \(SIGSEGV\)"):
        ranks.run(submission.f, ranks.RANK)


def test_ranks_that_die_at_once_are_all_named_however_late_one_joins(
    written: Written, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    join = rank_process._join

    def slow_join(rank: int, size: int, file: str, seconds: float) -> None:
        time.sleep(0.4 * (rank == 1))
        join(rank, size, file, seconds)

    monkeypatch.setattr(rank_process, "_join", slow_join)
    submission = written("def f():\n    print('gone')\n    os._exit(3)\n")
    with pytest.raises(SubmissionCrashed, match="ended the process of ranks 0, 1 and 2 with exit code 3"):
        ranks.run(submission.f, world_size=3)
    assert capsys.readouterr().out == ""


def test_garbage_in_place_of_a_reply_is_named_however_soon_the_process_ends(written: Written) -> None:
    """The same words whether the garbage or the end is noticed first."""
    submission = written(
        "def f():\n    for number in range(3, 1024):\n        try:\n            os.write(number, b'[\"PASSED\"]' * 9)\n"
        "        except OSError:\n            pass\n    os._exit(0)\n"
    )
    for _ in range(5):
        with pytest.raises(SubmissionCrashed, match="of ranks 0 and 1 with a reply that is no data"):
            ranks.run(submission.f)


@pytest.mark.parametrize("meanwhile", ["time.sleep(0.1)", "until = time.process_time() + 0.2; wait(until)"])
def test_a_rank_that_is_about_to_make_the_same_mistake_has_the_time_to(written: Written, meanwhile: str) -> None:
    source = "def wait(until):\n    while time.process_time() < until: pass\n"
    submission = written(f"{source}def f(rank):\n    if rank:\n        {meanwhile}\n    raise ValueError('odd')\n")
    with pytest.raises(ValueError, match=r"odd \(on every rank\)"):
        ranks.run(submission.f, ranks.RANK)


def test_a_rank_that_works_on_regardless_is_not_waited_for(written: Written) -> None:
    submission = written("def f(rank):\n    while rank: pass\n    raise ValueError('odd')\n")
    with pytest.raises(ValueError, match=r"odd \(on rank 0\)"):
        ranks.run(submission.f, ranks.RANK, seconds=100.0)


def test_lines_that_torch_writes_are_not_the_students() -> None:
    torchs = "[E1121 09:15:42.791549905 ProcessGroupGloo.cpp:67] Gloo connectFullMesh failed with [/x/pair.cc:553]\n"
    assert own_lines(f"{torchs}mine\n[Gloo] Rank 1 is connected\n") == "mine\n"


def test_sys_exit_counts_as_an_end_unless_allowed(written: Written) -> None:
    submission = written("def f():\n    sys.exit(0)\n")
    with pytest.raises(SubmissionCrashed, match="SystemExit"):
        ranks.run(submission.f)
    assert ranks.run(submission.f, may_exit=True).results == [None, None]


def test_processes_of_their_own_end_too(written: Written) -> None:
    submission = written(
        "def f(rank):\n    for _ in range(2):\n        if not os.fork():\n            time.sleep(600)\n"
        "    return os.getpid()\n\ndef g():\n    return os.getpid()\n"
    )
    first = ranks.run(submission.f, ranks.RANK).results
    assert first != ranks.run(submission.g).results, "a world that left processes behind is used again"
    for pid in first:
        deadline = time.monotonic() + 60
        while any(process_tree.is_alive(child) for child in _group(pid)) and time.monotonic() < deadline:
            os.sched_yield()
        assert not any(process_tree.is_alive(child) for child in _group(pid))


def test_a_port_that_two_ranks_open_is_an_error(written: Written) -> None:
    submission = written(
        "import socket\ndef f(rank):\n    s = socket.socket()\n    s.bind(('127.0.0.1', 23457))\n    s.listen()\n"
        "    dist.barrier()\n"
    )
    with pytest.raises(OSError, match=r"in use \(on rank [01]\)"):
        ranks.run(submission.f, ranks.RANK)


def test_a_free_port_is_another_each_time_and_none_that_the_system_picks(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a network of the submission's own, gloo may listen on any that the system has picked."""
    ports = {world.free_port() for _ in range(6)}
    assert len(ports) == 6 and max(ports) < world.EPHEMERAL_PORTS
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        monkeypatch.setattr(world, "_PORTS", range(port, port + 1))
        with pytest.raises(RuntimeError, match=f"no port from {port} to {port} is free"):
            world.free_port()


def test_a_fixed_port_works_again_and_again(written: Written) -> None:
    submission = written(
        "def f(rank):\n    os.environ['MASTER_PORT'] = '23458'\n"
        "    dist.init_process_group('gloo', rank=rank, world_size=2)\n    dist.barrier()\n    return dist.get_rank()\n"
    )
    for _ in range(3):
        assert ranks.run(submission.f, ranks.RANK, group=False).results == [0, 1]


def test_a_group_left_open_can_be_seen(written: Written) -> None:
    submission = written("def f():\n    pass\n\ndef g():\n    dist.destroy_process_group()\n")
    look = ranks.call(probes.has_group)
    assert ranks.run(submission.f, look=look).looks == [True, True]
    assert ranks.run(submission.g, look=look).looks == [False, False]


def test_a_rank_that_comes_late_joins_a_new_group_all_the_same(written: Written) -> None:
    submission = written(
        "def f():\n    dist.destroy_process_group()\n\ndef g(rank):\n    rank or dist.destroy_process_group()\n"
    )
    late = ranks.call(joins, ranks.each(0.0, 2.5))
    assert ranks.run(submission.f, look=late, seconds=30).looks == [1, 1]
    apart = ["cannot join a new one", "is still in the process group"]
    assert ranks.run(submission.g, ranks.RANK, look=ranks.call(joins, 0.0)).looks == apart


def joins(seconds: float) -> int | str:
    """Joins a new group after so long; the sum of the ranks' numbers."""
    time.sleep(seconds)
    found: int | str = KIT["kit.distributed"].joins_again(ranks.here().rank)
    return found


def test_tensors_of_unequal_sizes_are_named_by_what_gloo_said(written: Written) -> None:
    submission = written("def f(rank):\n    dist.all_reduce(torch.zeros(100 * rank + 1))\n")
    said = r"called a collective with tensors of unequal sizes on the ranks: for that gloo ended rank \d$"
    with pytest.raises(SubmissionCrashed, match=said):
        ranks.run(submission.f, ranks.RANK)


def test_something_is_behind_the_colon_even_if_no_rank_runs() -> None:
    assert stuck([RankState("returned"), RankState("returned")], 4.0) == (
        "no end within 4 s: rank 0 had returned; rank 1 had returned"
    )


def test_results_too_big_are_no_crash(written: Written) -> None:
    submission = written("def f():\n    return torch.zeros(1 << 24)\n")
    with pytest.raises(AssertionError, match="too big"):
        _ = ranks.run(submission.f).results


def _group(leader: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.getpgid(int(name)) == leader:
                    found.append(int(name))
            except ProcessLookupError:
                continue
    return found


# ---------------------------------------------------------------- ranks that are used again


@pytest.mark.parametrize(
    "leaves",
    [
        "import socket; global s; s = socket.create_server(('127.0.0.1', 12345 + rank))",
        "import subprocess; subprocess.Popen(['sleep', '60'])",
        "dist.init_process_group('gloo', rank=rank, world_size=2)",
    ],
    ids=["a port", "a process", "a group"],
)
def test_ranks_without_a_group_are_used_once(written: Written, leaves: str) -> None:
    submission = written(f"def f(rank):\n    {leaves}\n    return os.getpid()\n")
    first = ranks.run(submission.f, ranks.RANK, group=False).results
    again = ranks.run(submission.f, ranks.RANK, group=False).results
    assert not {*first} & {*again}


def test_the_wrapped_modules_are_those_of_the_run(written: Written) -> None:
    submission = written(
        "from torch.nn.parallel import DistributedDataParallel\n\n"
        "def f():\n    DistributedDataParallel(torch.nn.Linear(1, 1))\n    return os.getpid()\n"
    )
    look = ranks.call(how_many_wrapped)
    runs = [ranks.run(submission.f, look=look) for _ in range(2)]
    assert runs[0].results == runs[1].results
    assert [world.looks for world in runs] == [[1, 1], [1, 1]]


def how_many_wrapped() -> int:
    return len(ranks.here().wrapped)
