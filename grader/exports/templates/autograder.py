"""Grades one submission for Classroom 50. Made by `grader ci classroom50`; what it needs is in autograder.zip.

Belongs into CLASSROOM/autograders/ASSIGNMENT/ of the classroom50 repository, with autograder.zip beside it. The runner
starts it in the student's checkout, of which it runs nothing and installs nothing: it passes a copy to the grader.
It leaves result.json and release-body.md there and ends with 0; where there is no mark, it ends with another code.
"""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

FAULT = 3


def main() -> int:
    checkout = Path.cwd()
    for name in ("result.json", "release-body.md"):
        if os.path.lexists(name) and not Path(name).is_dir():
            os.unlink(name)  # handed in: nothing that counts
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        room = Path(folder)
        with zipfile.ZipFile(Path(__file__).resolve().with_name("autograder.zip")) as packed:
            packed.extractall(room)
        settings = json.loads((room / "settings.json").read_text(encoding="utf-8"))
        try:
            python = sys.executable if is_installed(room) else install(room, settings)
            if settings["repository"]:
                fetch(room / "course", *settings["repository"])
        except (OSError, subprocess.CalledProcessError) as problem:
            print(f"::error::the grader could not be installed: {problem}".splitlines()[0], flush=True)
            return FAULT
        if os.environ.get("RUNNER_ENVIRONMENT") == "github-hosted" and shutil.which("sudo"):
            # Allows the sandbox its namespaces; in a container it may not.
            run(room, "sudo", "-n", "sysctl", "-q", "-w", "kernel.apparmor_restrict_unprivileged_userns=0", check=False)
        course = str(room / "course") if (room / "course").is_dir() else ""
        command = [python, "-m", "grader.exports.classroom50", str(checkout), course, *settings["only"]]
        code = run(room, *command, check=False)
    return code if code >= 0 else FAULT


def run(room: Path, *command: str, check: bool = True) -> int:
    """Never in the checkout: Python and others would read files of it."""
    environment = {**os.environ, "PYTHONPATH": str(room), "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["GIT_TERMINAL_PROMPT"] = "0"
    sys.stdout.flush()
    return subprocess.run(command, cwd=room, env=environment, check=check).returncode


def is_installed(room: Path) -> bool:
    """Whether this Python has every package in its version, as on a runner of your own, or in a container."""
    for file in ("requirements.txt", "requirements-torch.txt"):
        for line in (room / file).read_text(encoding="utf-8").splitlines():
            name, _, version = line.partition(" ")[0].partition("==")
            try:
                found = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                return False
            if found.partition("+")[0] != version.partition("+")[0]:
                return False
    return True


def install(room: Path, settings: dict[str, Any]) -> str:
    """The Python, of the version that the packages are for, of an environment with all of them."""
    run(room, sys.executable, "-m", "venv", str(room / "uv"))
    run(room, str(room / "uv/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv")
    uv, python = str(room / "uv/bin/uv"), str(room / "venv/bin/python")
    run(room, uv, "venv", "--quiet", "--python", settings["python"], str(room / "venv"))
    pip = [uv, "pip", "install", "--quiet", "--python", python, "--no-deps", *settings["hashes"]]
    run(room, *pip, "-r", "requirements.txt")
    run(room, *pip, "--index-url", settings["torch_index"], "-r", "requirements-torch.txt")
    return python


def fetch(folder: Path, address: str, commit: str) -> None:
    """Puts that commit of a repository into the folder."""
    run(folder.parent, "git", "init", "--quiet", str(folder))
    run(folder, "git", "fetch", "--quiet", "--depth", "1", "--", address, commit)
    run(folder, "git", "checkout", "--quiet", "FETCH_HEAD")


if __name__ == "__main__":
    sys.exit(main())
