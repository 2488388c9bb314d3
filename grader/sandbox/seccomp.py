"""The system calls that submitted code is refused: a seccomp filter, built once, installed in each child.

Everything not named here is allowed: the filter keeps submitted code from other processes, mounts, rarely
used parts of the kernel and the network; it must never be the only thing between a submission and a file.
"""

import ctypes
import errno
import socket
import struct
from typing import Final

from grader.sandbox import kernel

_REFUSED: Final = (
    # other processes
    "ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440, "
    "pidfd_getfd 438 438, kcmp 312 272, "
    # mounts and roots
    "mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, open_tree 428 428, open_tree_attr 467 467, "
    "move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442, "
    "open_by_handle_at 304 265, name_to_handle_at 303 264, quotactl 179 60, quotactl_fd 443 443, "
    "fanotify_init 300 262, swapon 167 224, swapoff 168 225, "
    # its own priority: time that it waits for a processor is not counted
    "setpriority 141 140, sched_setparam 142 118, sched_setscheduler 144 119, sched_setattr 314 274, "
    "ioprio_set 251 30, "
    # namespaces (clone is looked at more closely below)
    "unshare 272 97, setns 308 268, "
    # parts of the kernel that no exercise needs
    "bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425, io_uring_enter 426 426, "
    "io_uring_register 427 427, add_key 248 217, request_key 249 218, keyctl 250 219, personality 135 92, "
    "lookup_dcookie 212 18, uselib 134 -1, modify_ldt 154 -1, nfsservctl 180 42, syslog 103 116, acct 163 89, "
    # memory that no process is seen to hold: shared memory, pages kept by pipes, objects of the kernel
    "memfd_create 319 279, memfd_secret 447 447, shmget 29 194, shmat 30 196, shmctl 31 195, msgget 68 186, "
    "semget 64 190, vmsplice 278 75, splice 275 76, tee 276 77, sendfile 40 71, io_setup 206 0, "
    "landlock_create_ruleset 444 444, landlock_add_rule 445 445, "
    # the machine itself
    "kexec_load 246 104, kexec_file_load 320 294, init_module 175 105, finit_module 313 273, delete_module 176 106, "
    "reboot 169 142, settimeofday 164 170, clock_settime 227 112, clock_adjtime 305 266, adjtimex 159 171, "
    "sethostname 170 161, setdomainname 171 162, vhangup 153 58, iopl 172 -1, ioperm 173 -1"
)
"""The name of a call, and its numbers on x86_64 and on aarch64; -1 if there is no such call."""
_ALL_BITS, _NOT_ZERO = 0xFFFFFFFF, ()
_MMAP = 9, 222
_REFUSED_BY_ARGUMENT: Final[tuple[tuple[tuple[int, int], tuple[tuple[int, int, tuple[int, ...]], ...]], ...]] = (
    # prlimit64 of another process: its limits would outlive the process that sets them
    ((302, 261), ((0, _ALL_BITS, _NOT_ZERO),)),
    # mmap with MAP_SHARED and MAP_ANONYMOUS: pages that the process has given back stay, and count for nobody
    (_MMAP, ((3, 0x21, (0x21,)),)),
    # setsockopt(SOL_SOCKET): SO_SNDBUF, SO_RCVBUF, SO_ATTACH_FILTER, the two with FORCE, SO_ZEROCOPY
    ((54, 208), ((1, _ALL_BITS, (1,)), (2, _ALL_BITS, (7, 8, 26, 32, 33, 60)))),
    # fcntl: F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW: a file may have any number of these locks; `flock` works
    ((72, 25), ((1, _ALL_BITS, (6, 7, 37, 38)),)),
)
"""Numbers of a call on x86_64 and on aarch64, and what it is refused for: for each of these arguments (counted from 0),
its bits under a mask are one of these values, or not zero. Only the lower half of an argument is looked at: the kernel
reads no more of these."""
_SOCKET, _CLONE, _CLONE3 = (41, 198), (56, 220), (435, 435)

_KILL, _ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000


def build(*, families: tuple[int, ...], gpus: bool = False) -> bytes:
    """The filter for this machine.

    Args:
        families: the address families that `socket()` may ask for.
        gpus: whether real GPUs are used: CUDA maps shared memory that no process is seen to hold.
    """
    column = ("x86_64", "aarch64").index(kernel.MACHINE)
    arch = (0xC000003E, 0xC00000B7)[column]
    refuse = _ERRNO | errno.EPERM
    program = [_op(_LOAD, _ARCH), _op(_EQUAL, arch, 1, 0), _op(_RETURN, _KILL), _op(_LOAD, _NR)]
    if kernel.MACHINE == "x86_64":
        program += [_op(_AT_LEAST, _X32, 0, 1), _op(_RETURN, _KILL)]
    for _, on_x86_64, on_aarch64 in map(str.split, _REFUSED.split(", ")):
        number = int((on_x86_64, on_aarch64)[column])
        if number >= 0:
            program += [_op(_EQUAL, number, 0, 1), _op(_RETURN, refuse)]
    for numbers, tests in _REFUSED_BY_ARGUMENT:
        if gpus and numbers == _MMAP:
            continue
        body: list[bytes] = []
        for argument, mask, values in tests:
            body += [_op(_LOAD, _FIRST_ARGUMENT + 8 * argument), _op(_AND, mask)]
            body += [_op(_EQUAL, one, len(values) - at, 0) for at, one in enumerate(values)] or [_op(_EQUAL, 0, 0, 1)]
            body += [_op(_RETURN, _ALLOW)]
        program += [_op(_EQUAL, numbers[column], 0, len(body) + 1), *body, _op(_RETURN, refuse)]
    # clone3 hides its flags from a filter: "no such call" makes the C library fall back to clone
    program += [_op(_EQUAL, _CLONE3[column], 0, 1), _op(_RETURN, _ERRNO | errno.ENOSYS)]
    program += [_op(_EQUAL, _CLONE[column], 0, 4), _op(_LOAD, _FIRST_ARGUMENT)]
    program += [_op(_ANY_BIT, kernel.CLONE_NEW_ANY, 0, 1), _op(_RETURN, refuse), _op(_RETURN, _ALLOW)]
    allowed = [op for family in families for op in (_op(_EQUAL, family, 0, 1), _op(_RETURN, _ALLOW))]
    program += [_op(_EQUAL, _SOCKET[column], 0, 2 + len(allowed)), _op(_LOAD, _FIRST_ARGUMENT), *allowed]
    program += [_op(_RETURN, refuse), _op(_RETURN, _ALLOW)]
    return b"".join(program)


def socket_families(*, own_network: bool, own_files: bool) -> tuple[int, ...]:
    """The address families that a submission may open sockets of.

    Internet and netlink in a network namespace of its own; Unix sockets (DataLoader workers pass tensors through them)
    only where the submission cannot reach another program's socket, neither by path nor by abstract name.
    """
    if not own_network:
        return ()
    inet = (int(socket.AF_INET), int(socket.AF_INET6), int(getattr(socket, "AF_NETLINK", 16)))
    return (*inet, int(socket.AF_UNIX)) if own_files else inet


def install(program: bytes) -> None:
    """Put the filter on this process, for good. Needs no_new_privs."""

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]

    mode_filter = 2
    kernel.prctl(kernel.PR_SET_SECCOMP, mode_filter, ctypes.byref(Program(len(program) // 8, program)))


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
