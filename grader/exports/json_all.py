"""Everything that the gradebook knows about a run, as one JSON document. Leaves out nothing and adds nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from grader.course import Course
from grader.reports.entries import Entry
from grader.results import SCHEMA


def document(entries: Sequence[Entry], course: Course) -> Iterator[bytes]:
    """The document, piece by piece."""
    head = msgspec.json.encode({"schema": SCHEMA, "course": course.name, "title": course.title})
    yield head[:-1] + b',"submissions":[\n'
    for number, entry in enumerate(entries):
        row = entry.row
        yield (b",\n" if number else b"") + msgspec.json.encode(
            {
                "submission": entry.result.submission,
                "score": row.score,
                "max": row.max,
                "final": row.final,
                "unread": row.unread,
                "not_marked": [one.name for one in row.unmarked],
                **{name: getattr(row, name) for name in row.__struct_fields__},
            }
        )
    yield b"\n]}\n"
