"""Writing a file in one step: old content or new, never a part; permissions stay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.files import write_atomically


def test_a_file_that_exists_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o640)
    write_atomically(tmp_path / "a", [b"n", b"ew"])
    assert (tmp_path / "a").read_text() == "new" and (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_atomically(tmp_path / "a", [b"new"])
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError

    (tmp_path / "a").write_text("old")
    with pytest.raises(RuntimeError):
        write_atomically(tmp_path / "a", chunks())
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a", "old")]
