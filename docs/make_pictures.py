"""Makes the pictures of README and the site from what the grader really prints: ``make pictures``.

- ``check.svg``: the terminal of ``grader check`` with two wrong answers; ``check-light.svg``: the same on a light one
- ``class.png``: the class page of ``examples/class``, as headless Chromium shows it
- ``watch.svg``: the terminal of ``grader watch`` after a wrong answer and a hint
- ``notebook.png``: what ``check`` shows in a notebook, on a light page and on a dark one

Names of pictures as arguments make these alone. The class page shows times: make it on a machine that is not busy.
Needs Chromium, as ``chromium`` or named by ``CHROMIUM``. No test runs this; the pictures are committed.
"""

from __future__ import annotations

import html
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pexpect
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

from grader.course import Course
from grader.grading.graders import result_at_end
from grader.grading.own_work import own_news, own_workers
from grader.grading.protocol import WorkerOptions
from grader.notebook.cells import submission_of
from grader.notebook.commands import Card

REPO = Path(__file__).resolve().parent.parent
PICTURES = REPO / "docs" / "pictures"
ANSWERS = REPO / "docs" / "pictures" / "answers"
COLUMNS = 100
WINDOW = (1200, 940)
WRONG = "return x.T @ x"
LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [
        (36, 41, 47),
        (207, 34, 46),
        (17, 99, 41),
        (77, 45, 0),
        (9, 105, 218),
        (130, 80, 223),
        (27, 124, 131),
        (110, 119, 129),
    ],
    [
        (87, 96, 106),
        (164, 14, 38),
        (26, 127, 55),
        (99, 60, 1),
        (33, 139, 255),
        (164, 117, 249),
        (49, 146, 170),
        (140, 149, 159),
    ],
)
"""The colours of a common light terminal."""


def main(wanted: list[str]) -> None:
    """Writes the pictures of these names; of all, if there are none."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        makers: dict[str, Callable[[Path], object]] = {
            "check.svg": lambda to: to.write_text(terminal(SVG_EXPORT_THEME), encoding="utf-8"),
            "check-light.svg": lambda to: to.write_text(terminal(LIGHT), encoding="utf-8"),
            "watch.svg": lambda to: to.write_text(watching(folder / "kata"), encoding="utf-8"),
            "notebook.png": lambda to: notebook_cards(folder, to),
            "class.png": lambda to: class_page(folder, to),
        }
        for picture in wanted or makers:
            makers[picture](PICTURES / picture)


def grader(*arguments: str) -> bytes:
    """What a command prints on a terminal with colours. Some of the answers are wrong, so 1 is a right exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        cwd=REPO,
        env={**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"},
        stdout=subprocess.PIPE,
        check=False,
    )
    assert done.returncode in (0, 1), done.returncode
    return done.stdout


def terminal(theme: TerminalTheme) -> str:
    """An SVG of a terminal in which a student checks some exercises."""
    command = ["check", "gpu", "num_gpus", "try_all_gpus", "pick_device"]
    printed = grader(*command, "--submission", str(ANSWERS)).decode()
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ grader {' '.join(command)}\n\n{printed.strip()}"))
    svg = console.export_svg(title="grader check", theme=theme)
    return without_web_fonts(svg.replace("rgba(255,255,255,0.35)", "#8c959f"))  # a frame that is seen on any page


def watching(folder: Path) -> str:
    """An SVG of a terminal in which an exercise is watched: a wrong answer was saved, and a hint asked for."""
    grader("init", str(folder))
    child = pexpect.spawn(
        sys.executable,
        ["-m", "grader", "watch", "gram"],
        cwd=str(folder),
        env={**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(REPO)},
        encoding="utf-8",
        dimensions=(40, COLUMNS),
        timeout=120,
    )
    child.logfile_read = printed = io.StringIO()
    child.expect_exact("not written yet")
    child.expect_exact(" quit")
    file = folder / "tensor_ops.py"
    stub = file.read_text(encoding="utf-8")
    file.write_text(stub.replace('raise NotImplementedError("write `gram` here")', WRONG), encoding="utf-8")
    child.expect_exact("expected")
    child.expect_exact(" quit")
    child.send("h")
    child.expect_exact("hint 1")
    child.expect_exact(" quit")
    child.send("q")
    child.expect(pexpect.EOF)
    child.close()
    screen = printed.getvalue().rpartition("\x1b[2J")[2].replace("\x1b[H", "").partition("\x1b[?25")[0]
    shown = f"{screen.rpartition(' quit')[0]} quit".replace("\r\n", "\n").strip()
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(shown))
    return without_web_fonts(console.export_svg(title="grader watch"))


def notebook_cards(folder: Path, picture: Path) -> None:
    """A screenshot of the card of a wrong answer, in the colours of a light page and of a dark one."""
    course = Course.load(None)
    cells = ["import torch", f"def gram(x):\n    {WRONG}"]
    submission = submission_of(cells, course, ["tensor_ops"], None)
    with own_workers(course, WorkerOptions()) as workers:
        graded = result_at_end(own_news(workers, submission, ["tensor_ops.gram"]))
    card = Card(graded, course, "tensor_ops.gram").html()
    themes = (("vscode-light", "#fff"), ("vscode-dark", "#1f1f1f"))
    frames = (
        f"<iframe style='width:49%;height:525px;border:0' srcdoc='{html.escape(page)}'></iframe>"
        for page in (f"<body class={name} style='background:{colour}'>{card}</body>" for name, colour in themes)
    )
    page = folder / "cards.html"
    page.write_text(f"<meta charset=utf-8><body style='margin:0'>{''.join(frames)}", encoding="utf-8")
    screenshot(page, picture, (1200, 530), folder)


def without_web_fonts(svg: str) -> str:
    """Rich names fonts on the web; a picture must not ask a network for anything."""
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def class_page(folder: Path, picture: Path) -> None:
    """A screenshot of the top of the sample class's page."""
    grader("grade", "examples/class", "--out", str(folder))
    grader("report", "--out", str(folder))
    screenshot(folder / "report" / "index.html", picture, WINDOW, folder)


def screenshot(page: Path, picture: Path, window: tuple[int, int], folder: Path) -> None:
    """A picture of the top of a page; `folder` gets what the browser leaves."""
    subprocess.run(
        [
            os.environ.get("CHROMIUM", "chromium"),
            *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            f"--user-data-dir={folder / 'browser'}",
            f"--window-size={window[0]},{window[1]}",
            f"--screenshot={picture}",
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
