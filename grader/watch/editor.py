"""Opens a file at a line in the student's editor. Runs only what the environment names, or VS Code."""

import os
import shlex
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

_CODE: Final = frozenset({"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"})
_WITH_COLON: Final = frozenset({"subl", "sublime_text", "zed", "zeditor", "hx", "helix"})
_WITH_OPTION: Final = frozenset({"charm", "pycharm", "idea", "kate"})
_WITH_PLUS: Final = frozenset(
    {"vi", "vim", "nvim", "gvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "ne", "mg", "gedit"}
)
_WINDOWS: Final = _CODE | _WITH_OPTION | {"subl", "sublime_text", "zed", "zeditor", "gvim", "gedit"}
"""Editors with a window of their own: nothing waits for them."""


class Editor(msgspec.Struct, frozen=True):
    """How an editor is started.

    Attributes:
        command: its program and arguments.
        has_window: whether it leaves the terminal alone.
    """

    command: tuple[str, ...]
    has_window: bool


def find_editor(file: Path, line: int, environment: Mapping[str, str] = os.environ) -> Editor | None:
    """The command that opens a file: ``$VISUAL``, else ``$EDITOR``, else ``code``; None where there is none.

    Args:
        line: from 1; 0 when unknown.
    """
    for variable in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environment.get(variable, ""))
        except ValueError:  # a quote without its end
            continue
        if words and shutil.which(words[0], path=environment.get("PATH")):
            return _editor(words, file, line)
    found = shutil.which("code", path=environment.get("PATH"))
    return _editor([found], file, line) if found else None


def open_in(editor: Editor) -> str:
    """Starts an editor, and waits for one that needs the terminal; what went wrong, or nothing."""
    try:
        if editor.has_window:
            started = subprocess.Popen(
                editor.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            threading.Thread(target=started.wait, daemon=True).start()
            return ""
        code = subprocess.run(editor.command, check=False).returncode
    except OSError as problem:
        return f"{editor.command[0]}: {problem.strerror}"
    return f"{editor.command[0]} ended with {code}" if code else ""


def _editor(words: list[str], file: Path, line: int) -> Editor:
    name = Path(words[0]).stem.lower()
    arguments = [str(file)]
    if name in _CODE:
        arguments = ["-g", f"{file}:{line}" if line else str(file)]
    elif line and name in _WITH_COLON:
        arguments = [f"{file}:{line}"]
    elif line and name in _WITH_OPTION:
        arguments = ["--line", str(line), str(file)]
    elif line and name in _WITH_PLUS:
        arguments = [f"+{line}", str(file)]
    return Editor((*words, *arguments), name in _WINDOWS)
