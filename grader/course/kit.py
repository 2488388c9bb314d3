"""Finds the folder of a course's kit, and refuses a name that already means something in Python."""

from __future__ import annotations

import importlib.machinery
import keyword
import sys
import sysconfig
from pathlib import Path
from typing import Final

from grader.course.manifest import Manifest
from grader.kit import ANSWER_FOLDERS, Kit

_RESERVED: Final = ANSWER_FOLDERS | {"course", "grader", "submission"}


def find_kit(manifest: Manifest, root: Path, checks: Path) -> Kit | None:
    """The kit that a manifest names: a folder beside the checks or among them; None if it names none.

    Raises:
        CourseError: if there is no such folder, or its name already means something else in Python.
    """
    name = manifest.entry.course.kit
    if name is None:
        return None
    taken = _RESERVED | {topic.name for topic in manifest.entry.topics}
    if not name.isidentifier() or keyword.iskeyword(name):
        raise manifest.error(f"kit: `{name}` cannot be the name of a module", "course", "kit")
    if name in taken or name.startswith(("_", "test_")):
        raise manifest.error(f"kit: the name `{name}` is taken; another folder name is needed", "course", "kit")
    if name in sys.stdlib_module_names or _is_installed(name):
        raise manifest.error(f"kit: `{name}` is the name of an installed module", "course", "kit")
    folder = next((place for place in (root / name, checks / name) if place.is_dir()), None)
    if folder is None or not any(folder.glob("*.py")):
        raise manifest.error(f"kit: there is no folder `{name}` with Python files in {root}", "course", "kit")
    return Kit(name=name, folder=folder.resolve())


def _is_installed(name: str) -> bool:
    places = [sysconfig.get_path(kind) for kind in ("purelib", "platlib")]
    return importlib.machinery.PathFinder.find_spec(name, places) is not None
