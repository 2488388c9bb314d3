"""The result of `grader adopt`, and the folder that it may write to. Never overwrites anything."""

from pathlib import Path

import msgspec

from grader.errors import UserError


class Adopted(msgspec.Struct, frozen=True):
    """A course that was made of somebody's tests or notebook.

    Attributes:
        course: its folder.
        made: lines about its contents, for people.
        look: the places that a person must look at: ``FILE:LINE: sentence`` or ``cell 12: sentence``.
    """

    course: Path
    made: tuple[str, ...]
    look: tuple[str, ...]


def require_free(folder: Path) -> None:
    """Refuses a folder that holds something.

    Raises:
        UserError: there is a file with that name, or a folder that is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is not empty", fix="name a new folder: --to COURSE")
