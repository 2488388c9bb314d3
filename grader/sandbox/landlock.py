"""Landlock: a process gives up every file access that is not on a list, whatever its user id says.

Must never widen what the file permissions allow; a path that does not exist is left out of the list.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from grader.sandbox import kernel

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST_VERSION = (1 << 13) - 1
_LATER = ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV))  # the version that a right came with

READ = EXECUTE | READ_FILE | READ_DIR
DEVICE = READ_FILE | WRITE_FILE | _IOCTL_DEV
WRITE = (_FIRST_VERSION | _REFER | _TRUNCATE) & ~(_MAKE_CHAR | _MAKE_BLOCK)
_OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEV

_SCOPES = 0b11  # abstract Unix sockets and signals stay within the sandbox
_RULE_PATH_BENEATH = 1


def build(rules: Iterable[tuple[str, int]]) -> int:
    """Makes a ruleset of (path, access rights there and below); `enter` uses it.

    Returns:
        Its descriptor.

    Raises:
        OSError: this kernel has no Landlock, or it is turned off.
    """
    abi = kernel.syscall("landlock_create_ruleset", 0, 0, 1)
    handled = _FIRST_VERSION | sum(right for since, right in _LATER if abi >= since)
    words = (ctypes.c_uint64 * 3)(handled, 0, _SCOPES if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = kernel.syscall("landlock_create_ruleset", ctypes.byref(words), size, 0)
    for path, access in rules:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError, NotADirectoryError):
            continue
        try:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                access &= _OF_A_FILE
            rule = struct.pack("=Qi", access & handled, fd)
            kernel.syscall("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, rule, 0)
        finally:
            os.close(fd)
    return ruleset


def enter(ruleset: int) -> None:
    """Confines this process, and what it forks, to a ruleset, which it closes. Needs no_new_privs.

    Raises:
        OSError: the kernel refused; nothing is confined then.
    """
    kernel.syscall("landlock_restrict_self", ruleset, 0)
    os.close(ruleset)
