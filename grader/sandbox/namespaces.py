"""Namespaces of one student process: its own users, processes, network, IPC and files (Linux).

Must never run in the host itself, except `fork_as_init` and `send_up`, which leave the host where it was.
"""

import contextlib
import os
import select
import socket
import struct
from pathlib import Path

import msgspec

from grader.sandbox import kernel, view

with contextlib.suppress(ImportError):
    import fcntl

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


class RootLayout(msgspec.Struct, frozen=True):
    """The parts of the root folder of one student process, and their places.

    Attributes:
        root: the folder that becomes the process's ``/``.
        work: the work folder, at the same path inside and outside.
        owner: (uid, gid) of the work folder.
        file_bytes: size of the work folder, and of ``/dev/shm`` (bytes).
        shown: the files that can be seen.
        links: symbolic links to make: path -> target.
        fresh_proc: whether the process gets a ``/proc`` of its own; else it has none.
    """

    root: str
    work: str
    owner: tuple[int, int]
    file_bytes: int
    shown: view.View
    links: dict[str, str]
    fresh_proc: bool = True


def fork_as_init(own_pid_namespace: int) -> int:
    """os.fork() whose child is the first process of a new PID namespace. For root: needs CAP_SYS_ADMIN.

    `own_pid_namespace`: the host's /proc/self/ns/pid, to which later children of the host belong again.
    """
    kernel.unshare(kernel.CLONE_NEWPID)
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid != 0:
            kernel.setns(own_pid_namespace, kernel.CLONE_NEWPID)
    return pid


def enter_user_namespace() -> None:
    """A user namespace in which this user, and nobody else, exists; it gives all capabilities, but only inside."""
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="utf-8")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="utf-8")


def fork_through_helper(*, pid_namespace: bool) -> tuple[int, int]:
    """A child in a new user (and PID) namespace, by way of a helper that enters it and ends; so the host never does.

    For ordinary users, who cannot go back to the host's PID namespace as `fork_as_init` does.

    Returns:
        In the host: (pid of the child, -1). In the child: (0, a pidfd of the helper, which `wait_for_end` takes).

    Raises:
        LayerFailed: the helper could not enter a namespace, or could not fork.
    """
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)  # the child is the host's when the helper ends
    reader, writer = os.pipe()
    helper = os.fork()
    if helper == 0:
        step = "user-namespace"
        try:
            enter_user_namespace()
            if pid_namespace:
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


def wait_for_end(process: int) -> None:
    """Wait until the process of a pidfd has ended, then close it."""
    select.select([process], [], [])
    os.close(process)


def has_ended(process: int) -> bool:
    """Whether the process of a pidfd has ended."""
    return bool(select.select([process], [], [], 0)[0])


def raise_loopback() -> None:
    """Turns on the loopback interface of a new network namespace, which starts without any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack_from("H", fcntl.ioctl(any_socket, _CALL_GETS_FLAGS, request), 16)
        fcntl.ioctl(any_socket, _CALL_SETS_FLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def build_root(layout: RootLayout) -> None:
    """Make a root that holds only what `layout.shown` shows, read-only, plus work, /dev, /proc; move into it.

    Runs in a new mount namespace. The old root is gone afterwards.
    """
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("root", layout.root, "tmpfs", kernel.MS_NOSUID, "mode=0755,size=1m,nr_inodes=4096")
    for path, readable in layout.shown.layers():
        _show_or_hide(path, layout.root + path, readable)
    for device in view.DEVICES:
        if os.path.exists(device):
            _show_or_hide(device, layout.root + device, True)
    for link, target in layout.links.items():
        os.makedirs(os.path.dirname(layout.root + link), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.symlink(target, layout.root + link)
    os.symlink("/proc/self/fd", layout.root + "/dev/fd")
    for folder in (layout.work, "/dev/shm", "/proc", "/tmp"):
        os.makedirs(layout.root + folder, exist_ok=True)
    kernel.make_read_only(layout.root)
    plain = kernel.MS_NOSUID | kernel.MS_NODEV
    if layout.fresh_proc:
        kernel.mount("proc", layout.root + "/proc", "proc", plain | kernel.MS_NOEXEC)
    uid, gid = layout.owner
    size = f"size={layout.file_bytes},nr_inodes={_MAX_FILES},uid={uid},gid={gid},mode=0700"
    kernel.mount("work", layout.root + layout.work, "tmpfs", plain, size)
    kernel.mount("shm", layout.root + "/dev/shm", "tmpfs", plain | kernel.MS_NOEXEC, size)
    os.chdir(layout.root)
    kernel.syscall("pivot_root", b".", b".")
    kernel.detach_mount(".")
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


def own_pid_namespace() -> int:
    """A descriptor of the PID namespace in which this process's children are born."""
    return os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
