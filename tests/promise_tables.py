"""The promises of the shipped course: ``checks/promises/TOPIC.toml`` is the table of a topic, a line per promise::

    [gram]
    "entry (i, j) is a dot product" = { check = "rows_dotted_with_rows", misconception = "columns_with_columns" }

The key is the sentence in short; ``check`` is the check's name without `test_`; ``misconception`` is one of
solutions/misconceptions/TOPIC.py, or ``answer`` a file of tests/answers/wrong/TOPIC, without `.py`.

That the check fails the misconception, `checks/test_promises.py` shows; that it fails the answer,
`checks/test_wrong_answers.py`, which grades it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

CAUGHT: Final = ("failed", "crashed", "timeout")
"""Verdicts by which a check has failed an answer."""


class Wrong(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of a table: a check, and the misconception or the file of an answer that it fails."""

    check: str
    misconception: str = ""
    answer: str = ""

    def __post_init__(self) -> None:
        if bool(self.misconception) == bool(self.answer):
            raise ValueError("a promise needs a misconception or an answer, and not both")


class Promise(msgspec.Struct, frozen=True):
    """A promise of an exercise; it names a misconception or the file of an answer, not both."""

    exercise: str
    promise: str
    check: str
    misconception: str
    answer: str

    def __str__(self) -> str:
        return f"{self.exercise}: {self.promise}"

    @property
    def wrong(self) -> str:
        """The name of the wrong answer."""
        return self.misconception or self.answer


def table(file: Path) -> list[Promise]:
    """The promises in a file."""
    exercises = msgspec.toml.decode(file.read_bytes(), type=dict[str, dict[str, Wrong]])
    return [
        Promise(exercise, promise, one.check, one.misconception, one.answer)
        for exercise, promises in exercises.items()
        for promise, one in promises.items()
    ]


TABLES: Final = {
    file.stem: table(file) for file in sorted((Path(__file__).parent / "checks" / "promises").glob("*.toml"))
}
