"""The situations of a check, in words of its exercise: which ones passed, and which one it was in when it failed.

A check goes through *cases*: one example after the other, and within an example one after the other if its body names
another situation, or makes another model. What is common to the cases that failed, and to none that passed, is the
first thing that a student reads; `grader.judge.situations` finds it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

IN_WORDS: Final = "_grader_in_words"
"""The attribute of a recipe that holds the function which says its situation in words."""
MOST_CASES: Final = 200
"""Passed cases of one example that are kept."""

F = TypeVar("F", bound=Callable[..., Any])
Words = Mapping[str, object]
"""Each phrase, such as ``with a last batch that is shorter``, and whether it is true of the case."""


class Case(msgspec.Struct, frozen=True):
    """The phrases that are true of one case, those that say most first, and whether it passed.

    Attributes:
        facts: what is true of the generated tensors, which nobody has written down as a situation.
        made: those of the phrases that come from recipes, and not from the check itself.
    """

    phrases: tuple[str, ...]
    passed: bool
    facts: tuple[str, ...] = ()
    made: tuple[str, ...] = ()


class Situation(NamedTuple):
    """The phrases that are true of one case, and those of them that come from recipes."""

    phrases: tuple[str, ...]
    made: tuple[str, ...]


class Cases:
    """The cases of the running example of a check.

    Attributes:
        passed: the situations of those that are over.
        is_forgotten: whether the example turned out to be none.
    """

    def __init__(self) -> None:
        self.passed: list[Situation] = []
        self.is_forgotten = False
        self._named: tuple[str, ...] | None = None
        self._made: dict[str, tuple[str, ...]] = {}

    def current(self) -> Situation:
        """The situation of the case that the check is in."""
        named = self._named or ()
        made = [phrase for phrases in self._made.values() for phrase in phrases if phrase not in named]
        return Situation(tuple(dict.fromkeys([*named, *made])), tuple(dict.fromkeys(made)))

    def name(self, words: Words) -> None:
        """The check says the situation of the case that begins, or of the one that has begun without a name."""
        if self._named is not None:
            self._begin()
        self._named = _true(words)

    def make(self, recipe: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]) -> None:
        """A recipe makes something for the case; the same one again makes it for the next case."""
        words = words_of(recipe, args, kwargs)
        if words is not None:
            self.add(f"{recipe.__module__}.{recipe.__qualname__}", words)

    def add(self, source: str, words: Words) -> None:
        """As `make`, of another source than a recipe."""
        if source in self._made:
            self._begin()
        self._made[source] = _true(words)

    def forget(self) -> None:
        """Forgets all cases of the example: the check does not want it."""
        self.passed.clear()
        self.is_forgotten = True

    def _begin(self) -> None:
        if len(self.passed) < MOST_CASES:
            self.passed.append(self.current())
        self._named = None
        self._made.clear()


def _true(words: Words) -> tuple[str, ...]:
    return tuple(phrase for phrase, is_true in words.items() if is_true)


def in_words(words: Callable[..., Words]) -> Callable[[F], F]:
    """Lets a recipe say its situation, for checks that hand over its result.

    Args:
        words: gets the recipe's own arguments; objects of the submission are handles there.
    """

    def decorate(recipe: F) -> F:
        recipe.__dict__[IN_WORDS] = words
        return recipe

    return decorate


def words_of(recipe: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]) -> Words | None:
    """The situation of a recipe's result; None if it has no words for it."""
    words: Callable[..., Words] | None = getattr(recipe, "__dict__", {}).get(IN_WORDS)
    return None if words is None else words(*args, **kwargs)
