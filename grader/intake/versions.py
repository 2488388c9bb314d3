"""Numbers in names that tell versions of one thing apart: ``homework_v1`` and ``homework_v2``."""

from __future__ import annotations

import re
from collections.abc import Sequence

_VERSION = re.compile(r"(?:[ _.-]*|(?<=[a-z]))v(?:er|ersion)?[ _.-]?(?P<number>\d{1,4})$", re.IGNORECASE)


def version_of(name: str) -> tuple[str, int] | None:
    """The name without its version, in lower case, and the version's number; None if it has none."""
    found = _VERSION.search(name)
    return (name[: found.start()].lower(), int(found["number"])) if found else None


def latest(names: Sequence[str]) -> str | None:
    """The last version, where all names are versions of one thing; None if not, or if two are the same version."""
    versions = [version_of(name) for name in names]
    known = [version for version in versions if version is not None]
    if len(known) != len(names) or len(known) < 2 or len({base for base, _ in known}) != 1:
        return None
    numbers = [number for _, number in known]
    return names[numbers.index(max(numbers))] if len(set(numbers)) == len(numbers) else None
