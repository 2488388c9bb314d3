"""The sandbox: what must fail inside fails, layer by layer, and what an exercise needs works. Real processes."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import io
import json
import mmap
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.sandbox import kernel, process_tree
from grader.sandbox import sandbox as sandbox_module
from grader.sandbox.limits import SOCKET_BYTES, Limits
from grader.sandbox.sandbox import CHILD_RAISED, NOT_SANDBOXED, Sandbox, probe_layers

PROJECT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 30.0
EVERYTHING = (
    "uid",
    "user-namespace",
    "pid-namespace",
    "net-namespace",
    "ipc-namespace",
    "mount-namespace",
    "landlock",
    "seccomp",
    "rlimits",
    "clean-env",
)

pytestmark = pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")


@contextlib.contextmanager
def opened(*, only: tuple[str, ...] = (), **options: Any) -> Iterator[Sandbox]:
    """A sandbox, with no other layers than `only` where given; skips when the machine lacks one of them."""
    options.setdefault("limits", Limits())
    options.setdefault("hidden", [PROJECT])
    without = tuple(set(EVERYTHING) - set(only)) if only else ()
    with contextlib.closing(Sandbox(without=without, **options)) as sandbox:
        for name in only:
            if reason := sandbox.reasons.get(name, "not for this user"):
                pytest.skip(f"{name}: {reason}")
        yield sandbox


def with_namespace(*names: str) -> tuple[str, ...]:
    """The layers that `names` need when this user is not root, and `names`."""
    return names if os.geteuid() == 0 else ("user-namespace", *names)


def inside(sandbox: Sandbox, function: Callable[[], Any]) -> Any:
    """What `function` gives in a child of the sandbox: its JSON value, or 'NameOfTheError: text'."""
    reader, writer = os.pipe()

    def child() -> None:
        try:
            answer = function()
        except BaseException as problem:
            answer = f"{type(problem).__name__}: {problem}"
        os.write(writer, json.dumps(answer).encode())

    pid = sandbox.fork(child, [writer])
    os.close(writer)
    try:
        text = read_to_end(reader)
    finally:
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    assert text, f"the child ended with status {status:#x}"
    return json.loads(text)


def read_to_end(fd: int) -> bytes:
    """All that comes until every writer is gone; fails when that takes longer than PATIENCE."""
    text = b""
    deadline = time.monotonic() + PATIENCE
    with open(fd, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not (part := pipe.read(65536)):
                return text
            text += part
    raise AssertionError(f"somebody still holds the pipe after {PATIENCE} s")


def outcome(function: Callable[[], Any]) -> Any:
    """The value, or the error's name."""
    try:
        return function()
    except BaseException as problem:
        return type(problem).__name__


def code_of(result: int) -> str:
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]


def libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with opened() as sandbox:
        yield sandbox


def need(sandbox: Sandbox, *names: str) -> None:
    for name in names:
        if name not in sandbox.layers:
            pytest.skip(f"{name}: {sandbox.reasons.get(name, 'not for this user')}")


# --- what an exercise needs ---------------------------------------------------------------------------------


def test_the_work_folder_can_be_written_and_is_the_current_folder(box: Sandbox) -> None:
    def child() -> Any:
        Path("a.txt").write_text("mine")
        Path("folder").mkdir()
        os.rename("a.txt", "folder/b.txt")
        return [os.getcwd(), Path("folder/b.txt").read_text()]

    assert inside(box, child) == [str(box.work), "mine"]


def test_modules_not_imported_before_can_be_imported(box: Sandbox) -> None:
    names = ["sqlite3", "xml.dom.minidom", "curses.ascii", "ftplib"]
    new = [name for name in names if name not in sys.modules]
    assert new
    assert inside(box, lambda: [__import__(name).__name__.split(".")[0] for name in new]) == [
        name.split(".")[0] for name in new
    ]


def test_torch_submodules_not_imported_before_can_be_imported(box: Sandbox) -> None:
    pytest.importorskip("torch")
    name = next(n for n in ("torch.utils.benchmark", "torch.ao.ns", "torch.onnx") if n not in sys.modules)

    def child() -> str:
        with contextlib.redirect_stderr(io.StringIO()):  # some say at import what they do not find
            return str(__import__(name).__name__)

    assert inside(box, child) == "torch"


def test_threads_grandchildren_and_signals_work(box: Sandbox) -> None:
    def child() -> Any:
        seen: list[int] = []
        thread = threading.Thread(target=seen.append, args=(1,))
        thread.start()
        thread.join()
        quiet = os.fork()
        if quiet == 0:
            os._exit(7)
        stuck = os.fork()
        if stuck == 0:
            signal.pause()
        os.kill(stuck, signal.SIGKILL)
        return [seen, os.waitstatus_to_exitcode(os.waitpid(quiet, 0)[1]), os.waitpid(stuck, 0)[1]]

    assert inside(box, child) == [[1], 7, signal.SIGKILL]


def test_a_server_and_a_client_meet_on_the_childs_own_loopback(box: Sandbox) -> None:
    need(box, "net-namespace")

    def child() -> Any:
        address = ("127.0.0.1", 12345)
        with socket.create_server(address) as server, socket.create_connection(address, timeout=PATIENCE) as client:
            client.sendall(b"hello")
            return server.accept()[0].recv(5).decode()

    assert inside(box, child) == "hello"


def test_multiprocessing_queues_and_semaphores_work(box: Sandbox) -> None:
    need(box, "mount-namespace")

    def child() -> Any:
        import multiprocessing

        context = multiprocessing.get_context("fork")
        queue: Any = context.Queue()
        semaphore = context.Semaphore(0)

        def work() -> None:
            semaphore.acquire(timeout=PATIENCE)
            queue.put("done")

        process = context.Process(target=work)
        process.start()
        semaphore.release()
        answer = queue.get(timeout=PATIENCE)
        process.join(PATIENCE)
        return [answer, process.exitcode]

    assert inside(box, child) == ["done", 0]


def test_a_data_loader_with_workers_works(box: Sandbox) -> None:
    need(box, "mount-namespace", "net-namespace")
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    def child() -> Any:
        torch.set_num_threads(1)
        loader = DataLoader(list(torch.arange(8.0)), batch_size=4, num_workers=2, multiprocessing_context="fork")
        return [batch.tolist() for batch in loader]

    assert inside(box, child) == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]


# --- the whole set ------------------------------------------------------------------------------------------


def test_the_probe_names_every_layer_and_a_reason_for_each_that_is_missing(box: Sandbox) -> None:
    found = probe_layers()
    user = "uid" if os.geteuid() == 0 else "user-namespace"
    assert set(found) == set(EVERYTHING) - ({"uid", "user-namespace"} - {user})
    assert tuple(name for name, reason in found.items() if reason is None) == box.layers
    assert all(reason and "\n" not in reason for reason in found.values() if reason is not None)


def test_children_one_after_another_and_side_by_side_leave_the_host_as_it_was(box: Sandbox) -> None:
    need(box, "pid-namespace")
    assert [inside(box, os.getpid) for _ in range(10)] == [1] * 10
    children = []
    for _ in range(4):
        reader, writer = os.pipe()
        children.append((box.fork(lambda w=writer: os.write(w, str(os.getpid()).encode()), [writer]), reader))  # type: ignore[misc]
        os.close(writer)
    assert [read_to_end(reader) for _, reader in children] == [b"1"] * 4
    assert {os.waitpid(pid, 0)[1] for pid, _ in children} == {0}
    plain = os.fork()
    if plain == 0:
        os._exit(0 if os.getpid() != 1 else 1)
    assert os.waitpid(plain, 0)[1] == 0
    assert os.getcwd() != str(box.work)
    assert list(box.work.iterdir()) == [] or "mount-namespace" not in box.layers


def test_each_child_starts_with_an_empty_work_folder() -> None:
    for without in ((), ("mount-namespace",)):
        with contextlib.closing(Sandbox(limits=Limits(), without=without)) as sandbox:

            def child() -> Any:
                before = os.listdir(".")
                Path("left").mkdir()
                Path("left/file").write_text("x")
                os.chmod("left", 0)
                return before

            assert [inside(sandbox, child) for _ in range(2)] == [[], []]
        assert not sandbox.work.parent.exists()


def test_closing_twice_or_after_the_folder_is_gone_changes_nothing_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sandbox = Sandbox(limits=Limits())
    sandbox.close()
    sandbox.close()
    assert list(tmp_path.iterdir()) == []
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_child_that_cannot_be_sandboxed_runs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with opened(only=("seccomp",)) as sandbox:
        sandbox._plan = msgspec.structs.replace(sandbox._plan, system_calls=b"\xff" * 8)
        reader, writer = os.pipe()
        pid = sandbox.fork(lambda: print("ran", file=os.fdopen(writer, "w")), [writer])
        os.close(writer)
        assert read_to_end(reader) == b""
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == NOT_SANDBOXED
    assert "seccomp" in capfd.readouterr().err


def test_a_child_whose_function_raises_says_so_by_its_status(box: Sandbox) -> None:
    pid = box.fork(lambda: sys.exit(0), [])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == CHILD_RAISED


def test_descriptors_of_the_host_are_closed_and_output_goes_nowhere(box: Sandbox) -> None:
    with open(__file__, "rb") as secret:
        number = secret.fileno()
        assert inside(box, lambda: outcome(lambda: os.read(number, 1).decode())) == "OSError"
    assert inside(box, lambda: [os.fstat(fd).st_rdev == os.stat("/dev/null").st_rdev for fd in (0, 1, 2)]) == [True] * 3


@pytest.mark.parametrize("gpus", [False, True])
def test_only_with_gpus_a_process_may_write_to_its_own_proc(gpus: bool) -> None:
    """CUDA names its threads there as it starts, and does not start where it must not."""

    def child() -> Any:
        def write_name() -> str:
            name = Path(f"/proc/self/task/{threading.get_native_id()}/comm")
            name.write_text("named")
            return name.read_text().strip()

        return [outcome(write_name), outcome(lambda: Path("/proc/sys/kernel/core_pattern").write_text("x"))]

    with opened(gpus=gpus) as sandbox:
        need(sandbox, "landlock", "mount-namespace", "pid-namespace")
        assert inside(sandbox, child) == ["named" if gpus else "PermissionError", "PermissionError"]


def test_no_capability_is_left_and_none_can_be_gained(box: Sandbox) -> None:
    need(box, "mount-namespace", "pid-namespace")

    def child() -> Any:
        status = Path("/proc/self/status").read_text().splitlines()
        lines = dict(line.split(":\t") for line in status if line.startswith(("Cap", "No")))
        return [int(lines[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")] + [lines["NoNewPrivs"]]

    assert inside(box, child) == [0, 0, 0, 0, 0, "1"]


def test_the_child_dies_with_its_host() -> None:
    reader, writer = os.pipe()
    program = f"""
import os, signal, sys
sys.path.insert(0, {str(PROJECT)!r})
from grader.sandbox.limits import SOCKET_BYTES, Limits
from grader.sandbox.sandbox import Sandbox
sandbox = Sandbox(limits=Limits())
def child():
    os.write({writer}, b"up")
    os.fork()
    signal.pause()
sandbox.fork(child, [{writer}])
print(sandbox.work.parent, flush=True)
signal.pause()
"""
    place = tempfile.TemporaryDirectory(prefix="torchkata-test-")  # where no other sandbox removes what it has left
    os.chmod(place.name, 0o755)
    environment = {**os.environ, "TMPDIR": place.name}
    host = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, pass_fds=[writer], stdout=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert host.stdout is not None
    base = Path(host.stdout.readline().strip())
    assert os.read(reader, 2) == b"up"
    host.kill()
    host.wait()
    host.stdout.close()
    assert read_to_end(reader) == b""
    assert {one.name for one in base.iterdir()} == {"work", "root", "in-use"}
    place.cleanup()


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become somebody else; an ordinary user's run tests this anyway"
)
def test_an_ordinary_user_is_sandboxed_by_way_of_a_user_namespace() -> None:
    reader, writer = os.pipe()
    user = os.fork()
    if user == 0:
        try:
            os.close(reader)
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # as for a program that this user started
            with opened() as sandbox:
                answer = [
                    sandbox.reasons,
                    inside(sandbox, lambda: [os.getpid(), os.getuid(), outcome(escape_by_mount)]),
                ]
            os.write(writer, json.dumps(answer).encode())
        finally:
            os._exit(0)
    os.close(writer)
    text = read_to_end(reader)
    os.waitpid(user, 0)
    reasons, seen = json.loads(text)
    if reasons["user-namespace"]:
        pytest.skip(reasons["user-namespace"])
    assert {name: reason for name, reason in reasons.items() if reason} == {}
    assert seen == [1, 65534, "PermissionError"]


def escape_by_mount() -> None:
    kernel.mount("x", "/tmp", "tmpfs", 0)


# --- layer by layer -----------------------------------------------------------------------------------------


def test_uid_the_child_is_another_user_and_stays_so() -> None:
    with opened(only=("uid", "mount-namespace")) as sandbox:
        ids, back, host = inside(
            sandbox, lambda: [os.getresuid(), outcome(lambda: os.setuid(0)), outcome(lambda: os.kill(os.getppid(), 0))]
        )
    assert len(set(ids)) == 1 and ids[0] >= 60000
    assert (back, host) == ("PermissionError", "PermissionError")


def test_pid_namespace_other_processes_do_not_exist_and_all_die_with_the_first() -> None:
    with opened(only=with_namespace("pid-namespace")) as sandbox:
        host = os.getpid()
        assert inside(sandbox, lambda: [os.getpid(), outcome(lambda: os.kill(host, 0))]) == [1, "ProcessLookupError"]
        reader, writer = os.pipe()

        def child() -> None:
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                        with contextlib.suppress(OSError):
                            signal.signal(number, signal.SIG_IGN)
                    os.write(writer, b"up")
                    signal.pause()
                os._exit(0)
            signal.pause()

        pid = sandbox.fork(child, [writer])
        os.close(writer)
        assert os.read(reader, 2) == b"up"
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert read_to_end(reader) == b""


def test_pid_namespace_the_first_process_cannot_be_killed_or_read_from_inside(box: Sandbox) -> None:
    need(box, "pid-namespace", "mount-namespace")

    def attack() -> list[Any]:
        os.kill(1, signal.SIGKILL)
        os.kill(1, signal.SIGSTOP)
        memory = "/proc/1/mem"
        everybody = outcome(lambda: os.kill(-1, signal.SIGKILL))
        return [everybody, outcome(lambda: os.open(memory, os.O_RDONLY)), outcome(lambda: os.open(memory, os.O_RDWR))]

    def child() -> Any:
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, json.dumps(outcome(attack)).encode())
            os._exit(0)
        os.close(writer)
        os.wait()
        return json.loads(os.read(reader, 999))

    assert inside(box, child) == ["ProcessLookupError", "PermissionError", "PermissionError"]


def test_net_namespace_the_hosts_loopback_and_abstract_sockets_are_out_of_reach() -> None:
    with (
        opened(only=with_namespace("net-namespace")) as sandbox,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        abstract.bind(f"\0torchkata-{os.getpid()}")
        abstract.listen()
        name = abstract.getsockname()
        port = server.getsockname()[1]
        assert inside(
            sandbox,
            lambda: [
                outcome(lambda: socket.create_connection(("127.0.0.1", port), timeout=5)),
                outcome(lambda: socket.create_connection(("8.8.8.8", 53), timeout=5)),
                outcome(lambda: socket.socket(socket.AF_UNIX).connect(name)),
            ],
        ) == ["ConnectionRefusedError", "OSError", "ConnectionRefusedError"]


def test_ipc_namespace_shared_memory_of_the_host_is_not_there() -> None:
    get = libc().shmget
    key = 0x70000 + os.getpid()
    made = get(key, 4096, 0o1666)  # IPC_CREAT
    assert made >= 0
    try:
        with opened(only=with_namespace("ipc-namespace")) as sandbox:
            assert inside(sandbox, lambda: code_of(get(key, 4096, 0o666))) == "ENOENT"
    finally:
        libc().shmctl(made, 0, None)


def test_mount_namespace_only_system_and_python_are_there_and_read_only(tmp_path: Path) -> None:
    tmp_path.joinpath("other.txt").write_text("another submission")
    with opened(only=with_namespace("mount-namespace")) as sandbox:
        home = Path.home()

        def child() -> Any:
            paths = [
                PROJECT / "pyproject.toml",
                PROJECT / "tests",
                tmp_path / "other.txt",
                "/var/log",
                "/etc/shadow",
                "/run",
            ]
            paths += [home / ".bashrc", home / ".ssh"]
            top = sorted(os.listdir("/tmp"))
            return [
                [os.path.exists(path) for path in paths],
                top,
                outcome(lambda: Path(os.__file__ + ".x").write_text("")),
            ]

        seen, top, written = inside(sandbox, child)
        assert not any(seen)
        assert "other.txt" not in top and tmp_path.name not in top
        assert written in ("OSError", "PermissionError")


def test_the_machines_network_cards_and_shared_zeros_are_not_there_and_the_processors_are(box: Sandbox) -> None:
    need(box, "mount-namespace")
    paths = ("/sys/class/net", "/sys/devices/virtual", "/dev/zero", "/sys/devices/system/cpu/online", "/dev/urandom")
    assert inside(box, lambda: [os.path.exists(path) for path in paths]) == [False, False, False, True, True]


def test_a_connection_on_the_loopback_holds_little_that_nobody_has_read(box: Sandbox) -> None:
    need(box, "net-namespace")
    if not os.access("/proc/sys/net/ipv4/tcp_wmem", os.W_OK):
        pytest.skip("/proc/sys cannot be written, as in some containers")

    def child() -> Any:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
            one.setblocking(False)
            sent = 0
            with server.accept()[0], contextlib.suppress(BlockingIOError):
                while True:
                    sent += one.send(bytes(1 << 16))
            return sent

    assert inside(box, child) <= SOCKET_BYTES


def test_the_system_ends_submitted_code_before_anything_else(box: Sandbox) -> None:
    need(box, "rlimits", "mount-namespace", "landlock")
    score = Path("/proc/self/oom_score_adj")
    assert inside(box, lambda: [score.read_text(), outcome(lambda: score.write_text("0"))]) == [
        "1000\n",
        "PermissionError",
    ]


def test_mount_namespace_a_hidden_path_is_covered_and_a_shown_one_inside_it_is_not(tmp_path: Path) -> None:
    shown, secret, inner = make_tree(tmp_path)
    with opened(only=with_namespace("mount-namespace"), hidden=[secret], readable=[shown, inner]) as sandbox:
        assert inside(sandbox, lambda: look_at(shown)) == ["open", "FileNotFoundError", "inner"]


def test_landlock_files_off_the_list_cannot_be_opened_and_only_work_be_written(tmp_path: Path) -> None:
    shown, secret, inner = make_tree(tmp_path)
    other = tmp_path / "other.txt"
    other.write_text("another submission")
    with opened(only=("landlock",), hidden=[PROJECT, secret], readable=[shown, inner]) as sandbox:

        def child() -> Any:
            return [
                look_at(shown),
                outcome(other.read_text),
                outcome(lambda: Path(__file__).read_text()),
                outcome(lambda: (shown / "new.txt").write_text("")),
                outcome(lambda: other.unlink()),
                outcome(lambda: os.truncate(other, 0)),
                outcome(lambda: Path("mine").write_text("yes")),
                outcome(lambda: len(Path("/proc/1/environ").read_bytes())),
                outcome(lambda: __import__("sqlite3").__name__),
            ]

        no = "PermissionError"
        assert inside(sandbox, child) == [["open", no, "inner"], no, no, no, no, no, 3, no, "sqlite3"]
    assert other.read_text() == "another submission"


def make_tree(tmp_path: Path) -> tuple[Path, Path, Path]:
    shown = tmp_path / "packages"
    secret = shown / "grader"
    inner = secret / "testkit"
    inner.mkdir(parents=True)
    (shown / "open.txt").write_text("open")
    (secret / "answers.txt").write_text("answers")
    (inner / "inner.txt").write_text("inner")
    return shown, secret, inner


def look_at(shown: Path) -> list[str]:
    names = ("open.txt", "grader/answers.txt", "grader/testkit/inner.txt")
    return [outcome((shown / name).read_text) for name in names]


def test_seccomp_calls_towards_other_processes_and_the_kernel_are_refused() -> None:
    with opened(only=("seccomp",)) as sandbox:
        host = os.getpid()

        def child() -> Any:
            c = libc()
            word = ctypes.create_string_buffer(8)
            vector = (ctypes.c_void_p * 2)(ctypes.addressof(word), 8)
            return [
                code_of(c.ptrace(16, host, 0, 0)),
                code_of(c.process_vm_readv(host, vector, 1, vector, 1, 0)),
                code_of(c.process_vm_writev(host, vector, 1, vector, 1, 0)),
                code_of(c.unshare(kernel.CLONE_NEWUSER)),
                code_of(c.nice(5)),
                code_of(c.sched_setscheduler(0, os.SCHED_IDLE, ctypes.byref(ctypes.c_int(0)))),
                code_of(c.mount(b"x", b"/tmp", b"tmpfs", 0, None)),
                code_of(c.syscall(ctypes.c_long(425), 1, None)),  # io_uring_setup
                code_of(c.syscall(ctypes.c_long(435), None, 0)),  # clone3
                code_of(c.memfd_create(b"x", 0)),
                code_of(c.shmget(0, 4096, 0o600)),
            ]

        refused = "EPERM"
        assert inside(sandbox, child) == [refused] * 8 + ["ENOSYS", refused, refused]


def test_seccomp_memory_that_no_process_is_seen_to_hold_is_refused() -> None:
    """Large buffers of sockets, pages that pipes keep, shared pages without a file, locks, objects of the kernel."""
    with opened(only=("seccomp",)) as sandbox:
        parent = os.getpid()
        options = (socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33, 60)  # with FORCE, which Python does not name; ZEROCOPY

        def set_option(one: socket.socket, option: int) -> Any:
            return outcome(lambda: one.setsockopt(socket.SOL_SOCKET, option, 9))

        def child() -> Any:
            c = libc()
            reader, writer = os.pipe()
            one, _ = socket.socketpair()
            with open("file", "wb+") as file:
                return [
                    *(set_option(one, option) for option in options),
                    outcome(lambda: mmap.mmap(-1, 4096)),
                    outcome(lambda: fcntl.lockf(file, fcntl.LOCK_EX)),
                    outcome(lambda: os.sendfile(writer, file.fileno(), 0, 1)),
                    outcome(lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE)),
                    code_of(c.vmsplice(writer, None, 0, 0)),
                    code_of(c.splice(reader, None, writer, None, 1, 0)),
                    code_of(c.tee(reader, writer, 1, 0)),
                    code_of(c.syscall(ctypes.c_long(444), None, 0, 1)),  # landlock_create_ruleset
                ]

        assert inside(sandbox, child) == ["PermissionError"] * 9 + ["EPERM"] * 4


def test_seccomp_what_libraries_ask_of_the_same_calls_is_allowed() -> None:
    with opened(only=("seccomp",)) as sandbox:

        def child() -> Any:
            one, _ = socket.socketpair()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, bytes(16))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            private = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            with open("file", "wb+") as file:
                file.write(bytes(4096))
                file.flush()
                shared = mmap.mmap(file.fileno(), 4096)
                fcntl.flock(file, fcntl.LOCK_EX)
                shutil.copyfile("file", "copy")
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
            return [len(private), len(shared), os.path.getsize("copy"), resource.getrlimit(resource.RLIMIT_NOFILE)[0]]

        assert inside(sandbox, child) == [4096, 4096, 4096, 100]


def test_seccomp_no_new_namespace_by_clone() -> None:
    number = {"x86_64": 56, "aarch64": 220}[kernel.MACHINE]
    with opened(only=("seccomp",)) as sandbox:
        flags = kernel.CLONE_NEWUSER | signal.SIGCHLD

        def child() -> Any:
            result = libc().syscall(ctypes.c_long(number), ctypes.c_long(flags), None, None, None, None)
            if result == 0:
                os._exit(0)
            return code_of(result)

        assert inside(sandbox, child) == "EPERM"


def test_seccomp_without_a_network_namespace_no_socket_but_a_pair() -> None:
    with opened(only=("seccomp",)) as sandbox:
        assert inside(
            sandbox,
            lambda: [
                outcome(lambda: socket.socket(socket.AF_INET).fileno()),
                outcome(lambda: socket.socket(socket.AF_UNIX).fileno()),
                len(socket.socketpair()),
            ],
        ) == ["PermissionError", "PermissionError", 2]


def test_seccomp_with_a_network_namespace_only_inet_sockets() -> None:
    with opened(only=with_namespace("net-namespace", "seccomp")) as sandbox:
        kinds = [socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_PACKET, socket.AF_ALG, socket.AF_VSOCK]
        made = inside(
            sandbox, lambda: [outcome(lambda kind=kind: bool(socket.socket(kind).fileno())) for kind in kinds]
        )
        assert made == [True, True] + ["PermissionError"] * 4


def test_rlimits_processes_are_counted_for_the_submission_alone(tmp_path: Path) -> None:
    only = ("uid", "mount-namespace") if os.geteuid() == 0 else ("user-namespace",)
    with opened(only=(*only, "pid-namespace", "rlimits"), limits=Limits(processes=8)) as sandbox:

        def child() -> Any:
            forked = 0
            try:
                for _ in range(20):
                    if os.fork() == 0:
                        signal.pause()
                    forked += 1
            except BlockingIOError:
                return forked
            return "no bound"

        assert [inside(sandbox, child) for _ in range(2)] == [7, 7]


@contextlib.contextmanager
def held(sandbox: Sandbox, processes: int) -> Iterator[None]:
    """So many processes, forked in a child of the sandbox, that do nothing until the end of the block."""
    reader, writer = os.pipe()

    def child() -> None:
        for _ in range(processes - 1):
            if os.fork() == 0:
                signal.pause()
        os.write(writer, b"x")
        signal.pause()

    pid = sandbox.fork(child, [writer])
    os.close(writer)
    assert os.read(reader, 1) == b"x"
    os.close(reader)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_rlimits_processes_of_one_host_take_none_from_another() -> None:
    """Two graders on one machine: what a submission to one of them forks must not fail an answer to the other."""
    only = ("uid", "mount-namespace") if os.geteuid() == 0 else ("user-namespace",)
    options: Any = {"only": (*only, "pid-namespace", "rlimits"), "limits": Limits(processes=8)}
    with opened(**options) as one, opened(**options) as other, held(one, 7), held(other, 7):
        pass


@pytest.mark.parametrize(
    ("maps", "found"),
    [
        ("0 0 4294967295", 0),
        ("0 100000 65536", 1),
        ("0 1000 1\n1 100000 65536", 1),
        ("0 0 1000\n1000 1000 4294966295", 0),
    ],
)
def test_spare_ids_are_ids_of_this_user_namespace(maps: str, found: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: maps)
    assert sandbox_module._spare_id() in sandbox_module._SPARE_IDS[found]


def test_rlimits_memory_file_size_and_descriptors_are_bounded() -> None:
    with opened(only=("rlimits",), limits=Limits(memory_bytes=64 << 20, file_bytes=1 << 20)) as sandbox:

        def child() -> Any:
            return [
                outcome(lambda: len(bytearray(32 << 20)) >> 20),
                outcome(lambda: len(bytearray(128 << 20))),
                outcome(lambda: Path("big").write_bytes(bytes(1 << 20))),
                outcome(lambda: Path("too-big").write_bytes(bytes((1 << 20) + 1))),
                outcome(lambda: len([os.dup(0) for _ in range(300)])),
            ]

        assert inside(sandbox, child) == [32, "MemoryError", 1 << 20, "OSError", "OSError"]


def test_the_work_folder_and_shared_memory_are_bounded() -> None:
    with opened(only=with_namespace("mount-namespace"), limits=Limits(file_bytes=1 << 20)) as sandbox:

        def fill(folder: str) -> str:
            for number in range(4):
                Path(folder, str(number)).write_bytes(bytes(512 << 10))
            return "no bound"

        def litter() -> str:
            for number in range(5000):
                Path(f"small{number}").touch()
            return "no bound"

        tries = [lambda: fill("."), lambda: fill("/dev/shm"), litter]
        assert [inside(sandbox, lambda one=one: outcome(one)) for one in tries] == ["OSError"] * 3


def test_clean_env_nothing_of_the_hosts_environment_is_left_in_memory() -> None:
    program = f"""
import ctypes, getpass, os, sys
sys.path.insert(0, {str(PROJECT)!r})
from grader.sandbox.limits import SOCKET_BYTES, Limits
from grader.sandbox.sandbox import Sandbox
def block(fields=[]):
    fields = fields or open("/proc/self/stat").read().rpartition(")")[2].split()
    return ctypes.string_at(int(fields[47]), int(fields[48]) - int(fields[47]))
sandbox = Sandbox(limits=Limits(), without={tuple(set(EVERYTHING) - {"clean-env"})!r})
assert b"hunter2" in block()
start = open("/proc/self/stat").read().rpartition(")")[2].split()
reader, writer = os.pipe()
def child():
    c = ctypes.CDLL(None)
    c.getenv.restype = ctypes.c_char_p
    found = [b"hunter2" in block(start), c.getenv(b"CI_TOKEN"), sorted(os.environ), os.environ["HOME"] == os.getcwd()]
    found.append(getpass.getuser())  # as torch's compiler does when it is imported, whoever runs it
    os.write(writer, repr(found).encode())
os.waitpid(sandbox.fork(child, [writer]), 0)
os.close(writer)
print(os.read(reader, 9999).decode())
sandbox.close()
"""
    environment = {**os.environ, "CI_TOKEN": "hunter2"}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    names = [
        "CUDA_VISIBLE_DEVICES",
        "GLOO_SOCKET_IFNAME",
        "HOME",
        "LANG",
        "OMP_NUM_THREADS",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "TMPDIR",
        "USER",
    ]
    assert ran.stdout.strip() == repr([False, None, names, True, "student"])


# --- the host's view ----------------------------------------------------------------------------------------


def test_the_host_sees_measures_and_ends_what_runs_below_a_child(box: Sandbox) -> None:
    reader, writer = os.pipe()

    def child() -> None:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                # Not malloc: it may give memory that this process was given long ago.
                held = mmap.mmap(-1, 48 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                for page in range(0, len(held), mmap.PAGESIZE):
                    held[page] = 1
                os.write(writer, b"up")
            signal.pause()
        signal.pause()

    pid = box.fork(child, [writer])
    os.close(writer)
    assert os.read(reader, 2) == b"up"
    below = process_tree.descendants(pid)
    assert len(below) == 2
    held = process_tree.memory_of([pid, *below], 0) - process_tree.memory_of([pid], 0) * 3
    assert 24 << 20 < held < 256 << 20
    assert process_tree.memory_of(below, 1 << 40) == 0
    process_tree.kill_tree_below(pid)
    assert not any(map(process_tree.is_alive, below))
    os.kill(pid, 0)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert read_to_end(reader) == b""
    assert process_tree.descendants(pid) == []


def test_what_starts_while_others_are_ended_stays() -> None:
    """A process of the next exercise must not pay for the memory of the one before."""
    command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]
    first, second = (subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2))
    try:
        for process in (first, second):
            assert process.stdout is not None and process.stdout.readline()
        process_tree.kill_all([first.pid])
        assert not process_tree.is_alive(first.pid) and process_tree.is_alive(second.pid)
    finally:
        for process in (first, second):
            process.kill()
            process.communicate()
