"""Finds the topic of a file: by its name, else by its definitions. Never runs a line of it."""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_DEFINITION = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_PARSING = threading.Lock()  # `catch_warnings` changes the filters of all threads.


@dataclass(frozen=True)
class Topics:
    """The topics of a course and the names of their exercises.

    Attributes:
        names: the topics that have a module.
        files: paths of the other files that are read, such as ``report.md``: those that a person marks.
    """

    names: frozenset[str]
    exercises: Mapping[str, frozenset[str]] = field(default_factory=dict)
    files: frozenset[str] = frozenset()

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
