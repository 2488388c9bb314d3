"""Which submissions of a class have code that is much alike, topic by topic. Reads files; decides nothing."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

from grader.course import Course
from grader.reports.entries import Entry
from grader.similar.fingerprints import Fingerprint, compare, fingerprint, library, why_not, without
from grader.text import counted, one_line

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


@dataclass(frozen=True)
class Side:
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


@dataclass(frozen=True)
class Pair:
    """Two submissions and what is alike in one topic; `size` is in characters, names counted as one each."""

    topic: str
    first: Side
    second: Side
    size: int

    @property
    def share(self) -> float:
        """The larger share: code that was taken over as a part of more code counts."""
        return max(self.first.share, self.second.share)


@dataclass(frozen=True)
class Findings:
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
    library()
    pairs: list[Pair] = []
    notes: list[str] = []
    compared: set[int] = set()
    for topic in course.modules:
        found = _Topic(topic.name, entries, course)
        pairs += found.pairs(least)
        notes += found.notes
        compared.update(found.prints)
    pairs.sort(key=lambda one: (-one.share, -one.size, one.topic, one.first.name, one.second.name))
    return Findings(tuple(pairs), len(entries), len(compared), tuple(notes), least)


class _Topic:
    """One topic's file of every submission that has enough of its own; `prints` is by the number of the entry."""

    def __init__(self, topic: str, entries: Sequence[Entry], course: Course) -> None:
        self.notes: list[str] = []
        self._topic = topic
        self._entries = entries
        given = [form for content in self._given(course) for form in forms(content) if not why_not(form)]
        self._lines = {line.strip() for content in given for line in fingerprint(content).lines}
        self._texts: dict[int, bytes] = {}
        handed_out = frozenset[int]().union(*(fingerprint(content).passages for content in given))
        everything = {number: without(one, handed_out) for number, one in self._read()}
        count = Counter(passage for one in everything.values() for passage in one.passages)
        fewest, most = _COMMON
        limit = max(fewest, min(most, len(everything) // 5))
        common = {passage for passage, students in count.items() if students > limit}
        own = {number: without(one, common) for number, one in everything.items()}
        self.prints = {number: one for number, one in own.items() if one.size >= _LEAST_SIZE}

    def pairs(self, least: float) -> Iterator[Pair]:
        """The pairs of which at least this share of one is alike."""
        for one, other in self._candidates(least):
            size, shares, lines = compare(self.prints[one], self.prints[other])
            own = [self._own(n, where) for n, where in zip((one, other), lines, strict=True)]
            if size >= _LEAST_SIZE and max(shares) >= least and min(map(len, own)) >= _LEAST_LINES:
                first, second = (
                    Side(self._entries[n].result.submission, share, where, self._texts[n])
                    for n, share, where in zip((one, other), shares, own, strict=True)
                )
                yield Pair(self._topic, first, second, size)

    def _candidates(self, least: float) -> list[tuple[int, int]]:
        """Pairs with enough passages in common: half the share that is asked for, as passages overlap."""
        having: dict[int, list[int]] = {}
        for number, one in self.prints.items():
            for passage in one.passages:
                having.setdefault(passage, []).append(number)
        shared = Counter(pair for numbers in having.values() for pair in combinations(numbers, 2))
        found = {
            pair: part
            for pair, both in shared.items()
            if (part := both / min(len(self.prints[number].passages) for number in pair)) >= least / 2
        }
        ranked = sorted(found, key=lambda pair: (-found[pair], pair))
        sums = accumulate(shared[pair] for pair in ranked)
        most = max(sum(total <= _MOST_SHARED for total in sums), 1)
        if ranked[most:]:
            self.notes.append(f"{self._topic}: of {len(ranked)} pairs with much in common, {most} were compared")
        return ranked[:most]

    def _given(self, course: Course) -> Iterator[bytes]:
        """What the course itself has for this topic."""
        solution = course.solution_file(self._topic)
        if not solution.is_file():
            self.notes.append(f"{self._topic}: the course has no reference solution here; only the stub is taken away")
        for file in (course.stub_file(self._topic), solution):
            if file.is_file():
                yield file.read_bytes()

    def _read(self) -> Iterator[tuple[int, Fingerprint]]:
        """The submissions with this topic, each with all passages of its file."""
        for number, entry in enumerate(self._entries):
            content = entry.files().get(f"{self._topic}.py")
            if content is None:
                continue
            if reason := why_not(content):
                self.notes.append(f"{one_line(entry.result.submission)}: {self._topic}.py is {reason}; not compared")
                continue
            self._texts[number] = content
            yield number, fingerprint(content)

    def _own(self, number: int, lines: Iterable[int]) -> frozenset[int]:
        """The lines that stub and solution do not have, if there are several one after the other."""
        text = self.prints[number].lines
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


def summary(findings: Findings) -> str:
    """How many pairs of how many submissions, in a sentence."""
    those = counted(len(findings.pairs), "pair")
    of = counted(findings.submissions, "submission")
    enough = f"{findings.compared} of {of} have enough code of their own to compare"
    return f"{those} at least {findings.least:.0%} alike in a topic; {enough}"


_WITH_BODY = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def forms(content: bytes) -> Iterator[bytes]:
    """The file as it is, and without docstrings, without type hints, and without both."""
    yield content
    for docstrings, hints in ((False, True), (True, False), (False, False)):
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError):
            return
        if not docstrings:
            _drop_docstrings(tree)
        yield ast.unparse(tree if hints else ast.fix_missing_locations(_WithoutHints().visit(tree))).encode()


def _drop_docstrings(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, _WITH_BODY) and ast.get_docstring(node, clean=False) is not None:
            rest = node.body[1:]
            node.body = rest or ([] if isinstance(node, ast.Module) else [ast.Pass()])


class _WithoutHints(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        return node if node.value is None else ast.Assign(targets=[node.target], value=node.value)
