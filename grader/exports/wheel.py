"""``grader package``: a course as a wheel, so that pip installs it and ``--course NAME`` finds it.

A wheel for students holds what the course hands out, and no answer. The same course always gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from pathlib import Path
from typing import Final

from grader.course import Course
from grader.course.handout import handed_out
from grader.course.installed import GROUP
from grader.errors import UserError
from grader.exports.package import course_files
from grader.files import write_atomically

_VERSION: Final = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")


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
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, data in content.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(entry, data)
    file = folder / f"torchkata_course_{name}-{version}-py3-none-any.whl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(file, [stream.getvalue()])
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}", fix="name another folder: --to DIR") from problem
    return file


def _metadata(course: Course, name: str, version: str, for_students: bool) -> str:
    title = " ".join(course.title.split()) + (" (for students: without solutions)" if for_students else "")
    lines = ("Metadata-Version: 2.1", f"Name: torchkata-course-{name.replace('_', '-')}", f"Version: {version}")
    return "\n".join((*lines, f"Summary: {title}", "Requires-Dist: torchkata", ""))


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
