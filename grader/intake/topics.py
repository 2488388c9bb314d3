"""Finds the topic of a file: by its name, else by its definitions. Never runs a line of it."""

from __future__ import annotations

import ast
import hashlib
import re
import threading
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from grader.course.definitions import defined_names, lines_in, untouched_names

AS_HANDED_OUT: Final = "it is as it was handed out"
_SEVERAL: Final = 3
_WORD: Final = re.compile(r"[^\W\d]\w*")
_IMPORT: Final = re.compile(r"(?:from|import)\s")
_DEFINITION = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_COMMENTED = re.compile(r"^[ \t]*#[# \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)[ \t]*[(:]", re.MULTILINE)
_PARSING = threading.Lock()  # `catch_warnings` changes the filters of all threads.


@dataclass(frozen=True)
class Topics:
    """The topics of a course and the names of their exercises.

    Attributes:
        names: the topics that have a module.
        files: paths of the other files that are read, such as ``report.md``: those that a person marks.
        stubs: the module of each topic as it was handed out.
        solutions: SHA-256 of the course's own modules.
    """

    names: frozenset[str]
    exercises: Mapping[str, frozenset[str]] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    stubs: Mapping[str, bytes] = field(default_factory=dict)
    solutions: frozenset[bytes] = frozenset()

    @classmethod
    def of(cls, topics: Topics | Iterable[str] | Mapping[str, Iterable[str]]) -> Topics:
        """From names alone, or from names and their exercises."""
        if isinstance(topics, Topics):
            return topics
        if isinstance(topics, Mapping):
            return cls(frozenset(topics), {name: frozenset(inside) for name, inside in topics.items()})
        return cls(frozenset(topics))

    def named(self, stem: str) -> str | None:
        """The topic that a file's name contains, the longest of several; only letters and digits count, in any case."""
        plain = _plain(stem)
        found = [topic for topic in self.names if _plain(topic) in plain]
        longest = max(map(len, found), default=0)
        best = [topic for topic in found if len(topic) == longest]
        return best[0] if len(best) == 1 else None

    def is_wanted(self, path: str) -> bool:
        """Whether a file that is no code may be one of `files`: it has the name of one, in any case."""
        return path.rpartition("/")[2].lower() in {file.rpartition("/")[2].lower() for file in self.files}

    def defined(self, content: bytes) -> dict[str, list[str]]:
        """The exercises that a module defines at its top level, by topic; a name of two topics counts for neither."""
        count = Counter(name for inside in self.exercises.values() for name in inside)
        here = [name for name in definitions(content) if count[name] == 1]
        found = {topic: [name for name in here if name in inside] for topic, inside in self.exercises.items()}
        return {topic: names for topic, names in found.items() if names}

    def is_solution(self, content: bytes) -> bool:
        """Whether a module is the course's own."""
        return hashlib.sha256(content).digest() in self.solutions

    def why_not_own(self, topic: str, content: bytes) -> str:
        """Why a module holds nothing of a topic that a student wrote, as far as its lines tell; empty if it does."""
        code = code_lines(content)
        if not code:
            return "it is empty"
        exercises = self.exercises.get(topic, frozenset())
        defined = exercises.intersection(defined_names(lines_in(content)))
        if exercises and not defined:
            return f"it defines none of the exercises ({', '.join(sorted(exercises)[:3])}, …)"
        stub = self.stubs.get(topic, b"")
        return AS_HANDED_OUT if defined and defined <= untouched_names(content, stub) else ""

    def has_more_code(self, topic: str, content: bytes) -> bool:
        """Whether a module has several lines of code that the topic's stub has not, imports aside."""
        known = set(code_lines(self.stubs.get(topic, b"")))
        more = [line for line in code_lines(content) if line not in known and not _IMPORT.match(line)]
        return len(more) >= _SEVERAL

    def in_comments(self, topic: str, content: bytes) -> str:
        """The first exercise of a topic that a module defines in comments only; empty if there is none."""
        exercises = self.exercises.get(topic, frozenset())
        return next((name for name in _COMMENTED.findall(content.decode("utf-8", "replace")) if name in exercises), "")

    def is_named_in(self, topic: str, content: bytes) -> bool:
        """Whether any exercise of a topic is named in the code of a module, at the top level or inside of anything."""
        words = {word for line in code_lines(content) for word in _WORD.findall(line)}
        return not words.isdisjoint(self.exercises.get(topic, frozenset()))


def code_lines(content: bytes) -> list[str]:
    """The lines of a module that are neither blank nor a comment alone, without the space around them."""
    lines = (line.strip() for line in lines_in(content))
    return [line for line in lines if line and not line.startswith("#")]


def definitions(content: bytes) -> list[str]:
    """Names of the functions and classes at the top level, read line by line: also if the file cannot be parsed."""
    return list(dict.fromkeys(_DEFINITION.findall(content.decode("utf-8", "replace"))))


def parse(content: bytes | str) -> ast.Module:
    """The syntax tree, without a warning.

    Raises:
        SyntaxError: it cannot be parsed, for example because it nests too deeply or holds null bytes.
    """
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(content)
        except (ValueError, RecursionError, MemoryError) as problem:
            raise SyntaxError(str(problem) or type(problem).__name__) from None


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())
