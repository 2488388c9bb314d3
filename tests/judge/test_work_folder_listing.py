"""The work folder: a file that has come into it is found by an ``import``, and none that cannot be written raises."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

from grader.student.statements import forget_listing
from grader.student.work_folder import WorkFolder


def test_a_folder_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "package_that_comes_first"
    package.mkdir()
    for folder, name in ((tmp_path, "module_that_comes_first"), (package, "__init__")):
        (folder / f"{name}.py").write_text("")
    importlib.import_module("module_that_comes_first")
    importlib.import_module("package_that_comes_first")
    late = ["module_that_comes_late", "package_that_comes_first.late"]
    for name in late:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)
    times = {folder: os.stat(folder).st_mtime_ns for folder in (tmp_path, package)}
    for name in late:
        tmp_path.joinpath(*name.split(".")).with_suffix(".py").write_text("")
    for folder, time in times.items():  # within what a file system tells apart
        os.utime(folder, ns=(time, time))
    for name in late:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)
    forget_listing(tmp_path)
    for name in late:
        importlib.import_module(name)
    for name in [name for name in sys.modules if "_that_comes_" in name]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "name", ["\u6f22" * 86, "a\0b", "\udcff", "d/" * 4_000 + "x", "own.py/x", "", "/proc/no_such/x", "."]
)
def test_a_file_that_cannot_be_written_is_not_there_and_all_others_are(tmp_path: Path, name: str) -> None:
    folder = WorkFolder(tmp_path)
    for _ in range(2):
        folder.renew({"own.py": b"x", name: b"y", "last/z.py": b"z"})
        assert (tmp_path / "own.py").read_bytes() == b"x" and (tmp_path / "last" / "z.py").read_bytes() == b"z"
        folder.tidy()


def test_a_file_for_which_there_is_no_room_is_not_half_there(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        WorkFolder(tmp_path).renew({"own.py": b"x", "large.py": b"y" * 1_000, "small.py": b"z"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.py", "small.py"]
