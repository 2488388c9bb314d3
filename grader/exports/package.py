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
from grader.course.model import checking_files, files_below
from grader.errors import UserError
from grader.exports.requirements import TORCH_INDEX, python_version, requirements
from grader.files import write_atomically
from grader.package import FOLDER


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
    yield from files_below(FOLDER, "grader")
    if own:
        yield from ((f"course/{name}", file) for name, file in course_files(course))
    elif not (FOLDER / "shipped").is_dir():
        yield from _exercises_and_solutions(course, "grader/shipped/")


def course_files(course: Course) -> Iterator[tuple[str, Path]]:
    """All files of a course, each with its path in the course's folder."""
    yield "course.toml", course.manifest
    yield from _exercises_and_solutions(course, "")
    yield from checking_files(course)


def _exercises_and_solutions(course: Course, below: str) -> Iterator[tuple[str, Path]]:
    yield from files_below(course.exercises_dir, f"{below}exercises")
    yield from files_below(course.solutions_dir, f"{below}solutions")


def _add(archive: zipfile.ZipFile, name: str, content: bytes, executable: bool = False) -> None:
    entry = zipfile.ZipInfo(re.sub(r"^/+", "", name), (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    archive.writestr(entry, content)
