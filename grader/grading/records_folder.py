"""Where the records of a course's misconceptions are kept between runs: a folder in the user's cache.

Only with the seed that everybody knows: a class has a secret one, and must not leave its inputs on the disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

from grader.course import Course, content_hash
from grader.errors import UserError
from grader.grading.protocol import WorkerOptions
from grader.machine import versions
from grader.student import engine

_MOST_FOLDERS: Final = 6
"""Folders that are kept; one more is begun when the course, the grader, a setting or a version changes."""


def with_records(options: WorkerOptions, course: Course) -> WorkerOptions:
    """The options with a folder for the records, which is made; as they are where that cannot or must not be."""
    if options.seed:
        return options
    with contextlib.suppress(OSError, RuntimeError, UserError):
        root = platformdirs.user_cache_path("torchkata", appauthor=False) / "records"
        folder = root / _name(options, course)
        folder.mkdir(parents=True, exist_ok=True)
        folder.touch()
        for old in sorted(root.iterdir(), key=lambda path: path.stat().st_mtime)[:-_MOST_FOLDERS]:
            shutil.rmtree(old, ignore_errors=True)
        return msgspec.structs.replace(options, records=str(folder))
    return options


def _name(options: WorkerOptions, course: Course) -> str:
    """A name that changes with all that records depend on."""
    package = Path(__file__).resolve().parent.parent
    code = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        code.update(file.read_bytes())
    known = [
        content_hash(course),
        code.hexdigest(),
        engine.choose().engine,
        versions(),
        options.devices,
        msgspec.to_builtins(options.limits),
    ]
    return hashlib.sha256(msgspec.json.encode(known, order="sorted")).hexdigest()[:32]
