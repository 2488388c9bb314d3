"""``grader package``: a course as a wheel for pip, or with this grader in the archive that a platform unpacks.

A wheel for students holds what the course hands out, and no answer. The same grader and course always give the same
bytes.
"""

import base64
import hashlib
import io
import re
import shlex
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from grader.course import Course
from grader.course.answers import handed_out
from grader.course.home import GROUP
from grader.course.model import checking_files, files_below
from grader.errors import UserError
from grader.exports.requirements import TORCH_INDEX, filled, python_version, requirements
from grader.files import write_named_file
from grader.package import FOLDER

_VERSION: Final = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")


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
    scripts = {name: filled(name, values).encode() for name in ("setup.sh", "run_autograder")}
    wanted = requirements(hashes=hashes)
    files = {name: file.read_bytes() for name, file in sorted(dict(_files(course, own)).items())}
    for name, lines in (("requirements.txt", wanted.others), ("requirements-torch.txt", wanted.torch)):
        files[name] = "".join(f"{line}\n" for line in lines).encode()
    write_named_file(to, [_zip({**scripts, **files}, executable=scripts)])


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


def wheel(course: Course, folder: Path, version: str, *, for_students: bool) -> Path:
    """Writes the wheel of a course into a folder; the file.

    Args:
        course: an instructor's own.
        version: as packages have, such as ``1.0`` or ``2026.1``; that of a wheel for students ends in ``+students``.
        for_students: whether it holds only what students may see.

    Raises:
        UserError: the version is not one, there are no solutions to pack, or the file cannot be written.
    """
    if not _VERSION.fullmatch(version):
        raise UserError(f"{version!r} cannot be the version of a package", fix="write for example: --version 1.0")
    if for_students:
        files = dict(handed_out(course))
        version += "+students"
    else:
        course.require_solutions("a wheel for instructors")
        files = {name: file.read_bytes() for name, file in course_files(course)}
    name = re.sub(r"\W+", "_", course.name).strip("_").lower()
    module, info = f"torchkata_course_{name}", f"torchkata_course_{name}-{version}.dist-info"
    content = {f"{module}/{path}": data for path, data in sorted(files.items())}
    content |= {
        f"{info}/METADATA": _metadata(course, name, version, for_students).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: torchkata\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[{GROUP}]\n{course.name} = {module}\n".encode(),
    }
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in content.items())
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    file = folder / f"torchkata_course_{name}-{version}-py3-none-any.whl"
    write_named_file(file, [_zip(content)], fix="name another folder: --to DIR")
    return file


def _metadata(course: Course, name: str, version: str, for_students: bool) -> str:
    title = " ".join(course.title.split()) + (" (for students: without solutions)" if for_students else "")
    lines = ("Metadata-Version: 2.1", f"Name: torchkata-course-{name.replace('_', '-')}", f"Version: {version}")
    return "\n".join((*lines, f"Summary: {title}", "Requires-Dist: torchkata", ""))


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _zip(files: Mapping[str, bytes], executable: Collection[str] = ()) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(entry, content)
    return stream.getvalue()
