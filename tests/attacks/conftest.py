"""Starts the worker that the attacks meet: one for each pytest-xdist worker, warm, and the same for all its attacks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from arena import EXERCISES, LIMITS, PROJECT, Arena

from grader.grading.protocol import WorkerOptions
from grader.intake.submission import Submission
from grader.sandbox import kernel
from grader.sandbox.sandbox import probe_layers

collect_ignore = ["submissions", "course"]


@pytest.fixture(scope="session")
def arenas() -> Iterator[list[Arena]]:
    """The arenas started so far, the current one last; skips where the system does not offer the whole sandbox."""
    if not kernel.SUPPORTED:
        pytest.skip("the sandbox needs Linux on x86_64 or aarch64")
    missing = {layer: reason for layer, reason in probe_layers().items() if reason}
    if missing:
        pytest.skip(f"attacks need the whole sandbox: {missing}")
    started: list[Arena] = []
    yield started
    for arena in started:
        arena.close()


@pytest.fixture
def arena(arenas: list[Arena], request: pytest.FixtureRequest) -> Iterator[Arena]:
    """The worker that all attacks meet; a new one only after an attack that succeeded in ending it."""
    if not arenas or arenas[-1].worker.process.poll() is not None:
        honest = Submission("honest", {"tensor_ops.py": (PROJECT / "solutions" / "tensor_ops.py").read_bytes()})
        names = tuple(f"tensor_ops.{name}" for name in EXERCISES)
        arenas.append(Arena(WorkerOptions(exercises=names, limits=LIMITS), honest))
    with arenas[-1].after(request.session) as arena:
        yield arena
