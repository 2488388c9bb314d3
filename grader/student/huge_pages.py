"""Puts the warm host's memory on huge pages, so that its forks cost less than half.

A fork copies one page-table entry per page: 40,000 for a process with torch on small pages, 80 on huge ones. Only
the way memory is mapped changes. Does nothing where the kernel cannot (before Linux 6.1, or another system), or where
the C library is not glibc 2.35 or later.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Mapping
from typing import Final

_TUNABLES: Final = "GLIBC_TUNABLES"
_HUGE: Final = 2 << 20
_MADV_COLLAPSE: Final = 25


def from_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a new process whose C library asks for huge pages at once: most of torch's memory is its."""
    others = [setting for setting in environment.get(_TUNABLES, "").split(":") if setting]
    if any(setting.startswith("glibc.malloc.hugetlb=") for setting in others):
        return dict(environment)
    return {**environment, _TUNABLES: ":".join([*others, "glibc.malloc.hugetlb=1"])}


def collapse() -> int:
    """Collapses this process's private memory into huge pages, where it can; returns how many there are now."""
    with contextlib.suppress(OSError, AttributeError):
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            ranges = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *(?:\[heap\])?$", file.read(), re.MULTILINE)
        count = 0
        for start, end in ((int(low, 16), int(high, 16)) for low, high in ranges):
            for address in range(-(-start // _HUGE) * _HUGE, end // _HUGE * _HUGE, _HUGE):
                count += madvise(address, _HUGE, _MADV_COLLAPSE) == 0
        return count
    return 0
