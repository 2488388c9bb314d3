"""When two names, or two ids, are taken to be the same. Knows no list of students, and decides nothing else."""

import functools
import re

from grader.text import folded


@functools.lru_cache(maxsize=10_000)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in their order, without accents and in lower case."""
    return tuple(re.findall(r"[^\W_]+", folded(name)))


def name_key(name: str) -> tuple[str, ...]:
    """Equal for two names of the same words, whatever their order."""
    return tuple(sorted(words_of(name)))


def joined(name: str) -> str:
    """Equal for two names whose letters and digits are the same: ``Doe, Jane`` is Canvas's ``doejane``."""
    return "".join(words_of(name))


def joined_from_any_word(name: str) -> set[str]:
    """The words of a name as one, beginning with any of them; none for a single word."""
    words = words_of(name)
    return {"".join(words[at:] + words[:at]) for at in range(len(words)) if words[1:]}


def id_key(text: str) -> str:
    """Equal for two ids that differ in case, or in Moodle's word before a number: ``Participant 7``."""
    return re.sub(r"^participant[ _]", "", text.strip().lower())
