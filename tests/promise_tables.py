"""The promises of the shipped course: ``checks/promises/TOPIC.toml`` is the table of a topic, an entry per promise::

    [[promise]]
    exercise = "gram"
    promise = "entry (i, j) is the dot product of rows i and j"   # the sentence in short
    check = "rows_dotted_with_rows"                               # the check's name without `test_`
    misconception = "columns_with_columns"                        # of solutions/misconceptions/TOPIC.py; or
    answer = "gram__claims_not_simulated"                         # a file of tests/answers/wrong/TOPIC, without `.py`

That the check fails the misconception, `checks/test_promises.py` shows; that it fails the answer,
`checks/test_wrong_answers.py`, which grades it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

CAUGHT: Final = ("failed", "crashed", "timeout")
"""Verdicts by which a check has failed an answer."""


class Promise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a table; it names a misconception or the file of an answer, not both."""

    exercise: str
    promise: str
    check: str
    misconception: str = ""
    answer: str = ""

    def __post_init__(self) -> None:
        if bool(self.misconception) == bool(self.answer):
            raise ValueError("a promise needs a misconception or an answer, and not both")

    def __str__(self) -> str:
        return f"{self.exercise}: {self.promise}"

    @property
    def wrong(self) -> str:
        """The name of the wrong answer."""
        return self.misconception or self.answer


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of promises."""

    promise: list[Promise]


TABLES: Final = {
    file.stem: msgspec.toml.decode(file.read_bytes(), type=Table).promise
    for file in sorted((Path(__file__).parent / "checks" / "promises").glob("*.toml"))
}
