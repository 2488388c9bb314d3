"""GitLab's code quality report: failures beside the lines of a merge request. Text in it is data only."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grader.exports.places import place
from grader.reports.entries import Entry
from grader.reports.feedback import FAILING, VERDICT_WORDS, bounded


def code_quality(entries: Sequence[Entry], root: Path) -> bytes:
    """The report: one issue for each check that did not pass."""
    issues = []
    for entry in entries:
        files = entry.files()
        for exercise in entry.result.exercises:
            for check in exercise.checks:
                if check.verdict not in FAILING | {"error"}:
                    continue
                file, line = place(exercise, check, files, root)
                key = f"{entry.result.submission}\0{exercise.name}\0{check.name}"
                first = bounded(check.message, 6, 300)
                issues.append(
                    {
                        "description": f"{exercise.name}: {VERDICT_WORDS[check.verdict]}\n{first}",
                        "check_name": f"{exercise.name}.{check.name}",
                        "fingerprint": hashlib.sha256(key.encode("utf-8", "replace")).hexdigest(),
                        "severity": "major",
                        "location": {"path": file, "lines": {"begin": line}},
                    }
                )
    return msgspec.json.encode(issues) + b"\n"
