"""Keeps the records of misconceptions on disk, so that only the first wrong answer of an exercise waits for them.

One file for each exercise. Its folder stands for all that records depend on (see `grading/records_folder.py`), so what
is found there holds. What cannot be read or written counts as not there: a record can always be made again.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from grader.files import write_atomically
from grader.judge.check import Trace

_MOST_BYTES: Final = 4 << 20
"""The largest file that is read or written, unpacked."""
_REPEATABLE: Final = frozenset(("passed", "failed", "skipped"))
"""Verdicts that a busy machine cannot have made."""

Traces = dict[str, Trace]
"""Of one misconception: by name of check, in the order in which they were run."""


class Records(msgspec.Struct):
    """What is known of the misconceptions of one exercise, by name.

    Attributes:
        in_order: traces of checks that were run one after the other, from the first on.
        alone: traces of single checks.
    """

    in_order: dict[str, Traces] = {}
    alone: dict[str, Traces] = {}

    def count(self) -> int:
        """The number of traces."""
        return sum(len(traces) for part in (self.in_order, self.alone) for traces in part.values())


class KeptRecords:
    """The files of one folder; None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def read(self, exercise: str) -> Records:
        """What is kept of an exercise (full name); nothing where there is no file that can be read."""
        if self._folder is not None:
            with contextlib.suppress(OSError, zlib.error, msgspec.DecodeError):
                unpacking = zlib.decompressobj()
                data = unpacking.decompress(self._file(exercise).read_bytes(), _MOST_BYTES)
                if unpacking.eof:
                    return msgspec.msgpack.decode(data, type=Records)
        return Records()

    def write(self, exercise: str, records: Records) -> None:
        """Keeps what is known of an exercise, but for misconceptions that ended their process or took too long."""
        if self._folder is None:
            return
        data = msgspec.msgpack.encode(Records(_repeatable(records.in_order), _repeatable(records.alone)))
        if len(data) <= _MOST_BYTES:
            with contextlib.suppress(OSError):
                write_atomically(self._file(exercise), [zlib.compress(data, 1)], durable=False)

    def _file(self, exercise: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{exercise}.records"


def _repeatable(records: Mapping[str, Traces]) -> dict[str, Traces]:
    return {
        name: traces
        for name, traces in records.items()
        if all(trace.verdict in _REPEATABLE and not trace.ending for trace in traces.values())
    }
