"""What the kit of the checks sees of files that are saved: places, their content, and the steps in which they came."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

from grader.course import Course
from grader.kit import load

FILE = "weights.pt"
Action = Callable[[str], None]


@pytest.fixture(scope="module")
def kit() -> dict[str, ModuleType]:
    return load(Course.load(None).kit)


def write(path: str, numbers: int = 1) -> None:
    torch.save({"weight": torch.ones(numbers)}, path)


def in_place(path: str) -> None:
    write(path)


def renamed(path: str) -> None:
    write(path + ".tmp")
    os.replace(path + ".tmp", path)


def with_an_empty_file_first(path: str) -> None:
    os.remove(path)
    Path(path).touch()
    renamed(path)


def removed_then_renamed(path: str) -> None:
    write(path + ".tmp")
    os.remove(path)
    os.rename(path + ".tmp", path)


def by_a_link(path: str) -> None:
    write(path + ".tmp")
    os.remove(path)
    os.link(path + ".tmp", path)


def from_another_folder(path: str) -> None:
    elsewhere = os.path.dirname(path) + ".elsewhere"
    write(elsewhere)
    os.replace(elsewhere, path)


def from_a_folder_beside_it(path: str) -> None:
    folder = os.path.join(os.path.dirname(path), "beside")
    os.mkdir(folder)
    write(os.path.join(folder, "new"))
    os.replace(os.path.join(folder, "new"), path)


def renamed_while_open(path: str) -> None:
    with open(path + ".tmp", "wb", buffering=0) as file:
        file.write(b"one")
        os.replace(path + ".tmp", path)
        file.write(b"two")


def in_a_new_folder(path: str) -> None:
    folder = os.path.dirname(path)
    os.rename(folder, folder + ".old")
    os.mkdir(folder)
    write(path)


def amid_much_else(path: str) -> None:
    for index in range(20_000):
        Path(path + str(index)).touch()
        os.remove(path + str(index))
    write(path)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "inotify_init1"), reason="needs inotify")
@pytest.mark.parametrize(
    ("save", "expected"),
    [
        (in_place, ["written"]),
        (renamed, ["appeared"]),
        (removed_then_renamed, ["gone", "appeared"]),
        (with_an_empty_file_first, ["gone", "appeared", "appeared"]),
        (by_a_link, ["gone", "appeared"]),
        (from_another_folder, ["came from another folder"]),
        (from_a_folder_beside_it, ["appeared"]),
        (renamed_while_open, ["appeared", "written"]),
        (in_a_new_folder, ["lost"]),
        (amid_much_else, ["lost"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_steps_of_a_save_are_seen(kit: dict[str, ModuleType], save: Action, expected: list[str]) -> None:
    files, steps = kit["kit.files"], kit["kit.steps"]
    files.empty("here")
    path = files.path("here", FILE)
    write(path)
    steps.watch("here")
    save(path)
    assert steps.seen("here", FILE) == expected


def broken(path: str) -> None:
    write(path)
    os.truncate(path, 300)


def objects(path: str) -> None:
    torch.save({"weight": Path()}, path)


def a_pipe(path: str) -> None:
    os.mkfifo(path)


def gigabytes(path: str) -> None:
    torch.save({"weight": torch.ones(1).expand(1 << 30)}, path)


def a_large_file(path: str) -> None:
    write(path, 2 << 20)


def a_link_to_nothing(path: str) -> None:
    os.symlink("/nowhere", path)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda path: None, "nothing"),
        (renamed, "weights"),
        (objects, "objects"),
        (broken, "broken"),
        (a_pipe, "broken"),
        (gigabytes, "broken"),
        (a_large_file, "broken"),
        (a_link_to_nothing, "broken"),
        (os.mkdir, "broken"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_at_a_path_is_told_whatever_it_is(kit: dict[str, ModuleType], make: Action, expected: str) -> None:
    files = kit["kit.files"]
    files.empty("here")
    make(files.path("here", FILE))
    assert files.contents("here", FILE)[0] == expected


def test_a_trapped_file_runs_code_only_where_it_is_loaded_unsafely(kit: dict[str, ModuleType]) -> None:
    files = kit["kit.files"]
    files.trapped_file("here", "mlp")
    with pytest.raises(Exception, match="weights_only"):
        torch.load(files.path("here", FILE), weights_only=True)
    assert not files.sprung("here")
    torch.load(files.path("here", FILE), weights_only=False)
    assert files.sprung("here")
