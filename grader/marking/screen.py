"""`grader mark` on a terminal: the work beside the rubric, a key for each item, and every key's effect kept at once.

Shows submitted work as text only, cleaned and within bounds; opens it in another program only when asked to.
"""

import tempfile
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

import typer
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Column, Table
from rich.text import Text

from grader.errors import UserError
from grader.marking.given import Marking, Task, text_of_comment
from grader.reports.feedback import file_stem
from grader.reports.status import when
from grader.text import clean, counted, one_line, points

_KEYS: Final = (
    "1-9 give or take an item · a all items · Enter marked, next · n next · p previous · c comment"
    " · e comment in your editor · u not marked · Space more of the file · b back in it · o as a file · q quit"
)
_ARROWS: Final = {"\x1b[C": "n", "\x1b[D": "p", "\x1b[B": " ", "\x1b[A": "b", "\r": "\n"}
_VIEWED: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".pdf"})
"""Files that `o` opens with the system's own program; of others it only prints the place."""
_LEXERS: Final = {".py": "python", ".md": "markdown", ".tex": "tex", ".toml": "toml", ".json": "json"}
_WIDEST: Final = 1_000
"""Characters of a line of code that are shown."""
_LINE_NUMBERS: Final = 10
"""Columns that line numbers and the space between the columns may take."""
_SIDE_BY_SIDE: Final = 96
"""Columns that the work and the rubric need side by side."""
_OTHER_ROWS: Final = 9
"""Rows of the screen that are not the work."""


Edit = Callable[[str], str | None]
"""Opens a text in an editor, and returns the new one; None if it was not changed."""


class MarkingScreen:
    """Goes through tasks, from the first one on.

    Args:
        tasks: in their order; if `anonymous`, in one that tells no names.
        anonymous: whether no names are shown.

    Attributes:
        marked: how many were marked.
    """

    def __init__(self, marking: Marking, tasks: Sequence[Task], console: Console, edit: Edit, anonymous: bool) -> None:
        self.marked = 0
        self._marking = marking
        self._anonymous = anonymous
        self._tasks = sorted(tasks, key=lambda task: (task.exercise.full_name, task.row.digest)) if anonymous else tasks
        self._console = console
        self._edit = edit
        self._at = 0
        self._from_line = self._next_page = 0
        self._message = ""
        self._comments: dict[int, str] = {}

    def run(self) -> bool:
        """Whether it ended because all was marked, not by a key."""
        with tempfile.TemporaryDirectory(prefix="grader-mark-") as folder, suppress(KeyboardInterrupt, EOFError):
            while self._at < len(self._tasks):
                self._show()
                self._message = ""
                key = typer.getchar()
                key = _ARROWS.get(key, key.lower())
                if key in ("q", "\x04"):
                    return False
                self._do(key, Path(folder))
            return True
        return False

    # ---------------------------------------------------------------- keys

    def _do(self, key: str, folder: Path) -> None:
        task = self._tasks[self._at]
        given = self._marking.given(task)
        everything = frozenset(range(len(task.exercise.rubric)))
        if key.isascii() and key.isdigit():
            if int(key) - 1 in everything:
                self._marking.save(task, given ^ {int(key) - 1}, done=False)
            else:
                self._message = f"there is no item {key}"
        elif key == "a":
            self._marking.save(task, everything if given != everything else (), done=False)
        elif key == "\n":
            self._marking.save(task, given, done=True)
            self.marked += 1
            self._at, self._from_line = self._at + 1, 0
        elif key in ("n", "p"):
            at = min(max(self._at + (1 if key == "n" else -1), 0), len(self._tasks) - 1)
            self._message = "" if at != self._at else "there is no other one"
            self._at, self._from_line = at, 0
        elif key in ("c", "e"):
            self._comment(task, in_editor=key == "e")
        elif key == "u":
            self._marking.save(task, None, done=True)
            self._message = "not marked"
        elif key in (" ", "b"):
            self._from_line = self._next_page if key == " " else max(0, self._from_line - self._rows)
        elif key == "o":
            self._put_aside(task, folder)
        else:
            self._message = "there is no such key"

    def _comment(self, task: Task, *, in_editor: bool) -> None:
        before = self._comment_of(task)
        try:
            text = self._edit(before) if in_editor else input("comment (none: no comment): ")
            if text is None or not text.strip():
                self._message = "the comment is as it was"
                return
            kept = text_of_comment(text)
        except (UserError, OSError) as problem:
            self._message = str(problem)
            return
        self._marking.comment(task, kept)
        self._comments[self._at] = kept

    def _comment_of(self, task: Task) -> str:
        found = [one.text for one in task.row.comments if one.exercise == task.exercise.full_name]
        return self._comments.get(self._at, found[0] if found else "")

    def _put_aside(self, task: Task, folder: Path) -> None:
        content = self._marking.content(task)
        if content is None:
            self._message = "there is no file"
            return
        whose = folder / (task.row.digest[:12] if self._anonymous else file_stem(task.student))
        whose.mkdir(parents=True, exist_ok=True)
        stem = PurePosixPath(task.exercise.work_file).stem  # not the name that the student has chosen
        for number, (name, data) in enumerate(self._marking.files(task).items(), start=1):
            ending = "".join(one for one in PurePosixPath(name).suffix if one.isascii() and one.isalnum())[:10].lower()
            file = whose / f"{stem}{f'-{number}' if number > 1 else ''}.{ending}"
            file.write_bytes(data)
            if file.suffix in _VIEWED:
                typer.launch(str(file))
        self._message = f"until you quit: {file if number == 1 else whose}"

    # ---------------------------------------------------------------- the screen

    @property
    def _is_wide(self) -> bool:
        """Whether the rubric is beside the work, not below it."""
        return self._console.width >= _SIDE_BY_SIDE

    @property
    def _rows(self) -> int:
        """Rows of the screen for the work."""
        return max(5, self._console.height - _OTHER_ROWS - (0 if self._is_wide else 12))

    def _show(self) -> None:
        task = self._tasks[self._at]
        self._console.clear()
        who = "" if self._anonymous else f"{one_line(task.student, 60)} · "
        name = f" {task.exercise.full_name} · {who}{self._at + 1} of {len(self._tasks)} "
        self._console.print(Rule(Text(name, "bold"), style="dim"))
        work, rubric = self._work(task), self._rubric(task)
        if self._is_wide:
            beside = Table.grid(Column(ratio=3, overflow="fold"), Column(ratio=2, overflow="fold"), padding=(0, 2))
            beside.add_row(work, rubric)
            self._console.print(beside)
        else:
            self._console.print(work, rubric, sep="\n")
        self._console.print()
        self._console.print(Text(_KEYS, "dim"))
        if self._message:
            self._console.print(Text(clean(self._message), "yellow"))

    def _work(self, task: Task) -> RenderableType:
        file = task.file
        content = self._marking.content(task)
        if content is None:
            return Text(one_line(task.about_work, 300), "yellow")
        suffix = PurePosixPath(file).suffix.lower()
        about = [Text(one_line(task.about_work, 300), "yellow")] if task.about_work else []
        file = one_line(file, 200)
        if suffix in _VIEWED or b"\0" in content:
            size = counted(len(content), "byte")
            return Group(*about, Text(f"{file}: {size}, no text: `o` puts it where you can open it", "yellow"))
        lines = clean(content.decode("utf-8", "replace")).split("\n")
        is_code = suffix == ".py"
        width = self._console.width
        columns = max(20, (width * 3 // 5 if self._is_wide else width) - _LINE_NUMBERS)
        if not is_code:  # a paragraph of a report may be one line
            pieces = (textwrap.wrap(one, columns, drop_whitespace=False, replace_whitespace=False) for one in lines)
            lines = [piece for of_a_line in pieces for piece in of_a_line or [""]]
        start = self._from_line = max(0, min(self._from_line, len(lines) - 1))
        shown: list[str] = []
        rows = 0
        for line in (line[:_WIDEST] for line in lines[start:]):
            rows += max(1, len(Text(line).wrap(self._console, columns, overflow="fold")))
            if shown and rows > self._rows:
                break
            shown.append(line)
        self._next_page = end = start + len(shown)
        part = "" if len(shown) == len(lines) else f", lines {start + 1} to {end} of {len(lines)}"
        code = Syntax(
            "\n".join(shown),
            _LEXERS.get(suffix, "text"),
            line_numbers=is_code,
            start_line=start + 1,
            word_wrap=True,
            background_color="default",
        )
        return Group(*about, Text(f"{file}{part}", "dim"), code)

    def _rubric(self, task: Task) -> RenderableType:
        given, latest = self._marking.given(task), self._marking.latest(task)
        items = task.exercise.rubric
        lines = []
        for n, item in enumerate(items):
            box, style = ("[x]", "bold green") if n in given else ("[ ]", "bold")
            lines.append(Text.assemble((f"{n + 1} {box} ", style), f"{item.text} ", (f"({item.points:g})", "dim")))
        state = "begun: Enter marks it"
        if latest is None or latest.points is None:
            state = "not marked yet"
        elif latest.done:
            state = f"marked by {one_line(latest.who, 40)}, {when(latest.made)}"
        total = points(sum(items[n].points for n in given), task.exercise.points)
        lines += [Text(), Text(f"{total} points, {state}", "bold")]
        is_marked_again = latest is not None and latest.done and latest.made != (task.mark and task.mark.made)
        if task.why_again and not is_marked_again:
            lines.append(Text(task.why_again, "yellow"))
        if comment := self._comment_of(task):
            lines += [Text(), Text(clean(comment), "italic")]
        return Group(*lines)
