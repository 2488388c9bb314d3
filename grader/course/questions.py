"""Questions that a topic asks once: what will a line give? Compares what is typed with what the line gave.

Never runs a line: `grading/questions.py` does, in a new Python. Decides no verdict.
"""

import math
import re
from fractions import Fraction
from typing import Final, Literal

Ask = Literal["shape", "dtype", "number", "text"]

WORDS: Final[dict[Ask, str]] = {
    "shape": "Which shape does it have?",
    "dtype": "Which dtype does it have?",
    "number": "Which number is it?",
    "text": "What does it print?",
}
_ALIASES: Final = {"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64"}
_CLOSE: Final = 1e-2
"""How far a number may be off, as a part of it: nobody should need a calculator."""
_SHAPE: Final = re.compile(r"(?:torch\.)?(?:size)?[(\[\s]*([\d,x×\s]*?)[)\]\s]*", re.IGNORECASE)


def is_right(ask: Ask, typed: str, answer: str) -> bool:
    """Whether what was typed means the answer, in any usual way of writing it."""
    typed = typed.strip()
    match ask:
        case "shape":
            given, right = _shape(typed), _shape(answer)
            return given is not None and given == right
        case "dtype":
            return _dtype(typed) == _dtype(answer)
        case "number":
            given_number, number = _number(typed), _number(answer)
            if given_number is None or number is None:
                return False
            return (math.isnan(given_number) and math.isnan(number)) or math.isclose(
                given_number, number, rel_tol=_CLOSE, abs_tol=1e-9
            )
        case "text":
            return _text(typed) == _text(answer)


def _shape(text: str) -> list[int] | None:
    found = _SHAPE.fullmatch(text)
    return [int(size) for size in re.findall(r"\d+", found[1])] if found and text else None


def _dtype(text: str) -> str:
    name = text.lower().removeprefix("torch.")
    return _ALIASES.get(name, name)


def _number(text: str) -> float | None:
    text = text.replace(" ", "").replace("_", "").replace(",", ".")
    try:
        return float(Fraction(text)) if "/" in text else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _text(text: str) -> str:
    """Without quotes, brackets and spaces, which may be left out when one types."""
    return re.sub(r"[\s'\"()\[\]]", "", text).lower()
