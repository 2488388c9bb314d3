"""What is noticed in a folder, and how an editor is started."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
import watchfiles

from grader.watch.editor import find_editor
from grader.watch.inputs import changes, watched_folders

SECONDS = 60


class Noticed:
    """Counts changes."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self.count = 0

    def __call__(self) -> None:
        with self._condition:
            self.count += 1
            self._condition.notify_all()

    def wait(self, more_than: int) -> int:
        with self._condition:
            assert self._condition.wait_for(lambda: self.count > more_than, SECONDS)
            return self.count


def test_saves_renames_and_a_folder_that_comes_back_are_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    noticed = Noticed()
    with changes(folder, noticed):
        count = noticed.wait(0)  # it has begun
        (folder / "a.py").write_text("1")
        count = noticed.wait(count)
        (folder / "new~").write_text("2")
        (folder / "new~").replace(folder / "a.py")
        count = noticed.wait(count)
        (folder / "exercises").mkdir()
        (folder / "exercises" / "b.ipynb").write_text("{}")
        count = noticed.wait(count)
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / "a.py").write_text("3")
        count = noticed.wait(count)
        (folder / "a.py").write_text("4")
        noticed.wait(count)


def test_what_the_system_does_not_report_is_found_by_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "watched").mkdir()
    real = watchfiles.watch
    monkeypatch.setattr(watchfiles, "watch", lambda *folders, **options: real(tmp_path / "watched", **options))
    noticed = Noticed()
    with changes(tmp_path, noticed):
        count = 0
        for text in ("1", "22", "333"):
            (tmp_path / "a.py").write_text(text)
            count = noticed.wait(count)


def test_no_environment_and_nothing_hidden_is_watched(tmp_path: Path) -> None:
    for name in (".venv", "exercises", "env", "__pycache__", "notes"):
        (tmp_path / name).mkdir()
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    assert [path.name for path in watched_folders(tmp_path)] == [tmp_path.name, "exercises", "notes"]
    assert watched_folders(tmp_path / "gone") == {}


@pytest.mark.parametrize(
    ("variables", "command", "has_window"),
    [
        ({"VISUAL": "code --wait", "EDITOR": "vim"}, ["code", "--wait", "-g", "a b.py:7"], True),
        ({"EDITOR": "vim -R"}, ["vim", "-R", "+7", "a b.py"], False),
        ({"EDITOR": "hx"}, ["hx", "a b.py:7"], False),
        ({"EDITOR": "other"}, ["other", "a b.py"], False),
        ({"VISUAL": "nowhere", "EDITOR": "'vim"}, ["{bin}/code", "-g", "a b.py:7"], True),
    ],
)
def test_editors_open_at_the_line(
    tmp_path: Path, variables: dict[str, str], command: list[str], has_window: bool
) -> None:
    for name in ("code", "vim", "hx", "other"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    found = find_editor(Path("a b.py"), 7, {**variables, "PATH": str(tmp_path)})
    assert found is not None and list(found.command) == [word.format(bin=tmp_path) for word in command]
    assert found.has_window == has_window
    assert find_editor(Path("a.py"), 7, {"PATH": "/nowhere"}) is None
