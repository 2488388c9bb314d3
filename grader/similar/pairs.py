"""Which submissions of a class have code that is much alike, topic by topic, and which have code of others.

Reads files; decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import accumulate, chain, combinations
from typing import NamedTuple, TypeAlias

from grader.course import Course
from grader.reports.entries import Entry
from grader.similar.others import Others, works_of
from grader.similar.passages import MOST_COLUMNS, ComparedFile, HandedOut, library, why_not_compared
from grader.text import counted, one_line

_LEAST_SIZE = 60
"""Files with fewer characters of their own, names counted as one each, are not compared: short answers are alike."""
_LEAST_LINES = 5
"""Pairs with fewer lines alike are not listed: everybody writes them."""
_MOST_SHARED = 2_000_000
"""Passages in common of all pairs of one topic that are compared, a few microseconds each; the most alike go first."""
_COMMON = (20, 60)
"""A passage is common when more submissions have it than a fifth of the class, but at least and at most so many."""
NOT_A_VERDICT = (
    "Being alike is not a verdict and proves nothing: short exercises have few good answers, and people"
    " learn together. Read both, and ask."
)

Files: TypeAlias = Sequence[ComparedFile]


class Side(NamedTuple):
    """One submission of a pair, or one file of others.

    Attributes:
        share: how much of its own code is alike, from 0 to 1.
        lines: where, from 1.
        text: the file.
        origin: where it is from; empty for the class itself.
        file: the file's own name, if it need not be the topic's.
    """

    name: str
    share: float
    lines: frozenset[int]
    text: bytes
    origin: str = ""
    file: str = ""

    @property
    def amount(self) -> str:
        """How much is alike, in words."""
        return f"{self.share:.0%}, {counted(len(self.lines), 'line')}"


class Pair(NamedTuple):
    """Two codes and their common parts in one topic; `size` is in characters, names counted as one each.

    The first is of the class; the second one may be of others.
    """

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
        pairs: within the class.
        submissions: how many were looked at.
        compared: how many of them have enough code of their own in a topic.
        notes: what was not compared, and why.
        with_others: pairs of the class with others; None if it was compared with none.
    """

    pairs: tuple[Pair, ...]
    submissions: int
    compared: int
    notes: tuple[str, ...]
    least: float
    with_others: tuple[Pair, ...] | None = None


def find_pairs(entries: Sequence[Entry], course: Course, least: float, against: Sequence[Others] = ()) -> Findings:
    """Compares every submission with every other, after stub, reference solution and common passages are taken away.

    Args:
        least: the share of one of the two that must be alike, above 0, at most 1.
        against: others, with whom the class is compared, too; they are not compared with one another.

    Raises:
        UserError: copydetect is not installed.
    """
    library()
    works = works_of(entries)
    pairs: list[Pair] = []
    with_others: list[Pair] = []
    notes: list[str] = []
    of_others = [note for others in against for note in others.notes]
    compared: set[str] = set()
    for topic in course.modules:  # one after the other: the passages of a class take much memory
        found = _ComparedTopic(topic.name, works, course, least)
        pairs += found.pairs()
        notes += found.notes
        found.notes.clear()
        with_others += (pair for others in against for pair in found.pairs_with(others))
        of_others += found.notes
        compared |= found.compared
    in_order = _most_alike_first(with_others) if against else None
    every_note = tuple(dict.fromkeys(notes + of_others))  # of a file that is compared with each topic, they come again
    return Findings(_most_alike_first(pairs), len(works), len(compared), every_note, least, in_order)


def _most_alike_first(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    def key(one: Pair) -> tuple[float | str, ...]:
        return -one.share, -one.size, one.topic, one.first.name, one.second.origin, one.second.name

    return tuple(sorted(pairs, key=key))


def summary(findings: Findings) -> str:
    """How many pairs of how many submissions, in a sentence."""
    those = counted(len(findings.pairs), "pair")
    if findings.with_others is not None:
        those += f" and {counted(len(findings.with_others), 'pair')} with others"
    of = counted(findings.submissions, "submission")
    enough = f"{findings.compared} of {of} have enough code of their own to compare"
    return f"{those} at least {findings.least:.0%} alike in a topic; {enough}"


class _ComparedTopic:
    """One topic's file of every submission of the class.

    Args:
        least: the share of one of two codes that must be alike.

    Attributes:
        notes: what was not compared so far, and why.
        compared: the submissions that have enough of their own.
    """

    def __init__(self, topic: str, works: Sequence[tuple[str, Entry]], course: Course, least: float) -> None:
        self.notes: list[str] = []
        self._topic, self._least = topic, least
        stub, solution = course.stub_file(topic), course.solution_file(topic)
        if not solution.is_file():
            self.notes.append(f"{topic}: the course has no reference solution here; only the stub is taken away")
        self._stub = HandedOut(stub)
        self._stub_and_solution = HandedOut(stub, solution)
        path = f"{topic}.py"
        found = ((name, entry.files().get(path)) for name, entry in works)
        given = ((name, content) for name, content in found if content is not None)
        self._all = list(_compared_files(given, self.notes, path))
        self._common = _common(self._all, self._stub_and_solution)
        self._files = _with_enough(self._all, self._stub_and_solution.passages | self._common)
        self.compared = {file.name for file in self._files}

    def pairs(self) -> Iterator[Pair]:
        """The pairs of which enough of one is alike."""
        shared = Counter(chain.from_iterable(combinations(numbers, 2) for numbers in _having(self._files).values()))
        candidates = self._candidates(self._files, self._files, shared)
        yield from self._compared(self._files, self._files, candidates, self._stub_and_solution)

    def pairs_with(self, others: Others) -> Iterator[Pair]:
        """The same with others.

        Code may be the solution itself, or a copy of it: from that, only the stub and what is common are taken away.
        """
        if not self._all:
            return
        notes: list[str] = []
        path = "" if others.is_code else f"{self._topic}.py"
        files = list(_compared_files(others.files_of(self._topic), notes, path))
        if not files and not notes and not others.is_code:
            notes.append(f"nobody has {path}; not compared")
        self.notes += [f"{others.name}: {note}" for note in notes]
        if others.is_code:
            handed_out = self._stub
            common = _common(self._all, handed_out)
        else:  # what an earlier class had in common may be of the stub that it got
            handed_out = self._stub_and_solution
            common = self._common | _common(files, handed_out)
        mine, theirs = (_with_enough(some, handed_out.passages | common) for some in (self._all, files))
        self.compared |= {file.name for file in mine}
        having = _having(mine)
        shared: Counter[tuple[int, int]] = Counter()
        for number, file in enumerate(theirs):
            of_it = Counter(chain.from_iterable(having[passage] for passage in file.passages & having.keys()))
            shared.update({(one, number): count for one, count in of_it.items()})
        candidates = self._candidates(mine, theirs, shared, f", with {others.name}")
        for pair in self._compared(mine, theirs, candidates, handed_out):
            its_file = pair.second.name if others.is_code else ""
            yield pair._replace(second=pair.second._replace(origin=others.name, file=its_file))

    def _candidates(
        self, mine: Files, theirs: Files, shared: Counter[tuple[int, int]], with_whom: str = ""
    ) -> list[tuple[int, int]]:
        """Pairs with enough passages in common: half the share that is asked for, as passages overlap."""
        sizes, other_sizes = ([len(file.passages) for file in files] for files in (mine, theirs))
        parts = {(one, other): both / min(sizes[one], other_sizes[other]) for (one, other), both in shared.items()}
        found = (pair for pair, part in parts.items() if part >= self._least / 2)
        ranked = sorted(found, key=lambda pair: (-parts[pair], pair))
        sums = accumulate(shared[pair] for pair in ranked)
        most = max(sum(total <= _MOST_SHARED for total in sums), 1)
        if ranked[most:]:
            count = f"of {len(ranked)} pairs with much in common, {most} were compared"
            self.notes.append(f"{self._topic}{with_whom}: {count}")
        return ranked[:most]

    def _compared(
        self, mine: Files, theirs: Files, candidates: Iterable[tuple[int, int]], handed_out: HandedOut
    ) -> Iterator[Pair]:
        for one, other in candidates:
            files = mine[one], theirs[other]
            alike, shares, slices = library().compare_files(*(file.code for file in files))
            if alike < _LEAST_SIZE:
                continue
            first, second = (
                Side(file.name, min(float(share), 1.0), handed_out.own_lines(file, file.lines_of(its)), file.content)
                for file, share, its in zip(files, shares, slices, strict=True)
            )
            pair = Pair(self._topic, first, second, int(alike))
            if pair.share >= self._least and min(len(first.lines), len(second.lines)) >= _LEAST_LINES:
                yield pair


def _compared_files(contents: Iterable[tuple[str, bytes]], notes: list[str], path: str = "") -> Iterator[ComparedFile]:
    """The files that can be compared, each with its name; there is a note on each of the others.

    Args:
        path: the file of each submission; empty means that the names are those of files.
    """
    for name, content in contents:
        shown = one_line(name)
        if reason := why_not_compared(content):
            notes.append(f"{shown}: {path} is {reason}; not compared" if path else f"{shown} is {reason}; not compared")
            continue
        file = ComparedFile(name, content)
        if max(map(len, file.lines)) > MOST_COLUMNS:
            longer = f"the first {MOST_COLUMNS} characters are compared"
            notes.append(f"{shown}: of lines of {path}, {longer}" if path else f"of lines of {shown}, {longer}")
        yield file


def _common(files: Files, handed_out: HandedOut) -> Set[int]:
    """The passages that many of a class have."""
    count = Counter(chain.from_iterable(file.passages - handed_out.passages for file in files))
    fewest, most = _COMMON
    limit = max(fewest, min(most, len(files) // 5))
    return {passage for passage, students in count.items() if students > limit}


def _with_enough(files: Iterable[ComparedFile], left_out: Set[int]) -> list[ComparedFile]:
    """The files without some passages, if enough is left."""
    return [rest for file in files if (rest := file.without(left_out)).size >= _LEAST_SIZE]


def _having(files: Files) -> dict[int, list[int]]:
    """The numbers of the files that have a passage."""
    having: dict[int, list[int]] = {}
    for number, file in enumerate(files):
        for passage in file.passages:
            having.setdefault(passage, []).append(number)
    return having
