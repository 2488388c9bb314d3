"""Finds in a list of people whom a name of a file, a folder or a row means.

Never takes one person for another: a name that may be that of several is a question, and so is one that may be longer
than the name that the list has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from grader.intake.names import (
    forms_of,
    id_key,
    is_written_without_spaces,
    joined,
    joined_from_any_word,
    name_key,
    parts_of,
    spelled_words,
    spelling_of,
    words_of,
)
from grader.results import each_once

T = TypeVar("T", bound=Hashable)
K = TypeVar("K", str, tuple[str, ...])

ID, NAME, ALIKE, INSIDE, DOUBT = "id", "name", "alike", "inside", "doubt"
"""How a name was found: by an id, by the exact name, by a name that is spelled differently, by a name inside a longer
text, or not well enough."""
# The fewest characters of an id inside a longer text: a shorter one may be a week, a year or any word.
_DIGITS: Final = 5
_CHARACTERS: Final = 3
_LONGEST: Final = 10
# In how many texts a word must be, at least, to be one of a title.
_TITLED: Final = 3
# Words that people put beside a name.
_ORDINARY: Final = frozenset(
    (
        *("answer", "answers", "assignment", "attempt", "code", "copy", "draft", "exercise", "exercises", "final"),
        *("fixed", "group", "homework", "hw", "ipynb", "lab", "late", "my", "new", "notebook", "part", "problem"),
        *("project", "py", "python", "pytorch", "resubmission", "sheet", "solution", "solutions", "submission"),
        *("task", "tasks", "team", "test", "torch", "unit", "update", "upload", "v", "version", "week", "work"),
    )
)


def _titles_of(texts: Iterable[str]) -> set[str]:
    """The words that most of these texts have, such as those of what was handed in."""
    words = [set(words_of(text)) for text in texts]
    count = Counter(word for one in words for word in one)
    return {word for word, times in count.items() if times >= _TITLED and 2 * times > len(words)}


@dataclass(frozen=True)
class Match(Generic[T]):
    """Whom a name means.

    Attributes:
        people: those whom it may mean; if it is one and not in doubt, it means that one.
        how: `ID`, `NAME`, `ALIKE`, `INSIDE` or `DOUBT`.
        is_spelled_so: whether an id, or the name with its accents, is there.
    """

    people: tuple[T, ...] = ()
    how: str = DOUBT
    is_spelled_so: bool = True

    @property
    def one(self) -> T | None:
        """Whom it means; None if that is nobody, or in doubt."""
        return self.people[0] if len(self.people) == 1 and self.how != DOUBT else None


@dataclass(frozen=True)
class _Span(Generic[T]):
    """Words of a text that are an id or a name: their places, and whose they are."""

    start: int
    end: int
    words: tuple[str, ...]
    people: tuple[T, ...]
    is_name: bool
    is_spelled_so: bool = True

    def is_within(self, other: _Span[T]) -> bool:
        """Whether it is a part of a longer one."""
        return other.start <= self.start and self.end <= other.end and self.end - self.start < other.end - other.start


class PeopleIndex(Generic[T]):
    """People by their ids and names.

    Args:
        people: each with ids, and with the name in one or more forms.
        handles: ids that stand at the end of a repository's name, of any length.
    """

    def __init__(
        self, people: Iterable[tuple[T, Iterable[str], Iterable[str]]], handles: Iterable[tuple[T, str]] = ()
    ) -> None:
        self._by_id: dict[str, list[T]] = {}
        self._by_name: dict[str, list[T]] = {}
        self._by_words_of_id: dict[tuple[str, ...], list[T]] = {}
        self._by_key: dict[tuple[str, ...], list[T]] = {}
        self._by_joined: dict[str, list[T]] = {}
        self._spellings: dict[T, set[tuple[str, ...]]] = {}
        self._words_of: dict[T, set[str]] = {}
        self._words_of_names: set[str] = set()
        self._lengths: set[int] = set()  # of ids that are numbers
        self._handles: dict[tuple[str, ...], T] = {words_of(handle): one for one, handle in handles}
        for person, ids, names in people:
            for one in ids:
                _add(self._by_id, id_key(one), person)
                _add(self._by_words_of_id, words_of(one), person)
                self._lengths |= {len(one)} if one.isdecimal() else set()
            for name in names:
                for form in forms_of(name):
                    _add(self._by_name, form, person)
                _add(self._by_key, name_key(name), person)
                self._spellings.setdefault(person, set()).add(spelling_of(name))
                self._words_of.setdefault(person, set()).update(words_of(name))
                self._words_of_names.update(words_of(name))
                for text in joined_from_any_word(name):
                    _add(self._by_joined, text, person)

    def of_id(self, key: str) -> list[T]:
        """The people with that id."""
        return self._by_id.get(id_key(key), []) if key else []

    def named(self, name: str, *, is_joined: bool = True) -> Match[T]:
        """The people of that name: the exact one, else whatever its accents, its case and the order of its words.

        Args:
            is_joined: whether the space between words does not count, as Canvas leaves it out of the names of files.
        """
        exact = [one for form in forms_of(name) for one in self._by_name.get(form, ())]
        if exact:
            return Match(tuple(dict.fromkeys(exact)), NAME)
        key = name_key(name)
        alike = dict.fromkeys(self._by_key.get(key, ()))
        if is_joined and (len(key) == 1 or not alike):
            alike |= dict.fromkeys(self._by_joined.get(joined(name), ()))
        return Match(tuple(alike), ALIKE, any(self._is_spelled(one, spelling_of(name)) for one in alike))

    def find_all(self, texts: Sequence[str], ordinary: Collection[str] = ()) -> list[Match[T]]:
        """The people whom each text means: as `find` says, with what the texts have in common.

        A word that most of them have, and that contradicts another id or name in one of them, is nobody's id.
        """
        titles = _titles_of(texts)
        found = [self.find(text, {*ordinary, *titles}) for text in texts]
        contradicting = [text for text, match in zip(texts, found, strict=True) if match.people[1:]]
        titles &= {word for text in contradicting for word in words_of(text)}
        return [self.find(text, {*ordinary, *titles}, titles) for text in texts] if titles else found

    def find(self, text: str, ordinary: Collection[str] = (), titles: Collection[str] = ()) -> Match[T]:
        """The people whom a text means: that is an id or a name, or has one inside.

        Args:
            ordinary: words that may stand beside a name, such as those of topics.
            titles: words that are no ids.
        """
        ids, named = self.of_id(text), self.named(text)
        if ids and named.people:
            both = [one for one in ids if one in named.people] or [*ids, *named.people]
            return Match(tuple(dict.fromkeys(both)), ID)
        if ids or named.people:
            return Match(tuple(ids), ID) if ids else named
        return self._inside(text, {*ordinary, *titles}, titles)

    def _inside(self, text: str, ordinary: Collection[str], titles: Collection[str]) -> Match[T]:
        """The people whose id or name is among the words of a text."""
        sure: list[_Span[T]] = []
        doubtful: list[_Span[T]] = []
        has_unknown_id = False
        parts = parts_of(text)
        if not any(any(self._spans(part, words_of(part), titles)) for part in parts):
            parts = [text]  # a name may have brackets
        for part in parts:
            words = words_of(part)
            spans = list(self._spans(part, words, titles))
            spans = [one for one in spans if not any(one.is_within(other) for other in spans)]
            covered = {at for one in spans for at in range(one.start, one.end)}
            rest = [word for at, word in enumerate(words) if at not in covered]
            has_unknown_id |= any(
                _is_long_enough([one]) and len(one) in self._lengths for one in rest if one.isdecimal()
            )
            # Beside a word that nobody knows, a name may be a part of another one.
            is_whole = all(self._is_ordinary(word, ordinary) for word in rest)
            for one in spans:
                may_be_name = one.is_name or self._words_of_names.issuperset(one.words)
                may_be_name &= not all(map(is_written_without_spaces, one.words))
                (sure if is_whole or not may_be_name else doubtful).append(one)
        if has_unknown_id and all(one.is_name for one in sure):  # another person of that name
            sure, doubtful = [], [*sure, *doubtful]
        everybody = each_once(one.people for one in (*sure, *doubtful))
        common = [one for one in everybody if sure and all(one in span.people for span in sure)]
        if len(common) != 1:
            return Match(everybody, INSIDE if len(everybody) > 1 else DOUBT)
        (person,) = common
        if not all(person in one.people or self._words_of.get(person, set()).issuperset(one.words) for one in doubtful):
            return Match(everybody, INSIDE)
        is_by_id = any(not one.is_name for one in sure)
        return Match((person,), ID if is_by_id else INSIDE, is_by_id or any(one.is_spelled_so for one in sure))

    def _spans(self, part: str, words: Sequence[str], titles: Collection[str]) -> Iterator[_Span[T]]:
        """All ids and names in a part of a text."""
        spelled = spelled_words(part)
        for start in range(len(words)):
            for end in range(start + 1, min(start + _LONGEST, len(words)) + 1):
                window = tuple(words[start:end])
                is_handle = window in self._handles and "-" in part and start > 0 and end == len(words)
                is_id = _is_long_enough(window) or (is_handle and not _is_number(window))
                if is_id and not set(window).issubset(titles) and (people := self._by_words_of_id.get(window)):
                    yield _Span(start, end, window, tuple(people), is_name=False)
                if (len(window) > 1 or is_written_without_spaces(window[0])) and (
                    people := self._by_key.get(tuple(sorted(window)))
                ):
                    spelling = tuple(sorted(spelled[start:end])) if len(spelled) == len(words) else ()
                    is_same = any(self._is_spelled(one, spelling) for one in people)
                    yield _Span(start, end, window, tuple(people), is_name=True, is_spelled_so=is_same)
                if len(window) == 1 and self._is_long_name(window[0]) and (people := self._by_joined.get(window[0])):
                    yield _Span(start, end, window, tuple(people), is_name=True, is_spelled_so=False)

    def _is_long_name(self, word: str) -> bool:
        return len(word) >= _DIGITS or is_written_without_spaces(word)

    def _is_ordinary(self, word: str, ordinary: Collection[str]) -> bool:
        """Whether a word is no further word of a name."""
        is_known = word in ordinary or word in _ORDINARY
        return (is_known and word not in self._words_of_names) or any(map(str.isdecimal, word))

    def _is_spelled(self, person: T, spelling: tuple[str, ...]) -> bool:
        return spelling in self._spellings.get(person, ())


def _is_long_enough(window: Sequence[str]) -> bool:
    length = len("".join(window))
    return length >= (_DIGITS if _is_number(window) else _CHARACTERS)


def _is_number(window: Sequence[str]) -> bool:
    return "".join(window).isdecimal()


def _add(index: dict[K, list[T]], key: K, person: T) -> None:
    if key and person not in index.setdefault(key, []):
        index[key].append(person)
