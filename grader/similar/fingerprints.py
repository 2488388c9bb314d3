"""What copydetect does here: passages of code without the names in it, and which lines of two files are alike.

The only module that imports copydetect, an extra that brings matplotlib. Submitted code is never imported or run: it is
split into tokens.
"""

import io
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from grader.course.definitions import lines_in
from grader.errors import UserError

PASSAGE = 25
"""Characters of a passage, in code in which every name is one letter: copydetect's own default."""
MOST_BYTES = 100_000
"""Larger files are not compared."""


@dataclass(frozen=True)
class Fingerprint:
    """The passages of one file that count.

    Attributes:
        passages: hashes, which differ from process to process.
        size: the characters that these passages cover.
        lines: of the file, as it is.
        code: copydetect's own object.
        numbers: of the lines that copydetect has seen, from 1: those that are not blank.
    """

    passages: Set[int]
    size: int
    lines: list[str]
    code: Any
    numbers: list[int]


def library() -> Any:
    """The library copydetect.

    Raises:
        UserError: it is not installed.
    """
    try:
        import copydetect.utils
    except ImportError as problem:
        raise UserError(
            f"similar code is found by copydetect, which cannot be imported: {problem}",
            fix="pip install 'torchkata[similar]'",
        ) from problem
    return copydetect


def why_not(content: bytes) -> str:
    """Why a file cannot be compared; empty where it can."""
    if len(content) > MOST_BYTES:
        return f"larger than {MOST_BYTES // 1000} kB"
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "not Python text"
    return "not Python text" if "\0" in text else ""


def fingerprint(content: bytes) -> Fingerprint:
    """All passages of a file."""
    lines = lines_in(content)
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    # Without blank lines: a tokenizer needs minutes for some thousands of them.
    text = "\n".join(lines[number - 1] for number in numbers)
    # A window of 1 keeps every passage: which ones a larger window keeps depends on the process's own hashes.
    code = library().CodeFingerprint("code.py", PASSAGE, 1, language="python", fp=io.StringIO(text))
    if len(code.offsets):  # what it notes at the name of a class is not a sum, as the others are
        import numpy

        code.offsets[:, 1] = numpy.maximum.accumulate(code.offsets[:, 1])
    return Fingerprint(frozenset(code.hash_idx), int(code.token_coverage), lines, code, numbers)


def without(given: Fingerprint, left_out: Set[int]) -> Fingerprint:
    """The same without some passages.

    copydetect can take a list of passages to leave out; where one occurs twice in a file it leaves out others, too.
    """
    code = given.code
    code.hash_idx = {passage: places for passage, places in code.hash_idx.items() if passage not in left_out}
    code.hashes = set(code.hash_idx)
    size = library().utils.get_token_coverage(code.hash_idx, PASSAGE, len(code.filtered_code))
    code.token_coverage = size
    return Fingerprint(frozenset(code.hash_idx), int(size), given.lines, code, given.numbers)


def compare(first: Fingerprint, second: Fingerprint) -> tuple[int, tuple[float, float], tuple[set[int], set[int]]]:
    """The characters that are alike, which share of each file that is, and the lines (from 1) where they are."""
    alike, shares, slices = library().compare_files(first.code, second.code)
    if not alike:
        return 0, (0.0, 0.0), (set(), set())
    one, other = (min(float(share), 1.0) for share in shares)
    return int(alike), (one, other), (_lines(first, slices[0]), _lines(second, slices[1]))


def _lines(given: Fingerprint, slices: Any) -> set[int]:
    """The lines of which more than half is in one of the slices: passages begin and end within lines."""
    text = given.code.raw_code
    found: set[int] = set()
    for start, end in zip(slices[0].astype(int).tolist(), slices[1].astype(int).tolist(), strict=True):
        at = text.rfind("\n", 0, start) + 1
        number = text.count("\n", 0, at)
        for line in text[at:end].split("\n"):
            whole = text[at:].partition("\n")[0] if at + len(line) >= end else line
            if 2 * len(line[max(start - at, 0) :].strip()) > len(whole.strip()):
                found.add(given.numbers[number])
            number += 1
            at += len(line) + 1
    return found
