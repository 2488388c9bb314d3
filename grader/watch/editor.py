"""Opens a file at a line in the student's editor. Runs only what the environment names, or VS Code."""

import contextlib
import os
import shlex
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

_AT_LINE: Final = {
    "-g {file}:{line}": "code code-insiders codium vscodium cursor windsurf",
    "{file}:{line}": "subl sublime_text zed zeditor hx helix",
    "--line {line} {file}": "charm pycharm idea kate",
    "+{line} {file}": "vi vim nvim gvim nano emacs emacsclient micro kak joe ne mg gedit",
}
"""The arguments that open a file at a line, and the editors that understand them."""
_WINDOWS: Final = (
    "code code-insiders codium vscodium cursor windsurf charm pycharm idea kate",
    "subl sublime_text zed zeditor gvim gedit",
)
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
    """The command that opens a file: ``$VISUAL``, else ``$EDITOR``, else ``code``; None if there is none.

    Args:
        line: from 1; 0 when unknown.
    """
    path = environment.get("PATH")
    code = shlex.quote(shutil.which("code", path=path) or "")
    for command in (environment.get("VISUAL", ""), environment.get("EDITOR", ""), code):
        with contextlib.suppress(ValueError):  # a quote without its end
            words = shlex.split(command)
            if words and shutil.which(words[0], path=path):
                name = Path(words[0]).stem.lower()
                forms = [form for form, names in _AT_LINE.items() if line and name in names.split()]
                arguments = forms[0].split() if forms else ["{file}"]
                filled = (argument.format(file=file, line=line) for argument in arguments)
                return Editor((*words, *filled), any(name in names.split() for names in _WINDOWS))
    return None


def open_in(editor: Editor) -> str:
    """Starts an editor, and waits for one that needs the terminal; the reason if that failed, else empty."""
    try:
        if editor.has_window:
            nowhere = subprocess.DEVNULL
            started = subprocess.Popen(
                editor.command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
            )
            threading.Thread(target=started.wait, daemon=True).start()
            return ""
        code = subprocess.run(editor.command, check=False).returncode
    except OSError as problem:
        return f"{editor.command[0]}: {problem.strerror}"
    return f"{editor.command[0]} ended with {code}" if code else ""
