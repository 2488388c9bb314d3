"""The names that advice may offer: those of torch, NumPy and the standard library, from a table that never changes.

What is asked for comes from submitted code. So nothing here looks at a module or an object of this process, and what
is not in the table does not exist. `docs/make_public_names.py` makes the table.
"""

import builtins
import functools
from importlib import resources
from typing import Final

import msgspec

BUILTINS: Final = frozenset(dir(builtins))
"""Python's own names."""


class _PublicNames(msgspec.Struct, frozen=True):
    """The names of each module, those of each class and the class that it inherits others from, and parameters."""

    modules: dict[str, list[str]] = {}
    classes: dict[str, tuple[str, list[str]]] = {}
    parameters: dict[str, list[str]] = {}


@functools.cache
def _table() -> _PublicNames:
    table = _PublicNames()
    text = resources.files("grader.judge").joinpath("templates", "public_names.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        match line.split():
            case ["module", name, *names]:
                table.modules[name] = names
            case ["class", name, *names]:
                name, _, base = name.rstrip(")").partition("(")
                table.classes[name] = base, names
            case ["call", name, *names]:
                table.parameters[name] = names
    return table


def members(owner: str) -> list[str]:
    """The public names of a module, or of a class of torch or of Python; none if it is not known."""
    table = _table()
    if owner in table.modules:
        return [name.rstrip(".") for name in table.modules[owner]]
    found = []
    while owner in table.classes:
        owner, names = table.classes[owner]
        found += names
    return found


def parameters(function: str) -> list[str]:
    """The names of the parameters of a function or a class; none if they are not known."""
    return _table().parameters.get(function, [])


def is_in(module: str, name: str) -> bool:
    """Whether a module of the table has a function, a class or a number of this name."""
    return name in _table().modules[module]
