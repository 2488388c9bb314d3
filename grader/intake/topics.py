"""Finds the topic of a file: by its name, else by its definitions. Never runs a line of it."""

from __future__ import annotations

import ast
import functools
import hashlib
import itertools
import re
import threading
import warnings
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from grader.course.definitions import defined_names, lines_in, untouched_names
from grader.intake.by_hand import may_be_by_hand

AS_HANDED_OUT: Final = "it is as it was handed out"
_SEVERAL: Final = 3
_IMPORT: Final = re.compile(r"(?:from|import)\s")
_IMPORTED: Final = re.compile(r"(?:from|import)\s+(\w+)")
_ANYWHERE = re.compile(r"(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)[ \t]*[(:]|(\w+)[ \t]*=[ \t]*lambda\b")
# The space before a line, with the signs of a comment, a quotation or a patch.
_MARGIN = re.compile(r"[ \t]*(?:[#>+][#> \t]*)?")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]*>")
_PARSING = threading.Lock()  # `catch_warnings` changes the filters of all threads.


@dataclass(frozen=True)
class Topics:
    """The topics of a course and the names of their exercises.

    Attributes:
        names: the topics that have a module.
        files: paths of the other files that are read, such as ``report.md``: those that a person marks.
        stubs: the module of each topic as it was handed out.
        solutions: the `fingerprint` of the course's solutions and misconceptions.
        modules_by_hand: the modules that a person marks, too.
        templates: those of `files` that students began with.
        texts: the text in the notebooks that are handed out.
        packages: folders that students write.
        homes: the path of a module in the folder of a suite, by its own.
    """

    names: frozenset[str]
    exercises: Mapping[str, frozenset[str]] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    stubs: Mapping[str, bytes] = field(default_factory=dict)
    solutions: frozenset[bytes] = frozenset()
    modules_by_hand: frozenset[str] = frozenset()
    templates: Mapping[str, bytes] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    packages: frozenset[str] = frozenset()
    homes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, topics: Topics | Iterable[str] | Mapping[str, Iterable[str]]) -> Topics:
        """From names alone, or from names and their exercises."""
        if isinstance(topics, Topics):
            return topics
        exercises = topics if isinstance(topics, Mapping) else {}
        return cls(frozenset(topics), {name: frozenset(inside) for name, inside in exercises.items()})

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

    def may_be_by_hand(self, path: str) -> bool:
        """Whether a file that is no code may be the work that a person marks, in one of `files` or by another name."""
        return bool(self.files) and may_be_by_hand(path, self.files)

    @property
    def by_hand(self) -> frozenset[str]:
        """Every file that a person marks."""
        return self.files | self.modules_by_hand

    @functools.cached_property
    def stems_by_hand(self) -> frozenset[str]:
        """The names without their ends of the files that a person marks, modules aside."""
        return frozenset(PurePosixPath(file).stem.lower() for file in self.files)

    def given(self, topic: str) -> set[str]:
        """The names that a stub defines and that are no exercises of it, such as a loop that is handed out."""
        return {*defined_names(lines_in(self.stubs.get(topic, b"")))} - self.exercises.get(topic, frozenset())

    @functools.cached_property
    def _given(self) -> Counter[str]:
        return Counter(name for topic in self.stubs for name in self.given(topic))

    def defined(self, content: bytes) -> dict[str, list[str]]:
        """The exercises that a module defines at its top level, by topic; a name of two topics counts for neither."""
        count = Counter(name for inside in self.exercises.values() for name in inside) + self._given
        here = [name for name in defined_names(lines_in(content)) if count[name] == 1]
        found = {topic: [name for name in here if name in inside] for topic, inside in self.exercises.items()}
        return {topic: names for topic, names in found.items() if names}

    def answered(self, topic: str, content: bytes) -> dict[str, bool]:
        """The exercises that a module defines at its top level, with a statement that the stub has not.

        Returns:
            By name, whether the last definition has one: else a stub comes below the answer.
        """
        exercises = self.exercises.get(topic, frozenset())
        stub = self.stubs.get(topic, b"")
        if content == stub:
            return {}
        try:
            mine, handed_out = _statements(content), _statements(stub)
        except SyntaxError:
            there = exercises.intersection(defined_names(lines_in(content))) - untouched_names(content, stub)
            return dict.fromkeys(there, True)
        found = {}
        for name in exercises & mine.keys():
            is_own = [name not in handed_out or bool(one - handed_out[name][-1]) for one in mine[name]]
            if any(is_own):
                found[name] = is_own[-1]
        return found

    def written(self, topic: str, content: bytes) -> set[str]:
        """The exercises that a module has an answer to."""
        return {name for name, is_last in self.answered(topic, content).items() if is_last}

    def has_link_only(self, topic: str, text: str) -> bool:
        """Whether a text has a link that is not in the stub, and hardly anything else: the work may lie there."""
        handed_out = {line.strip() for line in lines_in(self.stubs.get(topic, b""))}
        lines = [line for line in map(str.strip, text.splitlines()) if line and line not in handed_out]
        return len(lines) <= _SEVERAL and any("://" in line for line in lines)

    def answers(self, topic: str, content: bytes) -> int:
        """How many exercises of a topic a module has answers to; of a topic without known exercises: 1 for any code."""
        return len(self.written(topic, content)) if topic in self.exercises else min(len(code_lines(content)), 1)

    def why_not_own(self, topic: str, content: bytes) -> str:
        """Why a module holds nothing of a topic that a student wrote; empty if it does."""
        exercises = self.exercises.get(topic, frozenset())
        if not code_lines(content):
            return "it is empty"
        if not exercises or self.written(topic, content):
            return ""
        defined = exercises.intersection(defined_names(lines_in(content)))
        if not defined:
            more = ", …" if len(exercises) > _SEVERAL else ""
            return f"it defines none of the exercises ({', '.join(sorted(exercises)[:_SEVERAL])}{more})"
        untouched = defined <= untouched_names(content, self.stubs.get(topic, b""))
        return AS_HANDED_OUT if untouched else "it has the stubs of exercises only"

    def at_top(self, content: bytes) -> Container[str]:
        """The names that a module defines at its top level."""
        try:
            return _statements(content)
        except SyntaxError:
            return defined_names(lines_in(content))

    def has_more_code(self, content: bytes) -> bool:
        """Whether a module has several lines of code that no stub has, imports and calls of `check` in cells aside."""
        known = {"pass"}.union(*map(code_lines, self.stubs.values()))
        more = [line for line in code_lines(content) if line not in known and not _IMPORT.match(line)]
        return len(more) >= _SEVERAL

    def hidden_in(self, topic: str, text: str, at_top: Container[str] = (), path: str = "") -> tuple[str, bool]:
        """The first exercise of a topic that a text defines in any place, with a line that the stub has not.

        Args:
            at_top: the names whose definitions at the top level of the text are left out.
            path: the text's file; if it is another topic's, names that the stub of that topic defines are left out.

        Returns:
            Its name, and whether it is in comments; an empty name if there is none.
        """
        exercises = {name for name in self.exercises.get(topic, ()) if name in text}
        home = PurePosixPath(path).stem
        if exercises and home != topic:
            exercises -= {one.name for one in _definitions(self.stubs.get(home, b"").decode("utf-8", "replace"))}
        if exercises:
            stub = {_bare(line) for line in lines_in(self.stubs.get(topic, b""))}
            for one in _definitions(text):
                is_hidden = one.name in exercises and (one.margin or one.name not in at_top)
                if is_hidden and not one.lines <= stub:
                    return one.name, "#" in one.margin
        return "", False


class _FoundDefinition(NamedTuple):
    """What may be a definition, with the space and the signs before it, and its lines without those."""

    name: str
    margin: str
    lines: set[str]


@functools.lru_cache(maxsize=64)
def _definitions(text: str) -> list[_FoundDefinition]:
    """All that may be a definition in any place of a text: in comments, quotations, patches, pages."""
    lines = _TAG.sub("", text).splitlines()
    found = []
    for at, line in enumerate(lines):
        margin = _margin(line)
        if match := _ANYWHERE.match(line, len(margin)):
            inside = {_bare(line)}
            for below in itertools.islice(lines, at + 1, None):
                if _bare(below) and len(_margin(below)) <= len(margin):
                    break
                inside.add(_bare(below))
            found.append(_FoundDefinition(match[1] or match[2], margin, inside - {""}))
    return found


def _margin(line: str) -> str:
    found = _MARGIN.match(line)
    return found[0] if found else ""


def _bare(line: str) -> str:
    return line[len(_margin(line)) :].strip()


def fingerprint(content: bytes) -> bytes:
    """A digest of a file that stays the same if its line ends or its white space change."""
    return hashlib.sha256(b" ".join(content.split())).digest()


@functools.lru_cache(maxsize=64)
def code_lines(content: bytes) -> tuple[str, ...]:
    """The lines of a module that are neither blank nor a comment alone, without the space around them."""
    lines = (line.strip() for line in lines_in(content))
    return tuple(line for line in lines if line and not line.startswith("#"))


@functools.lru_cache(maxsize=64)
def _statements(content: bytes) -> Mapping[str, list[frozenset[str]]]:
    """The statements of all definitions of a name at the top level, without docstrings and those that do nothing.

    Raises:
        SyntaxError: the module cannot be parsed.
    """
    found: dict[str, list[frozenset[str]]] = {}
    lines = [line.strip() for line in lines_in(content)]
    for node in parse(content).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names = [name]
            case ast.Assign(targets=targets):
                names = [one.id for one in targets if isinstance(one, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                names = [name]
            case _:
                continue
        inside = frozenset("\n".join(lines[one.lineno - 1 : one.end_lineno]) for one in _statements_in(node))
        for name in names:
            found.setdefault(name, []).append(inside)
    return found


def statements_below(node: ast.AST) -> Iterator[ast.stmt]:
    """A statement, if it is one, and all inside of it; `ast.walk` would visit each expression, too."""
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.stmt):
            yield one
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            waiting += getattr(one, part, ())


def _statements_in(node: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and all inside of it that a stub would not have."""
    for one in statements_below(node):
        match one:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Pass():
                pass
            case ast.Expr(value=ast.Constant()) | ast.Return(value=None | ast.Constant(value=None)):
                pass
            case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
                pass
            case _:
                yield one


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


def imported_by(content: bytes) -> set[str]:
    """The first names of the modules that a module imports."""
    return {found[1] for found in map(_IMPORTED.match, code_lines(content)) if found is not None}


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())
