"""Which submissions of a class have code that is much alike, topic by topic. Reads files; decides nothing.

The only module that imports copydetect, an extra that brings matplotlib, and only when it is called. Submitted code is
never imported or run: it is split into tokens. The page shows both codes side by side, in one file that a browser shows
without a network; its template escapes everything from submissions, and it carries no script.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import accumulate, combinations
from pathlib import Path
from typing import Any, NamedTuple

from grader.course import Course
from grader.course.definitions import lines_in
from grader.errors import UserError
from grader.files import write_named_file
from grader.reports.entries import Entry
from grader.reports.html import environment_of
from grader.reports.html_feedback import Excerpt, excerpt
from grader.text import counted, one_line

PASSAGE = 25
"""Characters of a passage, in code in which every name is one letter: copydetect's own default."""
MOST_BYTES = 100_000
"""Larger files are not compared."""
_MOST_COLUMNS = 500
"""Characters of a line that are compared: a tokenizer takes a minute for a line of a hundred thousand blanks."""
_LEAST_SIZE = 60
"""Files with fewer characters of their own, names counted as one each, are not compared: short answers are alike."""
_LEAST_LINES = 5
"""Pairs with fewer lines alike are not listed: everybody writes them."""
_LEAST_RUN = 3
"""Fewer lines alike one after the other in a function do not count: there are few ways to write it in one line."""
_HEAD = re.compile(r"\s*(?:async\s+def|def|class)\b")
_MOST_SHARED = 2_000_000
"""Passages in common of all pairs of one topic that are compared, a few microseconds each; the most alike go first."""
_COMMON = (20, 60)
"""A passage is common when more submissions have it than a fifth of the class, but at least and at most so many."""
MOST_PAIRS = 100
NOT_A_VERDICT = (
    "Being alike is not a verdict and proves nothing: short exercises have few good answers, and people"
    " learn together. "
    "Read both, and ask."
)
_OPEN = 3
"""Pairs whose code is open at first."""
_CODE_BYTES = 4_000_000
_MOST_LINES = 300
"""Lines of one file that are shown."""
_MOST_NOTES = 20


class Side(NamedTuple):
    """One submission of a pair.

    Attributes:
        share: how much of its own code is alike, from 0 to 1.
        lines: where, from 1.
        text: the file.
    """

    name: str
    share: float
    lines: frozenset[int]
    text: bytes

    @property
    def amount(self) -> str:
        """How much is alike, in words."""
        return f"{self.share:.0%}, {counted(len(self.lines), 'line')}"


class Pair(NamedTuple):
    """Two submissions and what is alike in one topic; `size` is in characters, names counted as one each."""

    topic: str
    first: Side
    second: Side
    size: int

    @property
    def share(self) -> float:
        """The larger share: code that was taken over as a part of more code counts."""
        return max(self.first.share, self.second.share)


class Findings(NamedTuple):
    """The pairs of a class, most alike first.

    Attributes:
        submissions: how many were looked at.
        compared: how many of them have enough code of their own in a topic.
        notes: what was not compared, and why.
    """

    pairs: tuple[Pair, ...]
    submissions: int
    compared: int
    notes: tuple[str, ...]
    least: float


def find_pairs(entries: Sequence[Entry], course: Course, least: float) -> Findings:
    """Compares every submission with every other, after stub, reference solution and common passages are taken away.

    Raises:
        UserError: copydetect is not installed.
    """
    _library()
    pairs: list[Pair] = []
    notes: list[str] = []
    compared: set[str] = set()
    for topic in course.modules:  # one after the other: the passages of a class take much memory
        found = _ComparedTopic(topic.name, entries, course)
        pairs += found.pairs(least)
        notes += found.notes
        compared.update(file.name for file in found.files)
    pairs.sort(key=lambda one: (-one.share, -one.size, one.topic, one.first.name, one.second.name))
    return Findings(tuple(pairs), len(entries), len(compared), tuple(notes), least)


def summary(findings: Findings) -> str:
    """How many pairs of how many submissions, in a sentence."""
    those = counted(len(findings.pairs), "pair")
    of = counted(findings.submissions, "submission")
    enough = f"{findings.compared} of {of} have enough code of their own to compare"
    return f"{those} at least {findings.least:.0%} alike in a topic; {enough}"


def _library() -> Any:
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


class _ComparedTopic:
    """One topic's file of every submission that has enough of its own."""

    def __init__(self, topic: str, entries: Sequence[Entry], course: Course) -> None:
        self.notes: list[str] = []
        self._topic = topic
        given = [form for content in self._given(course) for form in _forms(content) if not _why_not(form)]
        self._lines = {line.strip() for content in given for line in lines_in(content)}
        files = list(self._read(entries))
        handed_out = frozenset[int]().union(*(_ComparedFile("", content).passages for content in given))
        for file in files:
            file.leave_out(handed_out)
        count = Counter(passage for file in files for passage in file.passages)
        fewest, most = _COMMON
        limit = max(fewest, min(most, len(files) // 5))
        common = {passage for passage, students in count.items() if students > limit}
        for file in files:
            file.leave_out(common)
        self.files = [file for file in files if file.size >= _LEAST_SIZE]

    def pairs(self, least: float) -> Iterator[Pair]:
        """The pairs of which at least this share of one is alike."""
        for numbers in self._candidates(least):
            files = [self.files[number] for number in numbers]
            alike, shares, slices = _library().compare_files(*(file.code for file in files))
            if alike < _LEAST_SIZE:
                continue
            first, second = (
                Side(file.name, min(float(share), 1.0), self._own(file, file.lines_of(its)), file.content)
                for file, share, its in zip(files, shares, slices, strict=True)
            )
            pair = Pair(self._topic, first, second, int(alike))
            if pair.share >= least and min(len(first.lines), len(second.lines)) >= _LEAST_LINES:
                yield pair

    def _candidates(self, least: float) -> list[tuple[int, int]]:
        """Pairs with enough passages in common: half the share that is asked for, as passages overlap."""
        having: dict[int, list[int]] = {}
        for number, file in enumerate(self.files):
            for passage in file.passages:
                having.setdefault(passage, []).append(number)
        shared = Counter(pair for numbers in having.values() for pair in combinations(numbers, 2))
        sizes = [len(file.passages) for file in self.files]
        parts = {pair: both / min(sizes[number] for number in pair) for pair, both in shared.items()}
        found = (pair for pair, part in parts.items() if part >= least / 2)
        ranked = sorted(found, key=lambda pair: (-parts[pair], pair))
        sums = accumulate(shared[pair] for pair in ranked)
        most = max(sum(total <= _MOST_SHARED for total in sums), 1)
        if ranked[most:]:
            self.notes.append(f"{self._topic}: of {len(ranked)} pairs with much in common, {most} were compared")
        return ranked[:most]

    def _given(self, course: Course) -> Iterator[bytes]:
        """The files of the course itself for this topic."""
        solution = course.solution_file(self._topic)
        if not solution.is_file():
            self.notes.append(f"{self._topic}: the course has no reference solution here; only the stub is taken away")
        for file in (course.stub_file(self._topic), solution):
            if file.is_file():
                yield file.read_bytes()

    def _read(self, entries: Sequence[Entry]) -> Iterator[_ComparedFile]:
        """The file of each submission with this topic that can be compared."""
        for entry in entries:
            content = entry.files().get(f"{self._topic}.py")
            if content is not None and (reason := _why_not(content)):
                self.notes.append(f"{one_line(entry.result.submission)}: {self._topic}.py is {reason}; not compared")
            elif content is not None:
                file = _ComparedFile(entry.result.submission, content)
                if max(map(len, file.lines)) > _MOST_COLUMNS:
                    longer = f"of lines of {self._topic}.py, the first {_MOST_COLUMNS} characters are compared"
                    self.notes.append(f"{one_line(entry.result.submission)}: {longer}")
                yield file

    def _own(self, file: _ComparedFile, lines: Iterable[int]) -> frozenset[int]:
        """The lines that stub and solution do not have, if there are several one after the other."""
        text = file.lines
        mine = {line for line in lines if text[line - 1].strip() not in self._lines}
        runs: list[list[int]] = [[]]
        was_indented = False
        for line, code in enumerate(text, start=1):
            if not code.strip() or code.lstrip().startswith("#"):
                continue
            if line not in mine or _HEAD.match(code) or (was_indented and not code[0].isspace()):
                runs.append([])  # a run ends with its function
            if line in mine:
                runs[-1].append(line)
            was_indented = code[0].isspace()
        return frozenset(line for run in runs if len(run) >= _LEAST_RUN for line in run)


def _why_not(content: bytes) -> str:
    """Why a file cannot be compared; empty if it can."""
    if len(content) > MOST_BYTES:
        return f"larger than {MOST_BYTES // 1000} kB"
    with contextlib.suppress(UnicodeDecodeError):
        if "\0" not in content.decode("utf-8-sig"):
            return ""
    return "not Python text"


class _ComparedFile:
    """One submission's file, and the passages of it that count.

    Attributes:
        name: the submission's.
        size: the characters that these passages cover.
        lines: of the file, as it is.
        code: copydetect's own object.
    """

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.content = content
        self.lines = lines_in(content)
        # Without blank lines: a tokenizer needs minutes for some thousands of them.
        self._numbers = [number for number, line in enumerate(self.lines, start=1) if line.strip()]
        text = "\n".join(self.lines[number - 1][:_MOST_COLUMNS] for number in self._numbers)
        # A window of 1 keeps every passage: which ones a larger window keeps depends on the process's own hashes.
        self.code = _library().CodeFingerprint("code.py", PASSAGE, 1, language="python", fp=io.StringIO(text))
        if len(self.code.offsets):  # what it notes at the name of a class is not a sum, as the others are
            import numpy

            self.code.offsets[:, 1] = numpy.maximum.accumulate(self.code.offsets[:, 1])
        self.size = int(self.code.token_coverage)

    @property
    def passages(self) -> Set[int]:
        """Hashes, which differ from process to process."""
        return frozenset(self.code.hash_idx)

    def leave_out(self, passages: Set[int]) -> None:
        """Takes some passages away.

        copydetect can take a list of passages to leave out; if one occurs twice in a file it leaves out others, too.
        """
        code = self.code
        code.hash_idx = {passage: places for passage, places in code.hash_idx.items() if passage not in passages}
        code.hashes = set(code.hash_idx)
        code.token_coverage = _library().utils.get_token_coverage(code.hash_idx, PASSAGE, len(code.filtered_code))
        self.size = int(code.token_coverage)

    def lines_of(self, slices: Any) -> set[int]:
        """The lines of which more than half is in one of the slices: passages begin and end within lines."""
        text = self.code.raw_code
        found: set[int] = set()
        for start, end in zip(slices[0].astype(int).tolist(), slices[1].astype(int).tolist(), strict=True):
            at = text.rfind("\n", 0, start) + 1
            number = text.count("\n", 0, at)
            for line in text[at:end].split("\n"):
                whole = text[at:].partition("\n")[0] if at + len(line) >= end else line
                if 2 * len(line[max(start - at, 0) :].strip()) > len(whole.strip()):
                    found.add(self._numbers[number])
                number += 1
                at += len(line) + 1
        return found


def _forms(content: bytes) -> Iterator[bytes]:
    """The file as it is, and without docstrings, without type hints, and without both."""
    yield content
    for left_out in (_Bare(docstrings=True), _Bare(hints=True), _Bare(docstrings=True, hints=True)):
        with contextlib.suppress(SyntaxError, ValueError):
            yield ast.unparse(ast.fix_missing_locations(left_out.visit(ast.parse(content)))).encode()


_WITH_BODY = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class _Bare(ast.NodeTransformer):
    """Takes docstrings or type hints out of a module."""

    def __init__(self, *, docstrings: bool = False, hints: bool = False) -> None:
        self._docstrings = docstrings
        self._hints = hints

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if self._docstrings and isinstance(node, _WITH_BODY) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        if not self._hints:
            return node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            return ast.Assign(targets=[node.target], value=node.value)
        return node


# ---------------------------------------------------------------- the page


def write_page(findings: Findings, course: Course, file: Path, about: Sequence[str] = ()) -> None:
    """Writes the page.

    Args:
        about: which results these are, a line each.

    Raises:
        UserError: the file cannot be written.
    """
    template = environment_of("grader.similar").get_template("similar.html")
    text = template.render(
        course=course,
        about=[one_line(line, 300) for line in about],
        summary=summary(findings),
        caution=NOT_A_VERDICT,
        pairs=list(_with_codes(findings.pairs[:MOST_PAIRS])),
        open=_OPEN,
        left_out=max(len(findings.pairs) - MOST_PAIRS, 0),
        notes=bounded_notes(findings.notes),
        policy="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",  # and no script
    )
    write_named_file(file, [text.encode("utf-8", "replace")], durable=False)


def bounded_notes(notes: Sequence[str]) -> list[str]:
    """The first notes, and how many more there are."""
    more = [f"and {counted(len(notes) - _MOST_NOTES, 'more note')}"] if notes[_MOST_NOTES:] else []
    return [one_line(note, 300) for note in notes[:_MOST_NOTES]] + more


def _with_codes(pairs: Sequence[Pair]) -> Iterator[tuple[Pair, list[tuple[Side, Excerpt]]]]:
    """Pairs with the lines of both sides that are alike, and those around them; with none if there is no room."""
    room = _CODE_BYTES
    for pair in pairs:
        file = f"{pair.topic}.py"
        codes = []
        for side in (pair.first, pair.second):
            alike = {(file, line) for line in side.lines}
            codes += [(side, code) for code in excerpt({file: side.text}, f"{pair.topic}.", alike, _MOST_LINES)]
        size = sum(code.size for _, code in codes)
        if size > room:
            codes, size = [], 0
        room -= size
        yield pair, codes
