"""How far each rank got, drawn: in the terminal at any width, with colours and without, on a page and in a notebook."""

import io
import xml.etree.ElementTree as ET
from pathlib import Path

from classrooms import OWN, check, entry, exercise, result
from rich.console import Console

from grader.course import Course
from grader.grading.graders import Graded
from grader.judge import explain
from grader.notebook.commands import Card
from grader.pictures import RankStep, Stair
from grader.reports.check_report import show_failure
from grader.reports.html import page_name, write_report
from grader.reports.stair import stair_block, stair_rows
from grader.results import Cause

COURSE = Course.load(OWN)
STAIR = Stair(
    (
        RankStep(1, "waits", "waits in all_reduce for ranks 1 and 2, line 12 of ddp.py, in average"),
        RankStep(0, "runs", "runs, line 7 of <b>\x1b[31m.py"),
        RankStep(2, "returned", "returned"),
    )
)
STUCK = explain.result("meets", Cause(kind="timeout", reason="rank 1 never reached all_reduce", stair=STAIR))


def drawn(width: int, encoding: str = "utf-8") -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=stream, width=width, highlight=False, color_system=None)
    for row in stair_rows(STAIR, console, "| "):
        console.print(row, soft_wrap=True)
    stream.seek(0)
    return stream.read().splitlines()


def test_a_bar_and_words_for_each_rank() -> None:
    assert drawn(100) == [
        "| how far each rank got",
        "| rank 0 ━━━    waits in all_reduce for ranks 1 and 2, line 12 of ddp.py, in average",
        "| rank 1 ?      runs, line 7 of <b>.py",
        "| rank 2 ━━━━━━ returned",
    ]


def test_no_row_is_wider_than_the_terminal_and_no_word_is_lost() -> None:
    for width in (80, 60, 40, 24):
        lines = drawn(width)
        assert max(map(len, lines)) <= width
        said = " ".join(" ".join(lines).replace("|", " ").split())
        assert "all_reduce for ranks 1 and 2, line 12 of ddp.py, in average" in said, width
    assert "| rank 2 ====== returned" in drawn(60, "ascii")


def test_the_terminal_a_page_and_a_notebook_have_it(tmp_path: Path) -> None:
    one = exercise("vectors.normalize", STUCK, check())
    stream = io.StringIO()
    show_failure(one, COURSE, Console(file=stream, width=60, highlight=False), "vectors.py:8")
    assert "  │ rank 2 ━━━━━━ returned" in stream.getvalue().splitlines()
    write_report([entry(result("me", one), {"vectors.py": "def normalize(x):\n    return x\n"})], COURSE, tmp_path)
    block = str(stair_block(STAIR))
    assert "&lt;b&gt;" in block and {one.tag for one in ET.fromstring(block).iter()} == {"figure", "figcaption", "div"}
    assert block in (tmp_path / "students" / page_name("me")).read_text()
    card = Card(Graded(result("me", one), "digest", 0.5), COURSE, "vectors.normalize")
    assert block in card.html() and "━━━━━━ returned" in card.text()
