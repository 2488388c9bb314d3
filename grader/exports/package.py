"""What other machines get: a course as a wheel, archives for Gradescope and Classroom 50, a workflow of a CI system.

A wheel for students holds what the course hands out, and no answer. The same grader and course always give the same
bytes. What grades elsewhere installs the packages of this machine: torch from an index whose builds have no CUDA. A
workflow never runs a file of the repository and installs nothing from it: it passes the folder to the grader.
"""

import base64
import hashlib
import importlib.metadata
import io
import json
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import jinja2
import msgspec

from grader.course import Course
from grader.course.answers import handed_out
from grader.course.home import GROUP
from grader.course.model import checking_files, data_files, files_below, lesson_files
from grader.errors import UserError
from grader.files import write_named_file
from grader.intake.kinds import ARCHIVES, CODE, UNSUPPORTED_ARCHIVES
from grader.package import FOLDER, __version__

_TORCH_INDEX: Final = "https://download.pytorch.org/whl/cpu"
_PLATFORMS: Final = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "linux_x86_64")
"""What the wheels must fit: the machines of CI systems and of Gradescope."""
_SECONDS: Final = 120.0
_BUNDLE_BYTES: Final = 10 * 2**20 - 2**16  # with autograder.py, and as the archive that Classroom 50 makes of both
_TEMPLATES: Final = Path(__file__).parent / "templates"
_VERSION: Final = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")


def gradescope(course: Course, *, own: bool, to: Path, only: Sequence[str] = (), hashes: bool = True) -> None:
    """Writes the archive.

    Args:
        own: the course is the instructor's, not the shipped one.
        only: topics or exercises to grade there; none means all.
        hashes: whether the requirements name the hashes of their wheels.

    Raises:
        UserError: it cannot be written, `only` names what there is not or no single assignment, or a hash is not known.
    """
    course.assignment_with(only, "--only")
    names = "".join(f" {shlex.quote(one)}" for one in only)
    scripts = {name: _filled(name, hashes=hashes, only=names) for name in ("setup.sh", "run_autograder")}
    files = _grader_with(course, own=own, hashes=hashes)
    write_named_file(to, [_zip({**scripts, **files}, executable=scripts)])


def classroom50(
    course: Course | None,
    *,
    own: bool,
    to: Path,
    course_repository: str | None = None,
    only: Sequence[str] = (),
    hashes: bool = True,
) -> None:
    """Writes the bundle for an assignment of Classroom 50 into a folder: ``autograder.py`` and ``autograder.zip``.

    Args:
        course: None: it comes from the repository.
        own: the course is the instructor's, not the shipped one.
        course_repository: ``URL@COMMIT`` of a git repository with an instructor's own course.
        only: topics or exercises to grade there; none means all.
        hashes: whether the requirements name the hashes of their wheels.

    Raises:
        UserError: it cannot be written or is too large, `only` names what there is not, the repository is not given
            with a commit, or a hash is not known.
    """
    if course is not None:
        course.assignment_with(only, "--only")
    pin = None if course_repository is None else _pinned_course(course_repository)
    settings = {
        "python": _python_version(),
        "torch_index": _TORCH_INDEX,
        "hashes": ["--require-hashes"] if hashes else [],
        "only": only,
        "repository": pin,
    }
    archive = _zip({"settings.json": msgspec.json.encode(settings), **_grader_with(course, own=own, hashes=hashes)})
    if len(archive) > _BUNDLE_BYTES:
        fix = "give the course a git repository: --course-repository URL@COMMIT"
        raise UserError(f"the bundle has {len(archive) / 2**20:.0f} MiB; Classroom 50 fetches at most 10 MiB", fix)
    for name, content in (("autograder.py", (_TEMPLATES / "autograder.py").read_bytes()), ("autograder.zip", archive)):
        write_named_file(to / name, [content], fix="name another folder: --to DIR")


def _grader_with(course: Course | None, *, own: bool, hashes: bool) -> dict[str, bytes]:
    """The files of the grader, of a course if there is one, and the requirements, by path."""
    found = dict(files_below(FOLDER, "grader"))
    if course is not None and own:
        found |= {f"course/{name}": file for name, file in _course_files(course)}
    elif course is not None and not (FOLDER / "shipped").is_dir():
        handed_on = ("exercises/", "solutions/", "lessons/")  # its checks are the grader's own
        found |= {f"grader/shipped/{name}": file for name, file in _course_files(course) if name.startswith(handed_on)}
    files = {name: file.read_bytes() for name, file in sorted(found.items())}
    torch, others = requirements(hashes=hashes)
    for name, lines in (("requirements.txt", others), ("requirements-torch.txt", torch)):
        files[name] = "".join(f"{line}\n" for line in lines).encode()
    return files


def _course_files(course: Course) -> Iterator[tuple[str, Path]]:
    """All files of a course, each with its path in the course's folder."""
    yield "course.toml", course.manifest
    yield from files_below(course.exercises_dir, "exercises")
    yield from files_below(course.solutions_dir, "solutions")
    yield from data_files(course)
    yield from lesson_files(course)
    yield from checking_files(course)


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
        files = {name: file.read_bytes() for name, file in _course_files(course)}
    name = re.sub(r"\W+", "_", course.name).strip("_").lower()
    module, info = f"torchkata_course_{name}", f"torchkata_course_{name}-{version}.dist-info"
    content = {f"{module}/{path}": data for path, data in sorted(files.items())}
    title = " ".join(course.title.split()) + (" (for students: without solutions)" if for_students else "")
    metadata = f"Metadata-Version: 2.1\nName: torchkata-course-{name.replace('_', '-')}\nVersion: {version}\n"
    content |= {
        f"{info}/METADATA": f"{metadata}Summary: {title}\nRequires-Dist: torchkata\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: torchkata\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[{GROUP}]\n{course.name} = {module}\n".encode(),
    }
    record = ""
    for path, data in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    file = folder / f"torchkata_course_{name}-{version}-py3-none-any.whl"
    write_named_file(file, [_zip(content)], fix="name another folder: --to DIR")
    return file


def _zip(files: Mapping[str, bytes], executable: Collection[str] = ()) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(entry, content)
    return stream.getvalue()


def workflow(
    host: str, requirement: str, course_repository: str | None = None, only: Sequence[str] = (), *, hashes: bool = True
) -> str:
    """The text of the workflow file.

    Args:
        host: ``github`` or ``gitlab``.
        requirement: what pip installs as the grader: ``torchkata==VERSION``, the address or file of a wheel, or
            ``git+URL@COMMIT``.
        course_repository: ``URL@COMMIT`` of a git repository with an instructor's own course.
        only: topics or exercises to grade; none means all.
        hashes: whether the packages that the grader needs are installed with the hashes of their wheels.

    Raises:
        UserError: a value is unsafe in a workflow, the repository is not given with a commit, or hashes are not known.
    """
    url, commit = "", ""
    if course_repository is not None:
        address, commit = _pinned_course(course_repository)
        url = _word(address)
    torch, others = requirements(hashes=hashes)
    return _filled(
        f"{host}.yml",
        host=host,
        version=__version__,
        url=url,
        commit=commit,
        course=" --course course" if url else "",
        only="".join(f" --only {_word(name)}" for name in only),
        requirement=_word(requirement),
        hashes=hashes,
        torch=torch,
        others=others,
        key=hashlib.sha256("\n".join([*torch, *others]).encode()).hexdigest()[:16],
        paths=_paths_of_answers(),
    ).decode()


def _paths_of_answers() -> list[str]:
    """Patterns, as both hosts read them, of the files that are graded: code and archives, in any case.

    Whatever comes after the ending is accepted: ``vectors.py.txt`` is read as code.
    """
    endings = dict.fromkeys(ending for ending in (*CODE, *ARCHIVES, *UNSUPPORTED_ARCHIVES))
    either = ("".join(f"[{one}{one.upper()}]" if one.isalpha() else one for one in ending) for ending in endings)
    return [f"**/*{ending}*" for ending in either]


def _pinned_course(repository: str) -> tuple[str, str]:
    """Address and commit of ``URL@COMMIT``.

    Raises:
        UserError: it names no commit.
    """
    url, _, commit = repository.rpartition("@")
    if not url or not re.fullmatch(r"[0-9a-f]{40}", commit):
        fix = "write URL@COMMIT with the commit's 40 hexadecimal digits"
        raise UserError(f"{repository!r} does not name a commit", fix)
    return url, commit


def _word(text: str) -> str:
    """The text quoted as one word of the shell.

    Raises:
        UserError: it could be read as an option, or as an expression of the CI system.
    """
    if re.search(r"[\x00-\x1f\x7f]|\$\{\{", text) or text.startswith("-"):
        raise UserError(f"{text!r} cannot be used in a workflow", fix="name a package or an address")
    return shlex.quote(text)


def _filled(template: str, **values: object) -> bytes:
    """A file for another machine: the template of that name with these values."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        variable_start_string="@{",  # not in double braces, as expressions of GitHub's own are
        variable_end_string="}@",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = templates.get_template(template).render(values, python=_python_version(), torch_index=_TORCH_INDEX)
    return text.encode()


def _python_version() -> str:
    """The Python that the packages are for: this one's, such as ``3.11``."""
    return ".".join(platform.python_version_tuple()[:2])


def requirements(*, hashes: bool) -> tuple[list[str], list[str]]:
    """The lines of two files for ``pip install -r``: torch, and all other packages that the grader needs here.

    Args:
        hashes: whether each names the hash of its wheel; pip asks the package index for them.

    A line with a hash has the version of that wheel, such as ``2.13.0+cpu``: uv refuses a hash for another one.

    Raises:
        UserError: pip could not find one of the wheels.
    """
    others = pinned()
    torch = {"torch": others.pop("torch")}
    found = []
    for versions, options in ((torch, ("--index-url", _TORCH_INDEX)), (others, ())):
        lines = [f"{name}=={version}" for name, version in sorted(versions.items())]
        found.append(_with_hashes(lines, options) if hashes else lines)
    return found[0], found[1]


def pinned() -> dict[str, str]:
    """The versions of all packages that the grader needs on this machine, directly or indirectly, by name."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, str] = {}
    try:
        required = importlib.metadata.requires("torchkata") or []
    except importlib.metadata.PackageNotFoundError:  # Run from a checkout.
        project = msgspec.toml.decode((FOLDER.parent / "pyproject.toml").read_bytes())
        required = list(project["project"]["dependencies"])
    waiting = [Requirement(text) for text in required]
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


def _with_hashes(lines: Sequence[str], options: Sequence[str]) -> list[str]:
    """Each line with the SHA-256 and the full version of its wheel in the package index: what pip would install.

    Raises:
        UserError: pip cannot say.
    """
    from packaging.utils import canonicalize_name

    reason = ""
    with tempfile.TemporaryDirectory() as nowhere:
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--ignore-installed", "--only-binary=:all:", "--target", nowhere, "--report", "-"]
        command += ["--python-version", _python_version(), "--implementation", "cp"]
        command += [*(f"--platform={name}" for name in _PLATFORMS), *options, *lines]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
            if ended.returncode:
                errors = [line for line in ended.stderr.splitlines() if line.startswith("ERROR: ")]
                reason = errors[0].removeprefix("ERROR: ") if errors else "pip failed"
        except subprocess.TimeoutExpired:
            reason = "no answer in two minutes"
    if reason:
        fix = "try again where the package index can be reached, or leave them out: --no-hashes"
        raise UserError(f"the hashes of the packages are not known: {reason}", fix)
    found = []
    for item in json.loads(ended.stdout)["install"]:
        archive, about = item["download_info"]["archive_info"], item["metadata"]
        # pip 23.0 and older report the older form alone, "sha256=...".
        sha256 = archive["hashes"]["sha256"] if "hashes" in archive else archive["hash"].removeprefix("sha256=")
        found.append(f"{canonicalize_name(about['name'])}=={about['version']} --hash=sha256:{sha256}")
    return sorted(found)
