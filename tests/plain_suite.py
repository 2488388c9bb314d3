"""Runs a suite on many submissions with plain pytest: torch is imported once, and each submission has a fork.

Run as a program: its argument is a file of JSON, ``{"suite": DIR, "seconds": 2, "submissions": {NAME: DIR}}``. It
prints ``{NAME: [the tests that pass]}``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pytest


def passed_by_plain_pytest(suite: Path, submissions: Mapping[str, Path], seconds: float) -> dict[str, set[str]]:
    """The tests that pass, such as ``test_nn.py::test_softmax[0]``, by submission.

    Args:
        seconds: of processor time that one test may take.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".json") as settings:
        folders = {name: str(folder) for name, folder in submissions.items()}
        json.dump({"suite": str(suite), "seconds": seconds, "submissions": folders}, settings)
        settings.flush()
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, settings.name]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=600)
    found = json.loads(done.stdout.splitlines()[-1])
    return {name: set(tests) for name, tests in found.items()}


class Outcomes:
    """A pytest plugin: ends a test that takes too long, and keeps the outcome of each."""

    def __init__(self, seconds: float) -> None:
        self.of: dict[str, bool] = {}
        self._seconds = seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        def end(_: int, __: FrameType | None) -> None:
            pytest.fail("it took too long")

        signal.signal(signal.SIGVTALRM, end)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("/")[2]
        self.of[name] = self.of.get(name, True) and report.passed


def _run(suite: Path, submission: Path, seconds: float) -> list[str]:
    """In a fork: the tests that pass. The submission's adapters are among the tests, its packages beside them."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        subprocess.run(["cp", "-r", suite, folder / "tests"], check=True)
        subprocess.run(["cp", submission / "adapters.py", folder / "tests"], check=True)
        os.chdir(folder)
        sys.path[:0] = [str(folder), str(submission)]
        outcomes = Outcomes(seconds)
        arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:torchkata", "-c", os.devnull, f"--rootdir={folder}"]
        pytest.main([*arguments, "tests"], plugins=[outcomes])
        return [name for name, is_passed in outcomes.of.items() if is_passed]


def _main(settings: dict[str, Any]) -> None:
    import hypothesis
    import torch._dynamo
    from hypothesis import strategies  # noqa: F401

    hypothesis.settings.register_profile("without", deadline=None)  # one example may wait for a busy machine
    hypothesis.settings.load_profile("without")
    torch.set_num_threads(1)
    found = {}
    for name, folder in settings["submissions"].items():
        reading, writing = os.pipe()
        if not (child := os.fork()):
            names = _run(Path(settings["suite"]), Path(folder), settings["seconds"])
            os.write(writing, json.dumps(names).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as stream:
            found[name] = json.loads(stream.read() or "[]")
        os.waitpid(child, 0)
    print(json.dumps(found))


if __name__ == "__main__":
    _main(json.loads(Path(sys.argv[1]).read_text()))
