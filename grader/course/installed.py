"""Finds the courses that packages have installed: entry points of the group ``torchkata.courses``.

The name of such an entry point is the course's name on the command line; its value is the module whose folder is the
course's: ``attention = "attention_course"``. Never imports any of them.
"""

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from grader.errors import UserError, did_you_mean

GROUP: Final = "torchkata.courses"


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
    """All installed courses, by name."""
    points = metadata.entry_points(group=GROUP)
    found = {InstalledCourse(one.name, _folder(one.value), one.dist.name if one.dist else "?") for one in points}
    return sorted(found, key=lambda one: (one.name, one.package))


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
