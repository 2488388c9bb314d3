"""``grader package``: this grader, a course and pinned requirements in the archive that a platform unpacks.

The same grader and course always give the same bytes.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import msgspec

import grader
from grader.course import Course
from grader.errors import UserError
from grader.files import write_atomically

_LEFT_OUT = frozenset({"__pycache__", "node_modules"})


def gradescope(course: Course, *, own: bool, to: Path) -> None:
    """Writes the archive; `own`: the course is the instructor's, not the shipped one.

    Raises:
        UserError: it cannot be written.
    """
    versions = pinned()
    python = ".".join(platform.python_version_tuple()[:2])
    with tempfile.TemporaryFile() as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("setup.sh", "run_autograder"):
                text = resources.files("grader.exports").joinpath("templates", name).read_text(encoding="utf-8")
                text = text.replace("@PYTHON@", python).replace("@TORCH@", versions["torch"])
                _add(archive, name, text.encode(), executable=True)
            lines = "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))
            _add(archive, "requirements.txt", lines.encode())
            for name, file in sorted(dict(_files(course, own)).items()):
                _add(archive, name, file.read_bytes())
        stream.seek(0)
        try:
            write_atomically(to, iter(lambda: stream.read(1 << 20), b""))
        except OSError as problem:
            raise UserError(f"{to}: {problem.strerror}", fix="name another file: --to FILE") from problem


def pinned() -> dict[str, str]:
    """The versions of all packages that the grader needs on this machine, directly or indirectly, by name."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, str] = {}
    waiting = [Requirement(text) for text in _required()]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        try:
            found[name] = importlib.metadata.version(name).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            continue  # Not needed here: torch lists CUDA packages that its CPU build does not install.
        waiting += [Requirement(text) for text in importlib.metadata.requires(name) or ()]
    return found


def _required() -> list[str]:
    try:
        return importlib.metadata.requires("torchkata") or []
    except importlib.metadata.PackageNotFoundError:  # Run from a checkout.
        project = Path(grader.__file__).parent.parent / "pyproject.toml"
        return list(msgspec.toml.decode(project.read_bytes())["project"]["dependencies"])


def _files(course: Course, own: bool) -> Iterator[tuple[str, Path]]:
    package = Path(grader.__file__).parent
    yield from _below(package, "grader")
    if own:
        yield "course/course.toml", course.manifest
        for name, folder in _folders(course):
            yield from _below(folder, f"course/{name}")
        yield from _below(course.checks_dir, "course/checks")
        if course.kit and course.kit.folder.parent != course.checks_dir:
            yield from _below(course.kit.folder, f"course/{course.kit.name}")
    elif not (package / "shipped").is_dir():
        for name, folder in _folders(course):
            yield from _below(folder, f"grader/shipped/{name}")


def _folders(course: Course) -> list[tuple[str, Path]]:
    return [("exercises", course.exercises_dir), ("solutions", course.solutions_dir)]


def _below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    for file in folder.rglob("*"):
        inside = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") or part in _LEFT_OUT for part in inside.parts):
            yield f"{name}/{inside.as_posix()}", file


def _add(archive: zipfile.ZipFile, name: str, content: bytes, executable: bool = False) -> None:
    entry = zipfile.ZipInfo(re.sub(r"^/+", "", name), (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    archive.writestr(entry, content)
