"""A class of seven over the three weeks of `examples/term_course`, and every mark of it, worked out by hand.

Points are 3, 3 and 5; a day late costs a tenth of the points, 2 late days are free, the worst of a student's weeks is
dropped, and week 3 counts twice.
"""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from shared import TERM_COURSE

TOPICS: Final = {"week1": "samples", "week2": "lines", "week3": "descent"}
IN_TIME: Final = {"week1": "2026-10-02 10:00", "week2": "2026-10-09 10:00", "week3": "2026-10-16 10:00"}
LEFT, CAME = "Elif Yılmaz", "Gita Rao"
"""Week 1 is the only one of the first, who is in no later class list; the other is in no list of week 1."""
NOBODY: Final = "not handed in"


class Work(NamedTuple):
    """What one student hands in in a week, and the mark.

    Attributes:
        answers: how many of the week's exercises are written; None: nothing is handed in.
        final: the points after lateness, or the state of one who has no mark.
        came: when, if not in time.
    """

    answers: int | None
    final: float | str
    came: str = ""


EXCUSED = Work(None, "excused")
CLASS: Final = {
    "Ada Okafor": (Work(2, 3.0), Work(2, 3.0, "2026-10-11 10:00"), Work(2, 5.0)),  # two days late: both are free
    "Ben Lindqvist": (Work(1, 1.0), Work(None, NOBODY), Work(1, 2.0)),
    "Chiara Rossi": (Work(2, 3.0), Work(2, 3.0, "2026-10-11 10:00"), Work(2, 5.0, "2026-10-17 10:00")),  # more time
    "Dmitri Petrov": (Work(1, 1.0), EXCUSED, Work(2, 5.0)),
    LEFT: (Work(2, 3.0), None, None),
    "Farah Haddad": (Work(0, 0.0), Work(2, 3.0), Work(2, 4.5, "2026-10-19 17:00")),  # three days late: one costs
    CAME: (None, Work(1, 1.0), Work(2, 5.0)),
}
TERM: Final = {
    "Ada Okafor": (1.0, "A"),  # the first of her three full weeks is dropped
    "Ben Lindqvist": ((1 / 3 + 2 * 0.4) / 3, "F"),  # week 2, of which he handed in nothing, is dropped
    "Chiara Rossi": (1.0, "A"),
    "Dmitri Petrov": (1.0, "A"),  # 1/3 is dropped, and week 2 counts nowhere
    LEFT: (1.0, "A"),
    "Farah Haddad": ((1.0 + 2 * 0.9) / 3, "A"),  # the 0 is dropped
    CAME: (1.0, "A"),  # 1/3 is dropped
}
"""The share of the points over the term, and the letter."""
IDS: Final = {name: f"{number}" for number, name in enumerate(CLASS, start=1101)}


def write_class(folder: Path) -> None:
    """Writes what the pages name: the archives, and the class lists with the times at which work came."""
    for number, (week, topic) in enumerate(TOPICS.items()):
        with zipfile.ZipFile(folder / f"{week}.zip", "w") as archive:
            for name, weeks in CLASS.items():
                work = weeks[number]
                if work is not None and work.answers is not None:
                    archive.writestr(f"{IDS[name]}/{topic}.py", answers(topic, work.answers))
        with (folder / f"class-{number + 1}.csv").open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([["id", "name", "submitted"], *_lines(number, IN_TIME[week])])


def answers(topic: str, count: int) -> str:
    """The topic's stub with the first so many exercises solved."""
    solution = (TERM_COURSE / "solutions" / f"{topic}.py").read_text()
    stub = (TERM_COURSE / "exercises" / f"{topic}.py").read_text()
    solved = re.findall(r"    # solution:\n(.*?)    # end\n", solution, re.DOTALL)
    for text in solved[:count]:
        stub = re.sub(r"    raise NotImplementedError\(.*\)\n", lambda _, text=text: text, stub, count=1)
    return stub


def _lines(number: int, in_time: str) -> Iterator[list[str]]:
    for name, weeks in CLASS.items():
        if (work := weeks[number]) is not None:
            yield [IDS[name], name, "" if work.answers is None else work.came or in_time]
