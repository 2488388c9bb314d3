"""A file as passages: pieces of its code in which every name is one letter, and those that are nobody's own.

The only module that imports copydetect, an extra that brings matplotlib, and only when it is called. Submitted code is
never imported or run: it is split into tokens.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import re
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import Any, Final

from grader.course.definitions import lines_in
from grader.errors import UserError

PASSAGE: Final = 25
"""Characters of a passage, in code in which every name is one letter: copydetect's own default."""
MOST_BYTES: Final = 100_000
"""Larger files are not compared."""
MOST_COLUMNS: Final = 500
"""Characters of a line that are compared: a tokenizer takes a minute for a line of a hundred thousand blanks."""
_LEAST_RUN = 3
"""Fewer lines alike one after the other in a function do not count: there are few ways to write it in one line."""
_HEAD = re.compile(r"\s*(?:async\s+def|def|class)\b")


def library() -> Any:
    """The library copydetect.

    Raises:
        UserError: it is not installed.
    """
    try:
        import copydetect.utils
    except ImportError as problem:
        what = f"similar code is found by copydetect, which cannot be imported: {problem}"
        raise UserError(what, fix="pip install 'torchkata[similar]'") from problem
    return copydetect


def why_not_compared(content: bytes) -> str:
    """Why a file cannot be compared; empty if it can."""
    if len(content) > MOST_BYTES:
        return f"larger than {MOST_BYTES // 1000} kB"
    with contextlib.suppress(UnicodeDecodeError):
        if "\0" not in content.decode("utf-8-sig"):
            return ""
    return "not Python text"


class ComparedFile:
    """One file, and the passages of it that count.

    Attributes:
        name: the submission's, or the file's own.
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
        text = "\n".join(self.lines[number - 1][:MOST_COLUMNS] for number in self._numbers)
        # A window of 1 keeps every passage: which ones a larger window keeps depends on the process's own hashes.
        self.code = library().CodeFingerprint("code.py", PASSAGE, 1, language="python", fp=io.StringIO(text))
        if len(self.code.offsets):  # what it notes at the name of a class is not a sum, as the others are
            import numpy

            self.code.offsets[:, 1] = numpy.maximum.accumulate(self.code.offsets[:, 1])
        self.size = int(self.code.token_coverage)

    @property
    def passages(self) -> Set[int]:
        """Hashes, which differ from process to process."""
        return frozenset(self.code.hash_idx)

    def without(self, passages: Set[int]) -> ComparedFile:
        """The same file without some passages.

        copydetect can take a list of passages to leave out; if one occurs twice in a file it leaves out others, too.
        """
        rest = copy.copy(self)
        rest.code = code = copy.copy(self.code)
        code.hash_idx = {passage: places for passage, places in code.hash_idx.items() if passage not in passages}
        code.hashes = set(code.hash_idx)
        code.token_coverage = library().utils.get_token_coverage(code.hash_idx, PASSAGE, len(code.filtered_code))
        rest.size = int(code.token_coverage)
        return rest

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


class HandedOut:
    """Files of the course, which are nobody's own code."""

    def __init__(self, *files: Path) -> None:
        contents = [file.read_bytes() for file in files if file.is_file()]
        forms = [form for content in contents for form in _forms(content) if not why_not_compared(form)]
        self.passages = frozenset[int]().union(*(ComparedFile("", form).passages for form in forms))
        self._lines = {line.strip() for content in contents for line in lines_in(content)}

    def own_lines(self, file: ComparedFile, lines: Iterable[int]) -> frozenset[int]:
        """Those of some lines that are not handed out, if there are several one after the other."""
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
