"""The folder that a submission's processes work in: its files, and the removal of others between exercises.

Never follows a symbolic link out of it.
"""

import contextlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path


class WorkFolder:
    """A folder with the files of a submission.

    Args:
        path: the folder, which exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept: set[str] = set()

    def tidy(self) -> None:
        """Removes all files but the submission's; those that its import has made are made again in a fresh process."""
        remove_all(self.path, self._kept)

    def renew(self, files: Mapping[str, bytes]) -> None:
        """Removes everything, then writes the submission's files in their order.

        One that cannot be written is left out, and so is the second of two that are one file where capitals make no
        difference: the import raises for what is missing.
        """
        remove_all(self.path, set())
        self._kept = {name.partition("/")[0] for name in files}
        for name, content in files.items():
            with contextlib.suppress(OSError, ValueError):
                _write(self.path / name, content)


def _write(path: Path, content: bytes) -> None:
    """Writes a new file, all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "xb") as file:
        try:
            file.write(content)
            file.flush()
        except OSError:
            path.unlink()
            raise


def remove_all(folder: Path, keep: set[str]) -> None:
    """Removes all in a folder but some names; a file that cannot be removed stays."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in keep:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
