"""The gradebook: one SQLite file with every result, when it was made and with what. See `Gradebook`."""

from grader.gradebook.backups import restore
from grader.gradebook.book import Gift, GivenMeanwhile, Gradebook, gradebook_in, selection_key
from grader.gradebook.by_hand import Comment, Excuse, Extension, Given, LookedAt, Mark, MarkedItem, Override, work_hash
from grader.gradebook.records import Absent, HistoryEvent, Older, Row, Run, row_of

__all__ = [
    "Absent", "Comment", "Excuse", "Extension", "Gift", "Given", "GivenMeanwhile", "Gradebook", "HistoryEvent",
    "LookedAt", "Mark", "MarkedItem", "Older", "Override", "Row", "Run", "gradebook_in", "restore", "row_of",
    "selection_key", "work_hash",
]  # fmt: skip
