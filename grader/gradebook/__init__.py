"""The gradebook: one SQLite file with every result, when it was made and with what. See `Gradebook`."""

from grader.gradebook.book import Gradebook, selection_key
from grader.gradebook.diff import Move, compare
from grader.gradebook.records import Extension, Override, Row, Run
from grader.gradebook.schema import VERSION, DamagedGradebook

__all__ = [
    "VERSION",
    "DamagedGradebook",
    "Extension",
    "Gradebook",
    "Move",
    "Override",
    "Row",
    "Run",
    "compare",
    "selection_key",
]
