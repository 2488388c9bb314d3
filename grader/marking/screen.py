"""`grader mark` on a terminal: the work beside the rubric, a key for each item, and every key's effect kept at once.

Shows submitted work as text only, cleaned and within bounds; opens it in another program only when asked to.
"""

import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

import typer
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Column, Table
from rich.text import Text

from grader.errors import UserError
from grader.gradebook import Given, GivenMeanwhile
from grader.intake.notebook import HANDED_IN
from grader.marking.given import text_of_comment
from grader.marking.lines import WHOLE, FileLine
from grader.marking.rubric import Marking, Task
from grader.reports.feedback import file_stem, lines_by_place
from grader.reports.status import given_line, when
from grader.text import clean, counted, one_line, points

_KEYS: Final = (
    "1-9 give or take an item · a all items · Enter marked, next · n next · p previous · c comment"
    " · e comment in your editor · l comment at a line · u not marked"
    " · Space more of the file · b back in it · o as a file · q quit"
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


class _Refused(NamedTuple):
    """Something that was not done, because it would replace somebody else's entry.

    Attributes:
        given: by somebody else.
        again: does it.
    """

    given: tuple[Given, ...]
    again: Callable[[], None]


class _ShownLine(NamedTuple):
    """A line of the screen beside its number; one without a style is the student's."""

    number: str
    text: str
    style: str = ""


def _wrapped(text: str, columns: int) -> list[str]:
    return textwrap.wrap(text, columns, drop_whitespace=False, replace_whitespace=False) or [""]


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
        self._comments: dict[tuple[int, FileLine], str] = {}
        self._refused: _Refused | None = None

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
        refused, self._refused = self._refused, None
        if key == "r" and refused is not None:
            self._marking.agree(self._tasks[self._at], refused.given)
            self._try(refused.again)
        else:
            self._try(lambda: self._act(key, folder))

    def _try(self, act: Callable[[], None]) -> None:
        """Does it, unless it would replace somebody else's entry: then a key decides."""
        try:
            act()
        except GivenMeanwhile as meanwhile:
            self._refused = _Refused(meanwhile.given, act)
            theirs = " · ".join(self._line_of(one) for one in meanwhile.given)
            self._message = f"{theirs}\nr replaces it with yours · any other key leaves it"

    def _line_of(self, given: Given) -> str:
        line = given_line(given)
        return line.removeprefix(f"{given.student}: ") if self._anonymous else line

    def _act(self, key: str, folder: Path) -> None:
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
        elif key in ("c", "e", "l"):
            self._comment(task, key)
        elif key == "u":
            self._marking.save(task, None, done=True)
            self._message = "not marked"
        elif key in (" ", "b"):
            self._from_line = self._next_page if key == " " else max(0, self._from_line - self._rows)
        elif key == "o":
            self._put_aside(task, folder)
        else:
            self._message = "there is no such key"

    def _comment(self, task: Task, key: str) -> None:
        try:
            place = FileLine.read(input("line (in a notebook CELL:LINE): ")) if key == "l" else WHOLE
            before = self._comments_of(task).get(place, "")
            text = self._edit(before) if key == "e" else input("comment (none: no comment): ")
            if text is None or not text.strip():
                self._message = "the comment is as it was"
                return
            kept = text_of_comment(text)
        except (UserError, OSError) as problem:
            self._message = str(problem)
            return
        self._try(lambda: self._keep_comment(task, kept, place))

    def _keep_comment(self, task: Task, text: str, place: FileLine) -> None:
        try:
            self._marking.comment(task, text, place)
        except GivenMeanwhile:
            raise
        except UserError as problem:
            self._message = str(problem)
        else:
            self._comments[self._at, place] = text

    def _comments_of(self, task: Task) -> dict[FileLine, str]:
        """The comments on the work and on its lines, with those of this session."""
        kept = (one for one in task.row.comments if one.exercise == task.exercise.full_name)
        of_session = {place: text for (at, place), text in self._comments.items() if at == self._at}
        found = {FileLine(one.line, one.cell): one.text for one in kept} | of_session
        return {place: found[place] for place in sorted(found) if found[place]}

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
        width = self._console.width
        columns = max(20, (width * 3 // 5 if self._is_wide else width) - _LINE_NUMBERS)
        lines = list(self._lines(task, content, columns))
        start = self._from_line = max(0, min(self._from_line, len(lines) - 1))
        shown: list[_ShownLine] = []
        rows = 0
        for line in lines[start:]:
            rows += max(1, len(Text(line.text).wrap(self._console, columns, overflow="fold")))
            if shown and rows > self._rows:
                break
            shown.append(line)
        self._next_page = end = start + len(shown)
        part = "" if len(shown) == len(lines) else f", lines {start + 1} to {end} of {len(lines)}"
        syntax = Syntax("", _LEXERS.get(suffix, "text"), background_color="default")
        colored = syntax.highlight("\n".join(line.text for line in shown if not line.style)).split("\n")
        code = Table.grid(Column(justify="right", style="dim", no_wrap=True), Column(overflow="fold"), padding=(0, 1))
        of_file = iter(colored)
        for line in shown:
            code.add_row(line.number, Text(line.text, line.style) if line.style else next(of_file, Text()))
        return Group(*about, Text(f"{file}{part}", "dim"), code)

    def _lines(self, task: Task, content: bytes, columns: int) -> Iterator[_ShownLine]:
        """The lines of the work with their numbers, and below a line the comment on it."""
        is_code = PurePosixPath(task.file).suffix.lower() == ".py"
        comments = self._comments_of(task)
        last = 0
        for (cell, number), (_, text) in lines_by_place(content).items():
            if cell != last:
                last = cell
                yield _ShownLine("", HANDED_IN.format(cell), "dim")
            text = clean(text).replace("\n", "\ufffd")
            pieces = [text[:_WIDEST]] if is_code else _wrapped(text, columns)  # a paragraph of a report may be one line
            for at, piece in enumerate(pieces):
                yield _ShownLine(str(number) if at == 0 else "", piece)
            for said in comments.get(FileLine(number, cell), "").split("\n"):
                yield from (_ShownLine("▸", piece, "italic yellow") for piece in _wrapped(clean(said), columns) if said)

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
        comments = self._comments_of(task)
        if said := comments.pop(WHOLE, ""):
            lines += [Text(), Text(clean(said), "italic")]
        if comments:
            lines += [Text(), Text(counted(len(comments), "comment") + " at lines", "dim")]
        return Group(*lines)
