"""The whole suite on every Python and torch that the metadata promises; by hand, as it downloads gigabytes.

    pipx run nox              # every session whose interpreter is there; --list shows them
    pipx run nox -s "tests-3.10(torch='oldest')"

``pinned`` is what CI runs; where its pins do not exist for a Python, the session says so and is skipped.
"""

from __future__ import annotations

import re
from pathlib import Path

import nox

HERE = Path(__file__).parent
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
OLDEST_PYTHON, PINNED_FROM = "3.10", "3.11"

nox.options.error_on_missing_interpreters = False


def oldest(requirement: str) -> str:
    """The lowest version that pyproject.toml allows of a package."""
    found = re.search(rf'"{requirement}>=([\d.]+)', (HERE / "pyproject.toml").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


@nox.session(python=PYTHONS)
@nox.parametrize("torch", ["oldest", "pinned", "newest"])
def tests(session: nox.Session, torch: str) -> None:
    """The suite; positional arguments go to pytest in place of ``-n 2 tests``."""
    constraints = ["-c", str(HERE / "constraints.txt")] if torch == "pinned" else []
    if torch == "pinned" and session.python == OLDEST_PYTHON:
        session.skip(f"constraints.txt is for Python {PINNED_FROM} and newer")
    if torch == "oldest" and session.python not in (OLDEST_PYTHON, PINNED_FROM):
        session.skip("the oldest torch has no build for it")
    # torch by itself and first: it decides how much is downloaded.
    wanted = {"oldest": f"torch=={oldest('torch')}.*", "pinned": "torch", "newest": "torch"}[torch]
    session.install(*constraints, wanted)
    session.install(*constraints, "-e", ".[dev]")
    session.run("python", "-m", "pytest", "-q", *(session.posargs or ["-n", "2", "tests"]))
