"""A process whose time is over, or that can give no answer any more, is ended before anything else happens.

For both engines: each runs in a process of its own, as a host can only be forked off one without threads. What the
judge then finds is printed there as data, scene by scene.
"""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.border.channel import Channel
from grader.border.failures import NoAnswer, SubmissionCrashed
from grader.border.proxies import SubmissionProxy
from grader.sandbox import process_tree, sandbox
from grader.sandbox.limits import Limits
from grader.student.socket_process import TopicProcess
from grader.student.student_process import Host, TopicProcesses

LIMITS = Limits(check_seconds=0.8, topic_seconds=90.0, memory_bytes=640 << 20, processes=24)
AMPLE = 30.0
"""The time of what comes to another end: more than it needs on a slow machine (s)."""
WORK = '''
import os, socket, struct, time


def fine():
    return 7


def spin():
    while True:
        pass


def forked(do):
    if not os.fork():
        try:
            do()
        finally:
            os._exit(0)


def the_socket():
    """The one to the judge."""
    for descriptor in range(3, 256):
        try:
            found = socket.socket(fileno=os.dup(descriptor))
            found.getpeername()
            return found
        except OSError:
            pass


def spins_with_its_children():
    for _ in range(2):
        forked(spin)
    spin()


def leaves_orphans_and_spins():
    forked(lambda: (os.setsid(), forked(spin)))
    os.wait()
    spin()


def sends_garbage_and_spins():
    forked(spin)
    the_socket().sendall(b"\\xff" * 100)
    spin()


def hangs_up_and_spins():
    forked(spin)
    one = the_socket()
    one.shutdown(socket.SHUT_RDWR)
    spin()


def trickles():
    """A reply of many bytes, one by one."""
    one = the_socket()
    forked(spin)
    one.sendall(struct.pack("<I", 1 << 20))
    while True:
        one.sendall(b"\\x90")
        time.sleep(0.0005)


def trickles_descriptors():
    """The same, each byte with a descriptor."""
    one = the_socket()
    one.sendall(struct.pack("<I", 1 << 20))
    while True:
        socket.send_fds(one, [b"\\x90"], [0, 1, 2])
        time.sleep(0.0005)


def kills_its_parent():
    forked(spin)
    os.kill(os.getppid(), 9)
    spin()


def takes_memory():
    """Two processes do, as its own limit would make an exception of what one takes."""

    def take():
        kept = b"x" * (400 << 20)
        time.sleep(60)

    forked(take)
    take()


def ends_with_3():
    os._exit(3)


def leaves_sleepers(count):
    for _ in range(count):
        try:
            forked(lambda: time.sleep(1e6))
        except OSError:
            break
    return 7


def works_in_children(seconds):
    """The time that it has worked, with its children (s)."""
    before = sum(os.times()[:4])
    for _ in range(10):
        if not os.fork():
            until = time.process_time() + seconds / 10
            while time.process_time() < until:
                pass
            os._exit(0)
        os.wait()
    return sum(os.times()[:4]) - before
'''
NO_ANSWER = {
    "takes_memory": "OutOfMemory",
    "spins_with_its_children": "SubmissionTimeout",
    "leaves_orphans_and_spins": "SubmissionTimeout",
    "sends_garbage_and_spins": "BadReply",
    "hangs_up_and_spins": "SubmissionCrashed",
    "trickles": "SubmissionTimeout",
    "trickles_descriptors": "SubmissionTimeout",
}
"""What each comes to. The portable engine shares all of this with the other one but how processes are ended."""
BOTH = ("takes_memory", "leaves_orphans_and_spins")
ENGINES = ("forked", "forked without namespaces", "portable")
CASES = [(engine, name) for engine in ENGINES for name in (NO_ANSWER if engine == "forked" else BOTH)]


# ---------------------------------------------------------------- in a process of its own


def started(topic: TopicProcesses) -> TopicProcess:
    """A fresh main process that has imported the topic."""
    process = topic.start_afresh()
    failure = process.finish_import(topic.deadline(20.0))
    assert failure is None, failure
    return process


def ask(process: TopicProcess, name: str, *args: Any, seconds: float = AMPLE) -> Any:
    """The value that a function returns; or the type of the exception, and its text."""
    process.deadline = process.new_deadline(seconds)
    try:
        return getattr(SubmissionProxy(Channel(process)), name)(*args)
    except NoAnswer as error:
        return f"{type(error).__name__}: {error}"


def living(topic: TopicProcesses, host: Host) -> list[int]:
    """The processes of a topic that have not ended."""
    leader = getattr(topic, "process", None)
    spares = {one.pid for one in getattr(host, "_spares", ())} | {one.popen.pid for one in getattr(host, "_spares", ())}
    above = os.getpid() if leader is None else leader
    return [pid for pid in process_tree.descendants(above) if process_tree.is_alive(pid) and pid not in spares]


def alike() -> list[int]:
    """The processes of this machine that began as this one did."""
    files = Path("/proc").glob("[0-9]*/cmdline")
    own = Path("/proc/self/cmdline").read_bytes()
    found = []
    for file in files:
        with contextlib.suppress(OSError):
            found += [int(file.parent.name)] if file.read_bytes() == own else []
    return found


def scenes(host: Host, engine: str) -> dict[str, Any]:
    """What is found in each scene; the next one begins with a fresh process, which must know nothing of it."""
    found: dict[str, Any] = {}
    topic = host.open_topic("work", {"work.py": WORK.encode()}, None)
    for name in [case for of, case in CASES if of == engine]:
        process = started(topic)
        seconds = LIMITS.check_seconds if NO_ANSWER[name] == "SubmissionTimeout" else AMPLE
        found[name] = ask(process, name, seconds=seconds), living(topic, host), process.alive
        process.end()
        if name == "takes_memory":
            process = started(topic)
            found["the next one"] = ask(process, "ends_with_3")
            process.end()
    process = started(topic)
    before, answer = topic.meter.used, ask(process, "works_in_children", 1.0)
    time.sleep(topic.meter.seconds_to_look())
    process.new_deadline(0.0)  # looks
    used = topic.meter.used - before
    found["work of children"] = answer, used, ask(process, "works_in_children", 20.0, seconds=LIMITS.check_seconds)
    process.end()
    process = started(topic)
    found["sleepers"] = ask(process, "leaves_sleepers", 3 if engine == "portable" else 60), len(living(topic, host))
    if engine != "portable":
        other = host.open_topic("work", {"work.py": WORK.encode()}, None)
        try:
            started(other).end()
        except SubmissionCrashed as refused:
            found["the next one beside sleepers"] = str(refused)
        topic.close()
        found["the next one after them"] = ask(started(other), "fine")
        other.close()
        earlier = topic.meter.used
        started(topic).new_deadline(0.0)
        found["used by a new leader"] = topic.meter.used - earlier, earlier
    process.end()
    found["ended"] = living(topic, host)
    if engine == "forked without namespaces":
        process = started(topic)
        ask(process, "kills_its_parent", seconds=LIMITS.check_seconds)
        process.end()
        found["without its parent"] = len([pid for pid in alike() if process_tree.is_alive(pid)])  # and without `topic`
    topic.close()
    topic.close()
    return found


def main(name: str) -> None:
    from forked_here import forked_host

    from grader.student.portable import PortableHost, SpawnedPython

    if name == "forked without namespaces":
        sandbox.full_set = lambda: ("rlimits", "clean-env") if os.geteuid() else ("uid", "rlimits", "clean-env")
    host = PortableHost(SpawnedPython(), LIMITS) if name == "portable" else forked_host(LIMITS)
    try:
        host.prepare([], [])
        host.finish_preparing()
        print(msgspec.json.encode(scenes(host, name)).decode())
    finally:
        host.close()


# ---------------------------------------------------------------- what the tests ask of it


@pytest.fixture(scope="module")
def found() -> Callable[[str], dict[str, Any]]:
    @functools.cache
    def find(engine: str) -> dict[str, Any]:
        if engine != "portable" and process_tree.why_not_forked():
            pytest.skip("nothing can be forked here")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, __file__, engine], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return dict(msgspec.json.decode(done.stdout))

    return find


Find = Callable[[str], dict[str, Any]]
both = pytest.mark.parametrize("engine", ENGINES)


@pytest.mark.parametrize(("engine", "name"), CASES)
def test_nothing_of_it_runs_when_the_judge_goes_on(found: Find, engine: str, name: str) -> None:
    answer, left, is_alive = found(engine)[name]
    assert answer.startswith(NO_ANSWER[name]), answer
    assert (left, is_alive) == ([], False)


@both
def test_the_next_process_is_not_blamed_for_the_memory_of_the_last_one(found: Find, engine: str) -> None:
    assert found(engine)["the next one"] == "SubmissionCrashed: ended the process with exit code 3"


@both
def test_the_work_of_children_that_have_ended_counts(found: Find, engine: str) -> None:
    worked, used, later = found(engine)["work of children"]
    assert worked >= 1.0 and 0.8 * worked < used < 1.8 * worked, "each once"
    assert later.startswith("SubmissionTimeout")


@both
def test_sleepers_that_are_left_end_with_the_process(found: Find, engine: str) -> None:
    answer, living_before = found(engine)["sleepers"]
    assert answer == 7 and living_before > 3
    assert found(engine)["ended"] == []


def test_nothing_outlives_a_leader_that_was_killed(found: Find) -> None:
    assert found(ENGINES[1])["without its parent"] == 2, "but the judge and its host"


@pytest.mark.parametrize("engine", ENGINES[:2])
def test_who_cannot_be_forked_has_crashed_and_the_next_one_can_once_the_others_have_ended(
    found: Find, engine: str
) -> None:
    if engine == "forked":  # without namespaces there may be no user whose processes are counted
        assert "left so many processes running" in found(engine)["the next one beside sleepers"]
    assert found(engine)["the next one after them"] == 7
    used, earlier = found(engine)["used by a new leader"]
    assert 0.0 <= used < earlier / 2, "what the earlier ones worked is not counted again"


if __name__ == "__main__":
    main(sys.argv[1])
