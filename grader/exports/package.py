"""``grader package``: this grader, a course and pinned requirements in the archive that a platform unpacks.

The same grader and course always give the same bytes.
"""

from __future__ import annotations

import re
import shlex
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

from grader.course import Course
from grader.errors import UserError
from grader.exports.requirements import TORCH_INDEX, python_version, requirements
from grader.files import write_atomically
from grader.package import FOLDER

_LEFT_OUT = frozenset({"__pycache__", "node_modules"})


def gradescope(course: Course, *, own: bool, to: Path, only: Sequence[str] = (), hashes: bool = True) -> None:
    """Writes the archive.

    Args:
        own: the course is the instructor's, not the shipped one.
        only: topics or exercises to grade there; none means all.
        hashes: whether the requirements name the hashes of their wheels.

    Raises:
        UserError: it cannot be written, `only` names what there is not, or a hash is not known.
    """
    course.select(only)
    values = {
        "PYTHON": python_version(),
        "TORCH_INDEX": TORCH_INDEX,
        "HASHES": " --require-hashes" if hashes else "",
        "ONLY": "".join(f" {shlex.quote(name)}" for name in only),
    }
    wanted = requirements(hashes=hashes)
    with tempfile.TemporaryFile() as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("setup.sh", "run_autograder"):
                text = resources.files("grader.exports").joinpath("templates", name).read_text(encoding="utf-8")
                for key, value in values.items():
                    text = text.replace(f"@{key}@", value)
                _add(archive, name, text.encode(), executable=True)
            for name, lines in (("requirements.txt", wanted.others), ("requirements-torch.txt", wanted.torch)):
                _add(archive, name, "".join(f"{line}\n" for line in lines).encode())
            for name, file in sorted(dict(_files(course, own)).items()):
                _add(archive, name, file.read_bytes())
        stream.seek(0)
        try:
            write_atomically(to, iter(lambda: stream.read(1 << 20), b""))
        except OSError as problem:
            raise UserError(f"{to}: {problem.strerror}", fix="name another file: --to FILE") from problem


def _files(course: Course, own: bool) -> Iterator[tuple[str, Path]]:
    package = FOLDER
    yield from _below(package, "grader")
    if own:
        yield from ((f"course/{name}", file) for name, file in course_files(course))
    elif not (package / "shipped").is_dir():
        for name, folder in _folders(course):
            yield from _below(folder, f"grader/shipped/{name}")


def course_files(course: Course) -> Iterator[tuple[str, Path]]:
    """All files of a course, each with its path in the course's folder."""
    yield "course.toml", course.manifest
    for name, folder in _folders(course):
        yield from _below(folder, name)
    yield from _below(course.checks_dir, "checks")
    if course.kit and course.kit.folder.parent != course.checks_dir:
        yield from _below(course.kit.folder, course.kit.name)


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
