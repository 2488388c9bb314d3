"""Exceptions of a submission as a suite's test knows them, and those of the test as the submission does."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from grader.border.failures import BUILT_IN_EXCEPTIONS, SubmissionRaised, kind_of, raised_as
from grader.testkit.rebuilt import PLAIN

_RUNS_TESTS: Final = frozenset({"grader", "pytest", "_pytest", "pluggy", "hypothesis", "unittest", "doctest", "bdb"})
"""Packages whose exceptions are none of a submission's: by one of these a test would be left out."""


class Exceptions:
    """Those of one check.

    Args:
        classes: the classes that stand for exceptions of the submission, by name.
    """

    def __init__(self, classes: Mapping[str, type[SubmissionRaised]]) -> None:
        self._classes = classes
        self._bases = {one: one.__bases__ for one in classes.values()}
        self._stood_for: dict[int, tuple[BaseException, SubmissionRaised]] = {}

    def end(self) -> None:
        """Gives the classes the bases back that the solution's have."""
        for kind, bases in self._bases.items():
            kind.__bases__ = bases

    def submissions(self, error: BaseException) -> SubmissionRaised | None:
        """The exception of the submission that a built-in one stands for in the test."""
        return self._stood_for.get(id(error), (None, None))[1]

    def kind_of(self, whole: str) -> type[BaseException] | None:
        """The exception of this process with the name of one over there; nothing is imported because they say so."""
        module, _, name = whole.rpartition(".")
        if module == "builtins":
            return BUILT_IN_EXCEPTIONS.get(name)
        if name in self._classes and module.partition(".")[0] not in _RUNS_TESTS:
            return self._classes[name]
        found = vars(sys.modules.get(module, object)).get(name)
        if not isinstance(found, type) or not issubclass(found, Exception):
            return None
        homes = {one.partition(".")[0] for one in (module, found.__module__)}  # NumPy has unittest's `SkipTest`, too
        return found if homes.isdisjoint(_RUNS_TESTS) else None

    def _bases_in(self, own: Any, classes: Sequence[str]) -> Iterator[type]:
        """The bases of an exception of the solution that the submission's has, too, by the names of its classes."""
        for base in self._bases[own]:
            if base is kind_of("Exception"):  # the solution's is nothing more, or is not known
                built_in = [BUILT_IN_EXCEPTIONS.get(one.removeprefix("builtins."), object) for one in classes]
                kinds = [one for one in built_in if issubclass(one, Exception)]
                yield from (kind_of(one.__name__) for one in kinds if sum(issubclass(kind, one) for kind in kinds) == 1)
                continue
            name = base.__name__.removeprefix("Submission")
            if base in self._bases:
                yield from (
                    (base,) if any(name == one.rpartition(".")[2] for one in classes) else self._bases_in(base, classes)
                )
            elif f"builtins.{name}" in classes or f"{base.__module__}.{name}" in classes:
                yield base

    def known(self, error: SubmissionRaised, classes: Sequence[str], args: Any, fields: Any) -> BaseException:
        """An exception as the test knows it: the built-in one itself, or one of a class of that name."""
        kind = next((one for name in classes if (one := self.kind_of(str(name)))), Exception)
        for own in kind.__mro__:
            if own in self._bases:
                with contextlib.suppress(TypeError):  # another layout in memory
                    own.__bases__ = (*dict.fromkeys(self._bases_in(own, classes)),) or (kind_of("Exception"),)
        is_exact = [*classes[:1]] == [f"builtins.{kind.__name__}"]
        known: Any = _made(kind if is_exact or issubclass(kind, SubmissionRaised) else raised_as(kind), args)
        error.message = error.message or str(error)
        if known is None or str(known) != error.message:
            known = _made(type(kind.__name__, (raised_as(kind),), {"__str__": lambda _: error.message}), args) or error
        if isinstance(known, SubmissionRaised):
            known.kind, known.exact, known.message, known.frames = error.kind, error.exact, error.message, error.frames
        else:
            self._stood_for[id(known)] = known, error
        for name in fields if isinstance(fields, dict) else ():
            if isinstance(name, str) and not name.startswith("_") and name not in SubmissionRaised.__annotations__:
                with contextlib.suppress(AttributeError):
                    setattr(known, name, fields[name])
        return known  # type: ignore[no-any-return]


class Exited(SubmissionRaised, SystemExit):
    """The submission has called ``sys.exit``, which a test may expect."""

    def __init__(self, code: object) -> None:
        super().__init__(code)
        self.code = code if isinstance(code, int | str) else None
        self.kind, self.message = "SystemExit", str(code)


def named(error: BaseException | None) -> tuple[str, str, tuple[Any, ...]]:
    """The class, the text and the arguments of an exception of the test, for the far side; none if all are empty.

    The name of a class of the submission is whole, and of others the arguments are left out.
    """
    if error is None:
        return "", "", ()
    if isinstance(error, SubmissionRaised):
        home, names = getattr(error, "far_place", ("", []))
        args = error.args if home and all(type(one) in PLAIN for one in error.args) else ()
        return ".".join([home, *names]) if home else error.kind, error.message or str(error), args
    kind = next((one.__name__ for one in type(error).__mro__ if one.__module__ == "builtins"), "Exception")
    return kind, text_of(error), ()


def _made(kind: type[BaseException], args: object) -> BaseException | None:
    """An exception with these arguments; None if its class takes others."""
    with contextlib.suppress(Exception):
        return kind(*args) if isinstance(args, tuple) else None
    return None


def text_of(error: BaseException) -> str:
    """What the submission learns of an exception of the test's own function: an assertion names what it expects."""
    return "" if isinstance(error, AssertionError) else str(error)
