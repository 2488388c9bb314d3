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
MACHINE: Final = platform.machine()
SUPPORTED: Final = LINUX and MACHINE in ("x86_64", "aarch64") and sys.maxsize > 2**32

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET, CLONE_NEW_ANY = 0x20000000, 0x40000000, 0x7E020000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 1 << 12, 1 << 14, 1 << 18
MNT_DETACH: Final = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NAME, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 15, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 36, 38, 47, 4

_NUMBERS: Final = {
    **({"pivot_root": 155, "capset": 126} if MACHINE == "x86_64" else {"pivot_root": 41, "capset": 91}),
    **{"close_range": 436, "mount_setattr": 442},
    **{"landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446},
}
"""System calls that the C library has no function for."""
_LIBC: Any = ctypes.CDLL(None, use_errno=True) if LINUX else None


def call(function: str, *arguments: Any, doing: str = "") -> int:
    """Calls a function of the C library: ints go as longs, text as bytes, bytes and pointers as they are.

    Args:
        doing: what an error is about; the function's name if empty.
    """
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(_LIBC[function](*(os.fsencode(one) if isinstance(one, str) else one for one in words)))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{doing or function}: {os.strerror(code)}")
    return result


def syscall(name: str, *arguments: Any) -> int:
    """A system call by name; arguments as for `call`."""
    return call("syscall", _NUMBERS[name], *arguments, doing=name)


def prctl(option: int, first: Any = 0, second: Any = 0) -> int:
    """``prctl(2)`` with up to two arguments after the option."""
    return call("prctl", option, first, second, 0, 0, doing=f"prctl({option})")


def unshare(flags: int) -> None:
    """Moves this process into new namespaces, given as ``CLONE_NEW...`` flags."""
    call("unshare", flags)


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """``mount(2)``: `kind` is the type of file system, `data` its options."""
    call("mount", source, target, kind, flags, data, doing=f"mount {target}")


def make_read_only(target: str) -> None:
    """Makes the whole mount tree at `target` read-only, and its set-uid bits without effect (Linux 5.12)."""
    attributes = (ctypes.c_uint64 * 4)(1 | 2, 0, 0, 0)  # set MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID
    at_fdcwd, at_recursive = -100, 0x8000
    syscall("mount_setattr", at_fdcwd, target, at_recursive, ctypes.byref(attributes), 32)


def drop_capability_bounds() -> None:
    """From now on no program can gain a capability. Must run before the user id changes, which takes away the right."""
    with contextlib.suppress(OSError):  # no more capabilities, or no right to drop this one: no_new_privs covers that
        for capability in range(64):
            prctl(PR_CAPBSET_DROP, capability)


def drop_capabilities() -> None:
    """Give up every capability that this process holds: ambient, effective, permitted and inheritable."""
    with contextlib.suppress(OSError):  # kernels without ambient capabilities have none to clear
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    syscall("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))  # six words: no capability


def die_with_parent() -> None:
    """The kernel kills this process when its parent ends; does nothing on other systems than Linux."""
    if LINUX:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """From now on a process below this one whose parent ends becomes this one's child; Linux only."""
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)


def name_process(name: str) -> None:
    """The name of this process in lists of processes: 15 letters at most; does nothing on other systems than Linux."""
    if LINUX:
        prctl(PR_SET_NAME, name)


def close_all_but(keep: set[int]) -> None:
    """Close every descriptor of this process that is not in `keep`."""
    low = 0
    for fd in [*sorted(keep), 0x7FFFFFFF]:
        if fd > low:
            try:
                syscall("close_range", low, fd - 1, 0)
            except (OSError, TypeError):  # before Linux 5.9, or another system, whose library is not loaded
                os.closerange(low, min(fd, 65536))
        low = fd + 1


def wipe_initial_environment() -> None:
    """Zero the block of memory that held the environment when this program started."""
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # env_start, env_end: fields 50 and 51 of proc(5)
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)
