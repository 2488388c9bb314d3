"""A file that has come into the work folder is found by an ``import``, however soon after the others it came."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

from grader.student.statements import forget_listing


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
