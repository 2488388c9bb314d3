"""When two names, or two ids, are taken to be the same. Knows no list of students, and decides nothing else.

A key that is empty is no key: it is that of a name without a letter, a digit or a symbol, and equal to none.
"""

import functools
import re
import unicodedata
from typing import Final

from grader.text import folded

# Ends a part of a name: what stands beyond is not a further word of it.
_PARTS: Final = re.compile(r"\s[-\u2013\u2014]+\s|[()\[\]{}]")
# Takes the place of letters that could not be read: nobody's name.
_UNKNOWN: Final = "\ufffd"
_ALPHABETS: Final = ("LATIN ", "GREEK ", "CYRILLIC ")
# Platforms leave these out of the names of files.
_APOSTROPHES: Final = "'\u2018\u2019\u00b4"
_BREAK, _NOTHING, _DIGIT, _LETTER, _OTHER, _MARK = range(6)


def exact_name(name: str) -> str:
    """Equal for two names that are the same, however their accents are encoded and whatever the space in them."""
    return " ".join(unicodedata.normalize("NFC", name).split())


def forms_of(name: str) -> list[str]:
    """A name, exactly; and without the comma that stands behind the family name, if there is one."""
    last, comma, first = exact_name(name).partition(",")
    return [exact_name(name), *([exact_name(f"{first} {last}")] if comma and "," not in first else [])]


@functools.lru_cache(maxsize=50_000)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in their order, `folded`: letters, digits and symbols, between signs and spaces.

    An apostrophe joins what is beside it.

    A number beside letters of a script that is written without spaces is a word of its own. None if a part of the name
    could not be read.
    """
    return () if _UNKNOWN in name else _words(folded(name))


@functools.lru_cache(maxsize=50_000)
def spelled_words(name: str) -> tuple[str, ...]:
    """The words of a name in their order, with their accents and in lower case."""
    return _words(unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()))


def spelling_of(name: str) -> tuple[str, ...]:
    """Equal for two names of the same words with the same accents, whatever their order and case."""
    return tuple(sorted(spelled_words(name)))


def name_key(name: str) -> tuple[str, ...]:
    """Equal for two names of the same words, whatever their order, and their case and accents as `folded` says."""
    return tuple(sorted(words_of(name)))


def joined(name: str) -> str:
    """Equal for two names whose letters and digits are the same: ``Doe, Jane`` is Canvas's ``doejane``."""
    return "".join(words_of(name))


def joined_from_any_word(name: str) -> set[str]:
    """The words of a name as one, beginning with any of them, with and without symbols; none for a single word.

    Canvas writes so in the names of files, and leaves symbols out.
    """
    words = words_of(name)
    plain = tuple(filter(None, ("".join(one for one in word if not _is_symbol(one)) for word in words)))
    forms = [form for form in {words, plain} if form[1:]]
    return {"".join(form[at:] + form[:at]) for form in forms for at in range(len(form))}


def _is_symbol(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character)[0] == "S"


def parts_of(name: str) -> list[str]:
    """The parts of a file's or folder's name between brackets and dashes: ``vectors`` and ``Ann Lee``."""
    return [part for part in _PARTS.split(name) if part.strip()]


def id_key(text: str) -> str:
    """Equal for two ids that differ in case."""
    return unicodedata.normalize("NFC", text.strip()).lower()


def is_written_without_spaces(word: str) -> bool:
    """Whether a word is of a script in which a whole name may be one word, such as Chinese or Korean."""
    return len(word) > 1 and all(unicodedata.name(one, "").startswith(_ONE_WORD) for one in word)


_ONE_WORD: Final = ("CJK ", "HANGUL ", "HIRAGANA ", "KATAKANA ")


def _words(text: str) -> tuple[str, ...]:
    if text.isascii():
        return tuple(re.findall(r"[^\W_]+", text.replace("'", "")))
    words = [""]
    last = _BREAK
    for one in text:
        kind = _kind(one)
        if kind == _NOTHING:
            continue
        if kind == _MARK:
            kind = _OTHER if last == _BREAK else last
        if kind == _BREAK or {kind, last} == {_DIGIT, _OTHER}:
            words.append("")
        if kind != _BREAK:
            words[-1] += one
        last = kind
    return tuple(filter(None, words))


@functools.lru_cache(maxsize=10_000)
def _kind(character: str) -> int:
    category = unicodedata.category(character)
    is_modifier = "\u02b0" <= character <= "\u02ff"  # such as an apostrophe that counts as a letter
    if is_modifier or character in _APOSTROPHES:
        return _NOTHING
    if character.isascii():
        return _DIGIT if character.isdigit() else _LETTER if character.isalpha() else _BREAK
    if category == "Cf" or "\ufe00" <= character <= "\ufe0f":  # joins letters, or says how a symbol looks
        return _NOTHING
    if category[0] in "PZC":
        return _BREAK
    if category[0] == "M":
        return _MARK
    if category == "Nd":
        return _DIGIT
    return _LETTER if unicodedata.name(character, "").startswith(_ALPHABETS) else _OTHER
