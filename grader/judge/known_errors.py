"""The meaning of exceptions that students meet often, with their own names and shapes, and repairs for other mistakes.

Looks at texts and at tables only: what it reads comes from submitted code. Decides nothing.
"""

import difflib
import functools
import re
from collections.abc import Iterable
from importlib import resources
from typing import Final

from grader.judge.public_names import BUILTINS, is_in, members, parameters
from grader.results import Cause
from grader.text import counted, with_article

_SIMILAR: Final = 0.72
_LONGEST_NAME: Final = 60
_MOST_COMPARED: Final = 200
_MOST_SEARCHED: Final = 600
"""Characters of a message or a line: some patterns take time by the square of it, and the texts are the student's."""


def with_message(cause: Cause) -> str:
    """``ValueError: too few``; the type alone if the exception says nothing."""
    return ": ".join(filter(None, (cause.exception_type, cause.exception_message)))


def on_exception(cause: Cause) -> str:
    """The meaning of an exception, if it is a known one; else empty."""
    line = (cause.frames[-1].text or " ")[:_MOST_SEARCHED] if cause.frames else ""
    raised = f"{cause.exception_type}: {cause.exception_message}"[:_MOST_SEARCHED]
    for pattern, on_line, sentence in known_errors():
        if (found := re.search(pattern, raised)) and re.search(on_line, line):
            return sentence.format(*(_Group(found, number, line) for number in range(found.re.groups + 1)))
    return ""


def known_errors() -> list[tuple[str, str, str]]:
    """For each known exception a pattern of it, one of the student's line (empty: any line), and the sentence."""
    return _table("known_errors.txt")


@functools.cache
def _table(name: str) -> list[tuple[str, str, str]]:
    text = resources.files("grader.judge").joinpath("templates", name).read_text(encoding="utf-8")
    return re.findall(r"^(?![# ])(.+)\n(?:on: (.+)\n)?    (.+)$", text, re.MULTILINE)


class _Group:
    """A group of a pattern in a sentence: ``{1}`` as it is, ``{1:an}`` with its article, ``{1:shape}`` as a shape.

    ``{1:dtype}`` is torch's name of a dtype, ``{1:value}`` a number with a noun, and ``{1:next}`` the number after it.
    ``{2:member 1}`` offers names of the first group that are similar to the second, ``{2:argument 1}`` its arguments;
    ``{1:math}`` names the function of `math`, if there is one, and ``{1:unknown}`` is a sentence.
    ``{1:owner 2}`` is a type, after the name in the student's line that has the second group as an attribute.
    """

    def __init__(self, found: re.Match[str], number: int, line: str) -> None:
        self._found = found
        self._text = found[number] or ""
        self._line = line

    def __format__(self, form: str) -> str:
        match form.split():
            case []:
                return self._text
            case ["an"]:
                return with_article(self._text)
            case ["shape"]:  # of `2x3` or `[2, 3]`
                sizes = re.findall(r"\d+", self._text)
                return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
            case ["dtype"]:  # of `Half`, `c10::Half`, `struct c10::Half`
                return _DTYPES.get(self._text.rpartition("::")[2], self._text)
            case ["next"]:
                return str(int(self._text) + 1)
            case ["math"]:
                return f": `math.{self._text}` takes numbers" if is_in("math", self._text) else ""
            case ["unknown"]:
                return unknown_name(self._text)
            case ["member", owner]:  # a student's own class has none here
                names = members(self._found[int(owner)])
                near = close_names(self._text, names) or (_full_names(self._text) if names else [])
                return did_you_mean(near)
            case ["owner", attribute]:
                owners = {*re.findall(rf"([\w.]*)\.{self._found[int(attribute)]}\b", self._line)} - {"self"}
                owner = owners.pop() if len(owners) == 1 else ""  # also of what is no name, as `f(x).data`
                return f"`{owner}` ({with_article(self._text)})" if owner else self._text
            case ["argument", function]:
                return did_you_mean(close_names(self._text, parameters(self._found[int(function)])))
        return counted(int(self._text), form)


def repaired(reason: str) -> str:
    """The reason why an answer does not fit, and how it is made to fit, if that is known."""
    table = _table("repairs.txt")
    repairs = [repair for pattern, _, repair in table if re.search(pattern, reason[:_MOST_SEARCHED])]
    first, line, rest = reason.partition("\n")
    return ": ".join([first, *repairs[:1]]) + line + rest


# ---------------------------------------------------------------- similar names


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The names that are most similar to one that does not exist: at most two."""
    return [] if len(name) > _LONGEST_NAME else list(_closest(name, frozenset(known) - {name}))


@functools.lru_cache(maxsize=256)
def _closest(name: str, known: frozenset[str]) -> list[str]:
    """Compares only with names of similar letters and length, because each comparison takes the judge some time."""
    if same := sorted(one for one in known if one.lower() == name.lower()):
        return same[:2]
    letters = set(name)
    likely = sorted(known, key=lambda one: (len(letters.symmetric_difference(one)) + abs(len(one) - len(name)), one))
    return difflib.get_close_matches(name, sorted(likely[:_MOST_COMPARED]), n=2, cutoff=_SIMILAR)


def did_you_mean(names: Iterable[str]) -> str:
    """``: did you mean `x`?`` for one or more names; empty for none."""
    listed = " or ".join(f"`{name}`" for name in names)
    return f": did you mean {listed}?" if listed else ""


def unknown_name(name: str, known: Iterable[str] = ()) -> str:
    """The sentence about a name that is not defined, beside Python's own names and others that are known."""
    if line := _IMPORTS.get(name):
        return f"`{name}` is not defined: write `{line}` at the top of the file"
    near = _full_names(name) or close_names(name, {*known, *BUILTINS})
    return f"`{name}` is not defined{did_you_mean(near)}"


def _full_names(name: str) -> list[str]:
    """How a name is written that torch has, and that is not imported: ``float32`` is ``torch.float32``."""
    if name in _IMPORTS:
        return []
    homes = (("torch", "torch"), ("nn", "torch.nn"), ("F", "torch.nn.functional"), ("math", "math"))
    return next(([f"{short}.{name}"] for short, home in homes if is_in(home, name)), [])


# ---------------------------------------------------------------- tables

_IMPORTS: Final = {
    **{
        name: f"import {name}"
        for name in ("math", "os", "random", "copy", "itertools", "functools", "contextlib", "time", "torch")
    },
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "dist": "import torch.distributed as dist",
    "np": "import numpy as np",
    "deepcopy": "from copy import deepcopy",
    "DDP": "from torch.nn.parallel import DistributedDataParallel as DDP",
    **{name: f"from torch.utils.data import {name}" for name in ("DataLoader", "Dataset", "Subset", "TensorDataset")},
}
"""Names of modules and classes that students use without an import, and the line that imports each."""

_DTYPES: Final = {
    **dict.fromkeys(("float", "Float"), "float32"),
    **dict.fromkeys(("double", "Double"), "float64"),
    **dict.fromkeys(("half", "Half"), "float16"),
    "BFloat16": "bfloat16",
    **dict.fromkeys(("long", "long int", "long long", "__int64", "Long"), "int64"),
    **dict.fromkeys(("int", "Int"), "int32"),
    **dict.fromkeys(("bool", "Bool"), "bool"),
    **dict.fromkeys(("unsigned char", "Byte"), "uint8"),
}
"""How torch's messages, which come from C++, call dtypes: they differ between systems."""
