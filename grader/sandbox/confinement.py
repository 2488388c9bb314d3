"""Forks a process into namespaces of its own, and confines it by its own calls before any submitted code runs (Linux).

Must never return from `confine` with a planned layer missing: every failure is raised, and the caller ends the process.
"""

import contextlib
import os
import select
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import ParamSpec

import msgspec

from grader import machine
from grader.sandbox import kernel, limits, seccomp, view

with contextlib.suppress(ImportError):
    import fcntl

P = ParamSpec("P")

_MAX_FILES = 4096
_CALL_SETS_FLAGS, _CALL_GETS_FLAGS, _IFF_UP = 0x8914, 0x8913, 1


class LayerFailed(Exception):
    """A layer of the sandbox cannot be put on. Remedy: leave the layer out and name it, as `Sandbox` does.

    Attributes:
        layer: the name of the layer.
        reason: why, in one line.
    """

    def __init__(self, layer: str, reason: str) -> None:
        super().__init__(f"{layer}: {reason}")
        self.layer = layer
        self.reason = reason


class ConfinementPlan(msgspec.Struct, frozen=True):
    """All that a child needs to confine itself, worked out once in the host.

    Attributes:
        root: the folder that becomes the child's ``/``.
        work: the work folder, at the same path inside and outside.
        owner: (uid, gid) of the child and its work folder.
        shown: the files that can be seen.
        fresh_proc: whether the child gets a ``/proc`` of its own; else it has none.
        reading: Landlock rules: (path, access rights).
        system_calls: the seccomp filter.
        gpus: whether the child may use the machine's GPUs.
    """

    layers: tuple[str, ...]
    limits: limits.Limits
    root: str
    work: str
    owner: tuple[int, int]
    shown: view.View
    fresh_proc: bool
    reading: tuple[tuple[str, int], ...]
    system_calls: bytes
    gpus: bool

    def put_on(self, name: str, action: Callable[P, None], *arguments: P.args, **named: P.kwargs) -> None:
        """Puts on a layer by an action; does nothing if the layer is not in the plan."""
        if name in self.layers:
            with layer(name):
                action(*arguments, **named)


@contextlib.contextmanager
def layer(name: str) -> Iterator[None]:
    """Any exception inside becomes LayerFailed(name)."""
    try:
        yield
    except LayerFailed:
        raise
    except Exception as problem:
        raise LayerFailed(name, str(problem) or type(problem).__name__) from problem


def fork_into(layers: Sequence[str]) -> tuple[int, int]:
    """os.fork() whose child is in new user and PID namespaces, if they are among `layers`. The host stays where it was.

    An ordinary user cannot go back to the host's PID namespace as root can: then a helper enters the namespaces, forks
    the child, and ends.

    Returns:
        In the host: (pid of the child, -1). In the child: (0, a pidfd of the helper; -1 if there is none).

    Raises:
        LayerFailed: a namespace could not be entered, or nothing could be forked there.
    """
    if "user-namespace" in layers:
        return _fork_through_helper(own_processes="pid-namespace" in layers)
    if "pid-namespace" not in layers:
        return os.fork(), -1
    with layer("pid-namespace"), open("/proc/self/ns/pid", "rb", buffering=0) as namespace_of_host:
        kernel.unshare(kernel.CLONE_NEWPID)
        pid = -1
        try:
            pid = os.fork()
        finally:
            if pid != 0:
                kernel.call("setns", namespace_of_host.fileno(), kernel.CLONE_NEWPID)
        return pid, -1


def _fork_through_helper(*, own_processes: bool) -> tuple[int, int]:
    """A fork by way of a helper in a user namespace in which this user, and nobody else, exists."""
    kernel.adopt_orphans()  # the child is the host's when the helper ends
    reader, writer = os.pipe()
    helper = os.fork()
    if helper == 0:
        step = "user-namespace"
        uid, gid = os.geteuid(), os.getegid()
        try:
            kernel.unshare(kernel.CLONE_NEWUSER)  # it gives all capabilities, but only inside
            Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="utf-8")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="utf-8")
            if own_processes:
                step = "pid-namespace"
                kernel.unshare(kernel.CLONE_NEWPID)
            itself = os.pidfd_open(os.getpid())
            child = os.fork()
        except BaseException as problem:
            os.write(writer, f"{step}: {problem}".encode(errors="replace")[:400])
            os._exit(1)
        if child == 0:
            return 0, itself
        os.write(writer, str(child).encode())
        os._exit(0)
    os.close(writer)
    try:
        answer = os.read(reader, 512).decode(errors="replace")
    finally:
        os.close(reader)
        os.waitpid(helper, 0)
    if not answer.isdigit():
        step, _, reason = answer.partition(": ")
        raise LayerFailed(step or "user-namespace", reason or "the helper process died")
    return int(answer), -1


def confine(plan: ConfinementPlan, keep_fds: Collection[int], *, host: int, helper: int) -> None:
    """Puts every layer of the plan on this process, which `fork_into` has made.

    Args:
        keep_fds: descriptors that stay open; all others are closed, and 0, 1, 2 lead to /dev/null.
        host: a pidfd of the host: the process ends when the host does.
        helper: a pidfd of the process that forked this one, or -1 when that was the host.

    Raises:
        LayerFailed: nothing may run any more in this process.
    """
    os.setsid()
    os.umask(0o022)
    for number in signal.valid_signals():
        wanted = signal.SIG_IGN if number in (signal.SIGPIPE, signal.SIGXFSZ) else signal.SIG_DFL
        with contextlib.suppress(OSError, ValueError):  # SIGKILL and SIGSTOP cannot be changed
            signal.signal(number, wanted)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    plan.put_on("clean-env", _clean_environment, plan.work, plan.gpus)
    plan.put_on("rlimits", limits.apply, plan.limits, gpus=plan.gpus)
    plan.put_on("net-namespace", _enter_network)
    plan.put_on("ipc-namespace", kernel.unshare, kernel.CLONE_NEWIPC)
    plan.put_on("mount-namespace", _enter_root, plan)
    if "pid-namespace" not in plan.layers:
        kernel.adopt_orphans()  # its children stay below it, and the host finds them
    with layer("landlock"):
        ruleset = view.build_ruleset(plan.reading) if "landlock" in plan.layers else -1
    for fd in {0, 1, 2}.difference(keep_fds):
        os.dup2(null, fd)
    kernel.close_all_but({0, 1, 2, *keep_fds} | {fd for fd in (host, helper, ruleset) if fd >= 0})
    kernel.drop_capability_bounds()
    plan.put_on("uid", _become, *plan.owner)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    _die_with(host, helper)
    os.umask(0o077)
    os.chdir(plan.work)
    plan.put_on("landlock", view.enter_ruleset, ruleset)
    plan.put_on("seccomp", seccomp.install, plan.system_calls)


def _clean_environment(work: str, gpus: bool) -> None:
    more = machine.gpu_environment("auto" if gpus else "simulated")
    os.environ.clear()
    kernel.wipe_initial_environment()
    os.environ.update(PATH="/usr/local/bin:/usr/bin:/bin", LANG="C.UTF-8", HOME=work, TMPDIR=work, **more)
    os.environ.update(USER="student", PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    sys.dont_write_bytecode = True
    tempfile.tempdir = None


def _become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _die_with(host: int, helper: int) -> None:
    if helper >= 0:
        select.select([helper], [], [])  # until it has ended: from then on the host is the parent
        os.close(helper)
    kernel.die_with_parent()
    if select.select([host], [], [], 0)[0]:
        raise RuntimeError("the host has ended")
    os.close(host)


def _enter_network() -> None:
    """A new network namespace, and its loopback interface, which starts turned off."""
    kernel.unshare(kernel.CLONE_NEWNET)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack_from("H", fcntl.ioctl(any_socket, _CALL_GETS_FLAGS, request), 16)
        fcntl.ioctl(any_socket, _CALL_SETS_FLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))
    for buffer in ("tcp_rmem", "tcp_wmem"):
        with contextlib.suppress(OSError):  # a container may have a read-only /proc/sys
            Path("/proc/sys/net/ipv4", buffer).write_text(f"4096 16384 {limits.SOCKET_BYTES // 2}", encoding="ascii")


def _enter_root(plan: ConfinementPlan) -> None:
    """A new mount namespace, whose root holds only what `plan.shown` shows, read-only, plus work, /dev, /proc.

    The old root is gone afterwards.
    """
    kernel.unshare(kernel.CLONE_NEWNS)
    root = plan.root
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("root", root, "tmpfs", kernel.MS_NOSUID, "mode=0755,size=1m,nr_inodes=4096")
    for path, readable in plan.shown.layers():
        _show_or_hide(path, root + path, readable)
    for link, target in plan.shown.links.items():
        os.makedirs(os.path.dirname(root + link), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.symlink(target, root + link)
    os.symlink("/proc/self/fd", root + "/dev/fd")
    for folder in (plan.work, "/dev/shm", "/proc", "/tmp"):
        os.makedirs(root + folder, exist_ok=True)
    kernel.make_read_only(root)
    plain = kernel.MS_NOSUID | kernel.MS_NODEV
    if plan.fresh_proc:
        kernel.mount("proc", root + "/proc", "proc", plain | kernel.MS_NOEXEC)
    uid, gid = plan.owner
    size = f"size={plan.limits.file_bytes},nr_inodes={_MAX_FILES},uid={uid},gid={gid},mode=0700"
    kernel.mount("work", root + plan.work, "tmpfs", plain, size)
    kernel.mount("shm", root + "/dev/shm", "tmpfs", plain | kernel.MS_NOEXEC, size)
    os.chdir(root)
    kernel.syscall("pivot_root", ".", ".")
    kernel.call("umount2", ".", kernel.MNT_DETACH)
    os.chdir("/")


def _show_or_hide(source: str, target: str, readable: bool) -> None:
    if not readable and not os.path.exists(source):
        return  # nothing to hide, and the folder may be the system's own, where nothing may be made
    folder = os.path.isdir(source)
    if not os.path.lexists(target):
        os.makedirs(target if folder else os.path.dirname(target), exist_ok=True)
        if not folder:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    if readable:
        kernel.mount(source, target, None, kernel.MS_BIND | kernel.MS_REC)
    elif folder:
        kernel.mount("hidden", target, "tmpfs", kernel.MS_NOSUID, "mode=0755,size=64k")
    else:
        kernel.mount("/dev/null", target, None, kernel.MS_BIND)
