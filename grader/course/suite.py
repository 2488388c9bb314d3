"""A course's suite: a folder of tests that somebody else wrote, and which of them belong to an exercise."""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import msgspec


class Suite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[suite]`` table.

    Attributes:
        path: the folder with the tests, beside ``course.toml``.
        modules: names under which the tests import single files that students write.
        packages: names of folders that students write.
    """

    path: str = "tests"
    modules: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The students' files, by their names in a submission."""
        return tuple(one.rpartition(".")[2] for one in (*self.modules, *self.packages))

    def is_package(self, name: str) -> bool:
        """Whether a name in a submission is that of a folder."""
        return any(one.rpartition(".")[2] == name for one in self.packages)


class Group(msgspec.Struct, frozen=True):
    """An exercise of a suite: its full name, and the node ids of its tests."""

    exercise: str
    tests: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    seconds: float = 0.0

    def fits(self, nodeid: str) -> tuple[int, bool]:
        """How precisely an entry names a test (0: none does), and whether it is hidden."""
        entries = [*((one, False) for one in self.tests), *((one, True) for one in self.hidden)]
        return max(((len(one), hides) for one, hides in entries if names(one, nodeid)), default=(0, False))


def names(entry: str, nodeid: str) -> bool:
    """Whether an entry of the manifest means a test: itself, or its class or file."""
    return nodeid == entry or nodeid.startswith((f"{entry}::", f"{entry}["))


def group_of(groups: Iterable[Group], nodeid: str) -> tuple[Group, bool] | None:
    """The exercise that a test belongs to, and whether students may not see it; None if no entry names it."""
    best = max(((*one.fits(nodeid), one) for one in groups), key=lambda found: found[0], default=None)
    return (best[2], best[1]) if best is not None and best[0] else None


def check_name(nodeid: str) -> str:
    """The name of a test as students see it: without file and ``test_``, with its class."""
    place, bracket, values = nodeid.partition("[")
    *classes, function = place.split("::")[1:]
    return ".".join([*classes, function.removeprefix("test_")]) + bracket + values


def names_apart(nodeids: Sequence[str]) -> list[str]:
    """The names of an exercise's tests: those that are in two files have the names of these before them."""
    files: dict[str, set[str]] = {}
    for one in nodeids:
        files.setdefault(check_name(one).partition("[")[0], set()).add(one.partition("::")[0])
    return [
        f"{PurePosixPath(one.partition('::')[0]).stem.removeprefix('test_')}.{name}"
        if len(files[(name := check_name(one)).partition("[")[0]]) > 1
        else name
        for one in nodeids
    ]


def sentence_of(docstring: str, name: str) -> str:
    """The sentence that students read about a test: its docstring, or its name in words."""
    words = " ".join(docstring.strip().split("\n\n")[0].split())
    return words or f"{name.rpartition('.')[2].replace('_', ' ').strip().capitalize()}."
