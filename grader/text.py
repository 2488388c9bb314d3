"""Small functions for text that people read: numbers with nouns, articles, points, and text made harmless.

`clean` is the only place where text from submissions is made harmless for a terminal, a log or a page.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

BY_HAND: Final = "✎"
"""Stands before what a person marks, or gave."""
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|[\x1b\x9d]\]?[^\x07\x1b\x9c\x9d\n]*(?:\x07|\x1b\\|\x9c)"  # OSC and other strings: titles, links, clipboard
    r"|\x1b[ -/]*[0-~]"  # two-character escapes
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 except tab and newline, DEL, C1
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # invisible, or changing the writing direction
    "\ud800-\udfff\ufffe\uffff]"  # surrogates cannot be encoded, and XML does not allow U+FFFE
)
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]{6,16}\b")
_ROOM = re.compile(r"(?:/[\w.+-]{1,200}){0,20}/torchkata-suite-\w{1,20}/course/")
_TMP_PATH = re.compile(
    r"(?:/[\w.+-]{1,200}){0,20}/(?:torchkata-suite-\w{1,20}/temporary|pytest-of-[\w.-]{1,100}/pytest-\d{1,9})/[\w.+-]{1,200}"
)
_COMMAND = re.compile(r"##(\w*)\[")
_COMMAND_LINE = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)


_PLAIN_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
_WITH_ACCENTS = ("LATIN ", "GREEK ", "CYRILLIC ")


def folded(text: str) -> str:
    """The text in lower case, without the accents of Latin, Greek and Cyrillic letters.

    In other scripts a mark is a letter: without it, two names would be one.
    """
    if text.isascii():
        return text.lower()
    kept = []
    has_accents = False
    lower = unicodedata.normalize("NFKD", text).casefold()
    for one in unicodedata.normalize("NFKD", lower):
        if not unicodedata.combining(one):
            has_accents = unicodedata.name(one, "").startswith(_WITH_ACCENTS)
        elif has_accents:
            continue
        kept.append(one)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_PLAIN_LETTERS)


def clean(text: str) -> str:
    """The text without terminal escape sequences; each control character except a newline becomes ``\\ufffd``.

    Commands of CI systems are made harmless by a space: ``::command::`` at the start of a line, ``##[command]``
    anywhere. Tabs become spaces.
    """
    if text.isascii() and text.isprintable() and "##" not in text and "::" not in text:
        return text  # nearly all text, and three times as fast
    text = printable(text.replace("\r\n", "\n").expandtabs(4))
    return _COMMAND_LINE.sub(r"\1: ", _COMMAND.sub(r"## \1[", text))


def without_addresses(text: str) -> str:
    """The text without what differs from run to run: addresses of objects (``<Net object>``) and temporary folders.

    A path in the judge's copy of a suite begins in the course, one of a test's own folder with ``tmp_path``.
    """
    if "/pytest-" in text or "/torchkata-suite-" in text:
        text = _ROOM.sub("", _TMP_PATH.sub("tmp_path", text))
    return _ADDRESS.sub("", text)


def printable(text: str) -> str:
    """The text without terminal escape sequences; each control character except newline and tab becomes ``\\ufffd``."""
    return _CONTROL.sub("\ufffd", _ESCAPES.sub("", text))


def one_line(text: str, width: int = 120) -> str:
    """Text from a submission (such as its name) made harmless, on one line, with at most `width` characters."""
    text = clean(text[: 4 * width]).replace("\n", "\ufffd")
    return text if len(text) <= width else text[: width - 1] + "…"


def percent(score: float, maximum: float) -> float | None:
    """The score in percent, rounded to one decimal; None when nothing could be assessed (maximum 0).

    It is 100 only where nothing is missing, and 0 only where there is nothing.
    """
    if maximum <= 0:
        return None
    rounded = math.floor(score / maximum * 1000 + 0.5 + 1e-9) / 10
    if 0 < score < maximum:
        return min(max(rounded, 0.1), 99.9)
    return rounded


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """A number with its noun: ``1 line``, ``2 lines``, ``1.5 points``.

    Args:
        plural: needed where the plural is not the noun with an s.
    """
    text = str(number) if isinstance(number, int) else f"{number:g}"
    return f"{text} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """The first names of a list on one line, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if names[most:] else "")


def by_kind(remarks: Iterable[tuple[str, str]], most: int = 3) -> list[str]:
    """Places with remarks, a line for each kind of remark: the first one, and the next places where it is true.

    Of a kind are those that differ in numbers, and in what is in backticks, alone.
    """
    kinds: dict[str, list[tuple[str, str]]] = {}
    for place, text in remarks:
        kinds.setdefault(re.sub(r"`[^`]*`|\d+", "", text), []).append((place, text))
    lines = []
    for (place, text), *others in kinds.values():
        names = [re.findall(r"`[^`]*`|$", one)[0] if at == place else at.rpartition("/")[2] for at, one in others]
        shown = ", ".join([*filter(None, names[:most]), *["…"] * (len(others) > most)])
        lines.append(f"{place}: {text}" + (f" ({len(others)} more: {shown})" if others else ""))
    return lines


def named(people: Sequence[str], most: int) -> str:
    """The first of some people on one line, and how many more there are. Names have commas: ``Lee, Ann; Kim, Bo``."""
    return "; ".join(people[:most]) + (f" and {len(people) - most} more" if people[most:] else "")


def points(score: float, maximum: float) -> str:
    """Points of a maximum, with at most two decimals: ``2/2``, ``1.5/2``."""
    return f"{round(score, 2):g}/{round(maximum, 2):g}"


def progress_bar(score: float, maximum: float, width: int) -> str:
    """``████░░░░``; full only when all points are there."""
    filled = min(int(width * score / maximum + 1e-9), width) if maximum > 0 else 0
    return "█" * filled + "░" * (width - filled)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows of a table as lines; the first column is words, the others stand at their right edge."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]


def duration(seconds: float) -> str:
    """A time in words: ``2 min 5 s``."""
    whole = max(1, round(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def with_article(name: str) -> str:
    """``a Tensor``, ``an OrderedDict``: a type's name with the right article."""
    start = name.lower()
    vowel = start.startswith(("a", "e", "i", "o", "u")) and not start.startswith(("eu", "uni", "us"))
    return f"{'an' if vowel else 'a'} {name}"
