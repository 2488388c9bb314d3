"""The few Linux calls that Python does not offer, made through ctypes.

Every call raises OSError on failure; nothing here decides anything. Importing it is safe on every system.
"""

import contextlib
import ctypes
import os
import platform
import signal
import sys
from typing import Any, Final

LINUX: Final = sys.platform == "linux"
MACHINE: Final = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
SUPPORTED: Final = LINUX and MACHINE in ("x86_64", "aarch64") and sys.maxsize > 2**32

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000
CLONE_NEW_ANY: Final = 0x7E020000

MS_RDONLY: Final = 1
MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
MNT_DETACH: Final = 2

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
PR_CAP_AMBIENT: Final = 47
PR_CAP_AMBIENT_CLEAR_ALL: Final = 4

_NUMBERS: Final[dict[str, dict[str, int]]] = {
    "x86_64": {"pivot_root": 155, "capset": 126},
    "aarch64": {"pivot_root": 41, "capset": 91},
}
_NUMBERS_EVERYWHERE: Final = {
    "close_range": 436,
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}

_libc: Any = ctypes.CDLL(None, use_errno=True) if LINUX else None


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def syscall(name: str, *arguments: Any) -> int:
    """A system call by name; ints go as longs, bytes and pointers as they are."""
    number = _NUMBERS.get(MACHINE, {}).get(name, _NUMBERS_EVERYWHERE.get(name, -1))
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _checked(int(_libc.syscall(ctypes.c_long(number), *words)), name)


def prctl(option: int, first: Any = 0, second: Any = 0) -> int:
    """``prctl(2)`` with up to two arguments after the option."""
    words = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in (first, second, 0, 0)]
    return _checked(int(_libc.prctl(option, *words)), f"prctl({option})")


def unshare(flags: int) -> None:
    """Moves this process into new namespaces, given as ``CLONE_NEW...`` flags."""
    _checked(int(_libc.unshare(flags)), f"unshare({flags:#x})")


def setns(fd: int, kind: int) -> None:
    """Moves this process into the namespace of a descriptor; `kind` is its ``CLONE_NEW...`` flag."""
    _checked(int(_libc.setns(fd, kind)), "setns")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """``mount(2)``: `kind` is the type of file system, `data` its options."""
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        data.encode() if data else None,
    )
    _checked(int(result), f"mount {target}")


def detach_mount(target: str) -> None:
    """Unmounts `target` as soon as nothing uses it."""
    _checked(int(_libc.umount2(os.fsencode(target), MNT_DETACH)), f"umount {target}")


def make_read_only(target: str) -> None:
    """Makes the whole mount tree at `target` read-only, and its set-uid bits without effect (Linux 5.12)."""
    attributes = (ctypes.c_uint64 * 4)(1 | 2, 0, 0, 0)  # set MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID
    at_fdcwd, at_recursive = -100, 0x8000
    syscall("mount_setattr", at_fdcwd, os.fsencode(target), at_recursive, ctypes.byref(attributes), 32)


def drop_capability_bounds() -> None:
    """From now on no program can gain a capability. Must run before the user id changes, which takes away the right."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # no more capabilities, or no right to drop this one: no_new_privs covers that
            break


def drop_capabilities() -> None:
    """Give up every capability that this process holds: ambient, effective, permitted and inheritable."""
    with contextlib.suppress(OSError):  # kernels without ambient capabilities have none to clear
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    syscall("capset", ctypes.byref(header), ctypes.byref(nothing))


def die_with_parent() -> None:
    """The kernel kills this process when its parent ends; does nothing on other systems than Linux."""
    if LINUX:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def close_all_but(keep: set[int]) -> None:
    """Close every descriptor of this process that is not in `keep`."""
    low = 0
    for fd in [*sorted(keep), 0x7FFFFFFF]:
        if fd > low:
            try:
                syscall("close_range", low, fd - 1, 0)
            except (OSError, AttributeError):  # before Linux 5.9, or another system
                os.closerange(low, min(fd, 65536))
        low = fd + 1


def wipe_initial_environment() -> None:
    """Zero the block of memory that held the environment when this program started."""
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # env_start, env_end: fields 50 and 51 of proc(5)
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)
