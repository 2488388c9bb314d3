"""The folder that `grader init` made: which course it belongs to, and how far its student is; and installed courses.

The folder's notes are a convenience for one student: no verdict and no mark ever comes from them. Installed courses are
found by the entry points of their packages; never imports any of them.
"""

from __future__ import annotations

import contextlib
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

import msgspec

from grader.errors import UserError, did_you_mean
from grader.files import write_atomically
from grader.package import FOLDER

HIDDEN: Final = ".torchkata"
"""The folder's own folder: hidden, and never a part of a submission."""
ORIGIN: Final = "folder.json"
_PROGRESS: Final = "progress.json"
GROUP: Final = "torchkata.courses"
"""The entry points of installed courses: ``attention = "attention_course"``, the course's name and its module."""
COURSE: Final = "course"
STUBS: Final = "stubs"
_FURTHER: Final = ("attention",)
"""The courses that come with the grader beside the shipped one."""
State = Literal["passed", "failing", "unwritten", "blocked", "left_out"]


class Origin(msgspec.Struct, frozen=True):
    """The course that a folder belongs to: the note of `init` about it.

    Attributes:
        has_course: whether the course lies in the folder.
        course: the name of the installed course; empty for the shipped one.
        assignments: the names of those that were handed out; empty: the whole course was.
    """

    has_course: bool = False
    course: str = ""
    assignments: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Path | None) -> Origin:
        """That of the course which an option names."""
        if given is None:
            return SHIPPED
        return cls(course=str(given)) if is_name(given) else cls(has_course=True)

    def is_alike(self, other: Origin) -> bool:
        """Whether both have their course in the folder, or the same installed one."""
        return (self.has_course, self.course) == (other.has_course, other.course)


SHIPPED: Final = Origin()


class LastCheck(msgspec.Struct, frozen=True):
    """How an exercise went when it was last checked."""

    state: State
    score: float = 0.0
    max: float = 0.0


class Home:
    """A folder that `init` made.

    Attributes:
        folder: the folder of the student's files.
        origin: the course that it belongs to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.origin = Origin()
        with contextlib.suppress(OSError, msgspec.DecodeError):
            self.origin = msgspec.json.decode((folder / HIDDEN / ORIGIN).read_bytes(), type=Origin)

    @property
    def course(self) -> Path | None:
        """The folder of the course, in this one or installed; None is the shipped one.

        Raises:
            UserError: the course is not installed any more.
        """
        if name := self.origin.course:
            try:
                return folder_of(name)
            except UserError:
                raise UserError(
                    f"the course of {self.folder}, `{name}`, is not installed here",
                    fix="install its package; what is installed: grader courses",
                ) from None
        return self.folder / HIDDEN / COURSE if self.origin.has_course else None

    @classmethod
    def find(cls, start: Path | None = None) -> Home | None:
        """The home that a folder is, or is in; None if there is none."""
        with contextlib.suppress(OSError):
            here = (start or Path()).resolve()
            for folder in (here, *here.parents):
                if (folder / HIDDEN / ORIGIN).is_file() and not (folder / HIDDEN).is_symlink():
                    return cls(folder)
        return None

    @classmethod
    def here(cls) -> Home:
        """The home of the current folder; without one, this folder as if it were a home without progress."""
        return cls.find() or cls(Path())

    def base(self, topic: str) -> bytes | None:
        """The stub that the student began a topic with; None if it is not known."""
        with contextlib.suppress(OSError):
            return (self.folder / HIDDEN / STUBS / f"{topic}.py").read_bytes()
        return None

    def progress(self) -> dict[str, LastCheck]:
        """How each exercise went when it was last checked, by full name."""
        with contextlib.suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode((self.folder / HIDDEN / _PROGRESS).read_bytes(), type=dict[str, LastCheck])
        return {}

    def note(self, checks: dict[str, LastCheck]) -> None:
        """Keeps how some exercises went; keeps nothing if the folder cannot be written, or is a link."""
        file = self.folder / HIDDEN / _PROGRESS
        if not file.parent.is_symlink():  # the target is not ours to write to
            with contextlib.suppress(OSError):
                write_atomically(file, [msgspec.json.encode({**self.progress(), **checks})], durable=False)


class InstalledCourse(msgspec.Struct, frozen=True):
    """A course of an installed package.

    Attributes:
        name: the one to give to ``--course``.
        folder: with its course.toml; None if the package has no such folder.
        package: the distribution that it came with.
    """

    name: str
    folder: Path | None
    package: str


def installed_courses() -> list[InstalledCourse]:
    """All installed courses, by name: those of packages, and those that come with the grader, unless a package has one
    of that name."""
    from importlib import metadata  # slow, and needed by few commands

    points = metadata.entry_points(group=GROUP)
    found = {InstalledCourse(one.name, _folder(one.value), one.dist.name if one.dist else "?") for one in points}
    names = {one.name for one in found}
    found |= {InstalledCourse(name, _further(name), "torchkata") for name in _FURTHER if name not in names}
    return sorted(found, key=lambda one: (one.name, one.package))


def _further(name: str) -> Path | None:
    """The folder of a course that comes with the grader: in the package, or in the source tree."""
    places = (FOLDER / "shipped" / name, FOLDER.parent / "examples" / name)
    return next((place.resolve() for place in places if manifest_in(place)), None)


def folder_of(name: str) -> Path:
    """The folder of the installed course with that name.

    Raises:
        UserError: there is none, or several packages have one.
    """
    every = installed_courses()
    found = [one for one in every if one.name == name]
    if len(found) > 1:
        packages = " and ".join(one.package for one in found)
        raise UserError(f"several packages have a course called `{name}`: {packages}", fix="uninstall one of them")
    if not found:
        similar = did_you_mean(name, [one.name for one in every])
        raise UserError(
            f"there is no folder and no installed course called `{name}`{similar}", fix="all courses: grader courses"
        )
    if found[0].folder is None:
        raise UserError(f"the package {found[0].package} has no course.toml for its course `{name}`")
    return found[0].folder


def is_name(path: Path) -> bool:
    """Whether something that was given as a course can only be the name of an installed one."""
    return len(path.parts) == 1 and not path.is_absolute() and not path.exists()


def manifest_in(folder: Path) -> Path | None:
    """The course.toml of a course's folder: in it, or in exercises/ under it; None if there is none."""
    places = [folder / "course.toml", folder / "exercises" / "course.toml"]
    return next((place for place in places if place.is_file()), None)


def _folder(module: str) -> Path | None:
    top, *inside = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    places = [Path(place, *inside) for place in (spec.submodule_search_locations or ())] if spec else []
    return next((place.resolve() for place in places if manifest_in(place)), None)
