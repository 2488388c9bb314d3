"""Makes the pictures of README and the site from what the grader really prints: ``make pictures``.

- ``check.svg``: the terminal of ``grader check`` with two wrong answers
- ``class.png``: the class page of ``examples/class``, as headless Chromium shows it

Needs Chromium, as ``chromium`` or named by ``CHROMIUM``. No test runs this; the pictures are committed.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

REPO = Path(__file__).resolve().parent.parent
PICTURES = REPO / "docs" / "pictures"
ANSWERS = REPO / "docs" / "pictures" / "answers"
COLUMNS = 100
WINDOW = (1200, 940)


def main() -> None:
    """Writes both pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        (PICTURES / "check.svg").write_text(terminal(), encoding="utf-8")
        class_page(Path(folder), PICTURES / "class.png")


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


def terminal() -> str:
    """An SVG of a terminal in which a student checks two exercises."""
    command = ["check", "gpu", "num_gpus", "try_all_gpus", "pick_device"]
    printed = grader(*command, "--submission", str(ANSWERS)).decode()
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ grader {' '.join(command)}\n\n{printed.strip()}"))
    return without_web_fonts(console.export_svg(title="grader check"))


def without_web_fonts(svg: str) -> str:
    """Rich names fonts on the web; a picture must not ask a network for anything."""
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def class_page(folder: Path, picture: Path) -> None:
    """A screenshot of the top of the sample class's page."""
    grader("grade", "examples/class", "--out", str(folder))
    grader("report", "--out", str(folder))
    subprocess.run(
        [
            os.environ.get("CHROMIUM", "chromium"),
            *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            f"--user-data-dir={folder / 'browser'}",
            f"--window-size={WINDOW[0]},{WINDOW[1]}",
            f"--screenshot={picture}",
            (folder / "report" / "index.html").as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )


if __name__ == "__main__":
    main()
