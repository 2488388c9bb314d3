"""What makes a fork cheap must not change what is forked: where modules are known before, and memory on huge pages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from shared import REPO, WarmUp

from grader.student import huge_pages

SEES = """
import sys

def first():
    import late_of_mine
    names = [name for name in sys.modules if name == "grader" or name.startswith("grader.")]
    loaded = [name for name in names if getattr(sys.modules[name], "__file__", None)]
    return not loaded or str(loaded)

second = third = first
"""


def test_no_module_of_the_grader_is_in_sight(warm: WarmUp) -> None:
    """Neither one that was loaded before the first fork, nor one that its leader has loaded since."""
    result = warm(REPO / "tests" / "courses" / "reuse").grade(state=SEES, late_of_mine="")
    assert [check.message for exercise in result.exercises for check in exercise.checks] == [""] * 4


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "glibc.malloc.hugetlb=1"),
        ("glibc.malloc.arena_max=2", "glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1"),
        ("glibc.malloc.hugetlb=2", "glibc.malloc.hugetlb=2"),
    ],
)
def test_what_a_user_asks_of_the_c_library_stays(before: str, after: str) -> None:
    settings = {"HOME": "/", "GLIBC_TUNABLES": before}
    assert huge_pages.from_the_start(settings) == {"HOME": "/", "GLIBC_TUNABLES": after}
    assert settings["GLIBC_TUNABLES"] == before


def _has_huge_pages() -> bool:
    enabled = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    newest = os.confstr("CS_GNU_LIBC_VERSION") if hasattr(os, "confstr") else None
    version = tuple(int(part) for part in (newest or "glibc 0.0").split()[1].split(".")[:2])
    return enabled.exists() and "[madvise]" in enabled.read_text() and version >= (2, 35)


@pytest.mark.skipif(not _has_huge_pages(), reason="the system has no huge pages that a program can ask for")
def test_most_of_torchs_memory_is_on_huge_pages_from_the_start() -> None:
    code = "import torch; print(*(line for line in open('/proc/self/smaps_rollup') if 'AnonHuge' in line))"
    environment = huge_pages.from_the_start(os.environ)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[1]) > 40_000, "kB of the 140 MB"
