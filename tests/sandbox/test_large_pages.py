"""Memory is copied into large pages, with the same content, where the system offers it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import re
from grader.student.host import _use_large_pages

def large():
    return int(re.search(r"AnonHugePages:\\s+(\\d+)", open("/proc/self/smaps_rollup").read())[1])

content = bytes(range(256)) * (64 << 12)
copy = bytearray(content)
before = large()
_use_large_pages()
print(large() - before, copy == content)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="large pages are asked for on Linux only")
def test_the_memory_of_a_process_is_copied_into_large_pages() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    kib, is_kept = done.stdout.split()
    if kib == "0":
        pytest.skip("this system has no large pages to offer")
    assert int(kib) >= 32 << 10  # of 64 MiB, whose ends need not lie where a large page may begin
    assert is_kept == "True"
