"""The threads beside a run of `verify` import no module: whoever looks through `sys.modules` meanwhile would fail."""

from __future__ import annotations

import subprocess
import sys

import pytest
from shared import OWN_COURSE, REPO

_VERIFY = """
import sys, threading

class Noted:
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is not threading.main_thread():
            print("imported beside the main thread:", name)

sys.meta_path.insert(0, Noted())
from grader.cli.app import main
main(["verify", "--course", sys.argv[1]])
"""


@pytest.mark.slow
def test_threads_beside_verify_import_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _VERIFY, str(OWN_COURSE)],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert "the course is sound" in done.stdout, done.stdout + done.stderr
    assert "imported beside" not in done.stdout
