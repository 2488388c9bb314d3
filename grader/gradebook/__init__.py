"""The gradebook: one SQLite file with every result, when it was made and with what. See `Gradebook`."""

from grader.gradebook.backups import restore
from grader.gradebook.book import Gift, GivenMeanwhile, Gradebook, gradebook_in, selection_key
from grader.gradebook.records import (
    Comment,
    Extension,
    Given,
    HistoryEvent,
    LookedAt,
    Mark,
    MarkedItem,
    Override,
    Row,
    Run,
    row_of,
    work_hash,
)

__all__ = [
    "Comment",
    "Extension",
    "Gift",
    "Given",
    "GivenMeanwhile",
    "Gradebook",
    "HistoryEvent",
    "LookedAt",
    "Mark",
    "MarkedItem",
    "Override",
    "Row",
    "Run",
    "gradebook_in",
    "restore",
    "row_of",
    "selection_key",
    "work_hash",
]
