"""Errors that a user can cause, each with a message of one line; the command line prints them without a traceback.

Never raised for the grader's own faults: those are shown with their traceback.
"""

import difflib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn


class UserError(Exception):
    """A problem that the user can solve.

    Attributes:
        message: the problem in one line.
        fix: the remedy, if there is one thing to do.
    """

    def __init__(self, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.fix)


class CourseError(UserError):
    """A course that cannot be used as it is written; its text is ``path:line: message``.

    Remedy: open the file at that line.

    Attributes:
        file: the file that is wrong.
        line: from 1; None when the whole file is meant, for example when it is missing.
    """

    def __init__(self, file: Path | str, line: int | None, message: str, fix: str | None = None) -> None:
        super().__init__(message, fix)
        self.file = Path(file)
        self.line = line

    def __str__(self) -> str:
        where = str(self.file) if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.message}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.file, self.line, self.message, self.fix)


class UnknownName(UserError):
    """A topic or exercise that the course does not have; the message gives the most similar names.

    Remedy: write ``TOPIC``, ``TOPIC.EXERCISE``, or ``EXERCISE`` if only one topic has it.
    """


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean `x`?`` with the names in `known` that are most similar to `name`; empty when none is similar."""
    similar = difflib.get_close_matches(name, sorted(known), n=3)
    ratios = [difflib.SequenceMatcher(None, match, name).ratio() for match in similar]
    best = [match for match, ratio in zip(similar, ratios, strict=True) if ratio > ratios[0] - 0.1]
    return "; did you mean " + " or ".join(f"`{match}`" for match in best) + "?" if best else ""


def suggest_names(module: ModuleType) -> None:
    """Makes a misspelt ``recipes.mpl`` raise an `AttributeError` that names the most similar function of the module.

    A module that has a ``__getattr__`` of its own keeps it.
    """

    def missing(name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        noun = {"recipes": "recipe", "probes": "probe"}.get(module.__name__.rpartition(".")[2], "function")
        known = [known for known, value in vars(module).items() if callable(value) and not known.startswith("_")]
        raise AttributeError(f"{module.__name__} has no {noun} `{name}`{did_you_mean(name, known)}")

    vars(module).setdefault("__getattr__", missing)
