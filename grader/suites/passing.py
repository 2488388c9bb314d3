"""The arguments of an operation on their way to the far side, as data, and back as the submission has changed them."""

from __future__ import annotations

import argparse
import collections
import contextlib
import copy
import enum
import functools
import inspect
import itertools
import math
import os
import re
import sys
import types
from collections.abc import Iterator, Sequence
from importlib.machinery import all_suffixes
from io import BytesIO, IOBase, StringIO, TextIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import MagicMixin, Mock, NonCallableMock, sentinel

import numpy as np
import torch
from torch import nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    default_collate,
)

from grader.border import tables
from grader.border.failures import BadReply
from grader.suites import sources
from grader.suites.graphs import ALWAYS, leaves_of
from grader.testkit.far.callbacks import SPECIAL_OF_MOCKS
from grader.testkit.far.contents import CONTAINERS, MUTABLE, refill
from grader.testkit.far.files import change_file, stamps
from grader.testkit.far.operations import parameters_of
from grader.testkit.far.results import STORES, is_dense, size_of
from grader.testkit.far.side import is_alike
from grader.testkit.generators import TWISTERS, name_of
from grader.testkit.rebuilt import PLAIN, is_mutable, parts_of

if TYPE_CHECKING:
    from grader.suites.bridge import Bridge

_OF_LIBRARIES: Final = (
    types.SimpleNamespace, argparse.Namespace, Dataset, Sampler, torch.optim.lr_scheduler.LRScheduler,
    torch.distributions.Distribution, torch.amp.GradScaler,
)  # fmt: skip
"""Objects that consist of their attributes."""
_EMPTY: Final[tuple[Any, ...]] = ([], (), "", {}, {}.values(), {}.items(), set(), range(0))
_OF_CONTAINERS: Final = frozenset(type(iter(one)) for one in _EMPTY)
"""Classes of iterators whose items are all there."""
_Sentinel: Final[type] = type(sentinel.anything)
_KNOWN: Final = frozenset({*sys.stdlib_module_names, "torch", "numpy"})
_WORDS: Final = ("__name__", "__doc__")
_MOST_FILES: Final = 200
_MOST_LISTS: Final = 100
_MOST_FILE_BYTES: Final = 16 << 20


class Crossing:
    """The data by which a proxy crosses: `grader.suites.proxies` has the classes."""

    __slots__ = ()

    def _crosses_as(self, passing: Passing) -> tuple[Any, ...]:
        """The data that stands for it."""
        raise NotImplementedError


def put(tensor: torch.Tensor, data: torch.Tensor) -> None:
    """Writes numbers into a tensor, which gets their shape, dtype and device."""
    if is_alike(tensor, data):
        with torch.no_grad():
            tensor.copy_(data)
    else:
        tensor.data = data


def _as_parameter(value: torch.Tensor | None) -> torch.Tensor | None:
    return value if value is None or isinstance(value, nn.Parameter) else nn.Parameter(value, requires_grad=False)


class Passing:
    """The arguments of one operation on their way to the far side.

    Attributes:
        inputs: tensors that require grad.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.inputs: list[torch.Tensor] = []
        self.bridge = bridge
        self._passed: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._classes: set[type] = set()

    def original(self, number: int) -> Any:
        return self._passed[number]

    def path(self, text: str) -> Path:
        """The test's name of a path of the far side."""
        for number, own in self.bridge.paths.items():
            inside = f"suite_files/{number}/{own.name}"
            if inside in text:
                return Path(str(own) + text.partition(inside)[2])
        return Path(text)

    def local(self, text: str) -> str:
        """A text of the submission with the test's names of paths in it."""
        for number, own in self.bridge.paths.items() if "suite_files/" in text else ():
            *parts, last = text.split(f"suite_files/{number}/{own.name}")
            words = [max(map(part.rfind, " \n\t'\"")) + 1 for part in parts]
            before = [part[: part.find("/", word) % (len(part) + 1)] for part, word in zip(parts, words, strict=True)]
            text = "".join(f"{one}{own}" for one in before) + last
        return text

    def view(self, number: int, sizes: Sequence[int], steps: Sequence[int], start: int) -> Any:
        """A view of an argument, none of whose numbers is beside it.

        Raises:
            ValueError: it is no such view.
        """
        own = self._passed[number]
        ways = [(size - 1) * step for size, step in zip(sizes, steps, strict=True)]
        first, last = start + sum(min(way, 0) for way in ways), start + sum(max(way, 0) for way in ways)
        is_inside = min(sizes, default=1) > 0 and first >= 0 and last < size_of(own) >= math.prod(sizes)
        if not is_inside:
            raise ValueError("no view")
        if isinstance(own, torch.Tensor):
            own = own.contiguous()  # a copy if it is not dense here
            return own.as_strided([*sizes], [*steps], own.storage_offset() + start)
        own, step = own if is_dense(own) else own.copy(), own.itemsize
        return np.ndarray(tuple(sizes), own.dtype, own, start * step, tuple(one * step for one in steps))

    def change(self, number: int, now: Any) -> None:
        """Gives an argument the value that the submission has given it in place."""
        own = self._passed[number]
        if self.bridge.may(type(own).__name__):
            self._put(own, now)
        elif type(now) is type(own):
            self._passed[number] = now  # the result, if it is this argument, has the value that was given to it

    def change_shared(self, number: int, now: Any) -> None:
        """Gives what both sides have the value that the submission has given it: below 0 it is the submission's own."""
        own = self.bridge.kept(number)
        kind = type(own).__name__
        if isinstance(own, sources.Variable):
            value = own.get()
            if self.bridge.may(f"variable {own.name}"):
                self._put(value, now) if isinstance(value, CONTAINERS) else own.set(now)
        elif isinstance(own, MUTABLE):
            if number < 0 or self.bridge.may(f"kept {kind}"):
                self._put(own, now)
        elif self.bridge.may(kind):  # an object of the test
            kept = {name: one for name, one in now.items() if self.bridge.may(f"{kind}.{name}")}
            refill(vars(own), {**vars(own), **kept}, self._is_known)

    def _is_known(self, value: object) -> bool:
        return self.bridge.contents.number_of(value) is not None

    def _put(self, own: Any, now: Any) -> None:
        if own is now:
            return
        if isinstance(own, torch.Tensor) and now.grad_fn is not None:
            own.copy_(now)
        elif isinstance(own, torch.Tensor):
            put(own, now)
            self.bridge.twins.take_place(own, now)
        elif tables.is_table(own):
            tables.put(own, now)
        elif isinstance(own, StringIO | BytesIO):
            content, place = now
            own.seek(0)
            own.truncate()
            own.write(content)
            own.seek(place)
        elif isinstance(own, Mock) or (isinstance(own, IOBase) and not own.readable()):
            own.write(now[0])
        elif isinstance(own, IOBase):
            pass  # it was read to its end to be sent
        elif isinstance(own, CONTAINERS) and not issubclass(type(now), CONTAINERS):
            raise BadReply("changed a list or dict into something else")  # such as an iterator without an end
        elif isinstance(own, MUTABLE):
            refill(own, now, self._is_known)
        elif isinstance(own, Iterator):
            collections.deque(itertools.islice(own, now), 0)

    def change_module(self, own: nn.Module, now: dict[str, dict[Any, Any]]) -> None:
        """Gives a module of the test what the submission has set or replaced in it."""
        for store, content in now.items():
            if not self.bridge.may(f"{type(own).__name__}.{store}"):
                continue
            parts = vars(own)[store] if store in STORES else vars(own)
            if store == "_parameters":
                content = {name: _as_parameter(one) for name, one in content.items()}
            elif store.endswith("hooks"):  # beside those of the test
                content = {("over there", key): one for key, one in content.items()}
            for name in [one for one in parts if store in STORES[:3] or type(one) is tuple]:
                del parts[name]
            parts.update(content)

    def write(self, written: Sequence[Any]) -> None:
        """Writes the files of the submission where the test looks for them.

        One in the folder of the course is left out: other submissions use it, too. So is one that an import may find:
        it would run here.
        """
        for number, inside, content in written[:_MOST_FILES]:
            if not number:
                if self.bridge.may(f"the file {inside}"):
                    self.bridge.beside.put(inside, content)
                continue
            file = self.bridge.paths[number] / inside
            is_inside = ".." not in Path(inside).parts and not Path(inside).is_absolute()
            if is_inside and self.bridge.folder_of(file) and not _may_be_imported(file):
                change_file(file, inside, content)
        for number in {number for number, *_ in written if number}:
            self.bridge.stamps[number] = self._stamps(self.bridge.paths[number])

    def _number(self, value: object) -> int:
        """Its number, the same each time that it is in these arguments."""
        number = self._numbers.setdefault(id(value), 0) or self.bridge.contents.new_number()
        self._numbers[id(value)], self._passed[number] = number, value
        return number

    def tree(self, value: Any) -> tuple[Any, ...]:
        """A value as data.

        Raises:
            TypeError: there is no way for it to cross.
        """
        kind = type(value)
        if issubclass(kind, Crossing):  # a mock of a class of theirs says that it is one
            return value._crosses_as(self)  # type: ignore[no-any-return]
        if kind in PLAIN:
            if kind is str and self._is_file(value):
                return self._path(Path(value), is_text=True)
            return "value", value
        if (known := self.bridge.contents.number_of(value)) is not None:
            return "known", known
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if kind is np.ndarray:
            return "array", self._number(value), value
        if tables.is_value(value):
            return ("table", self._number(value), value) if tables.is_table(value) else ("value", value)
        if isinstance(value, np.generic):
            return "value", value
        if is_made_file(value):
            content = value.read()
            return "file", self._number(value), content if isinstance(content, str | bytes) else "", 0
        if isinstance(value, NonCallableMock):  # it has every method, and so looks like a path
            return self._mock(value)
        if isinstance(value, os.PathLike):
            return self._path(Path(value), is_text=False)
        if (parts := parts_of(value)) is not None:
            number = self._number(value) if is_mutable(value) else 0
            return "rebuilt", number, kind.__name__, [self.tree(one) for one in parts]
        if isinstance(value, list | tuple | dict | set | frozenset) and (made := self._container(value)):
            return made
        if value is ...:
            return ("ellipsis",)
        if kind is re.Pattern:
            return "pattern", value.pattern, value.flags
        if kind is re.Match:
            return "match", value.re.pattern, value.re.flags, value.string, value.start(), value.endpos
        if kind is slice:
            return "slice", [self.tree(one) for one in (value.start, value.stop, value.step)]
        if isinstance(value, nn.Module):
            return self._module(value)
        if isinstance(value, torch.optim.Optimizer):
            groups = [
                ([self.tree(one) for one in group["params"]], {k: v for k, v in group.items() if k != "params"})
                for group in value.param_groups
            ]
            number = self.bridge.keep(value)
            self.bridge.twins.add_optimizer(number, value)
            return "optimizer", number, self.tree(kind), groups
        if isinstance(value, DataLoader):
            return self._loader(value)
        if isinstance(value, IOBase):
            return self._file(value)
        if isinstance(value, type):
            if (example := vars(value).get("_example")) is not None and isinstance(example, Crossing):
                return "kind", self.tree(example)
            if (place := vars(value).get("far_place")) is not None:  # an exception of the submission
                return "name", *place
            sent, needs, variables = sources.of_class(value, self.bridge.root), [], []
            is_new = bool(sent[2]) and value not in self._classes  # it may mention itself
            self._classes.add(value)
            found, changing = sources.needs_of(value, sent[2]) if is_new else ({}, [])
            for name, one in found.items():
                with contextlib.suppress(TypeError):  # else the class is made without it
                    needs.append((name, self.tree(one)))
            for variable in changing:
                with contextlib.suppress(TypeError):
                    tree = self.tree(variable.get())
                    variables.append((self.bridge.keep_changing(variable), variable.name, variable.home is value, tree))
            if sent[2]:
                self.bridge.classes[".".join(sent[:2])] = value
            return "class", *sent, needs, variables
        if isinstance(value, enum.Enum):
            return "member", self.tree(kind), value.name
        if isinstance(value, BaseException):
            return "exception", self.tree(kind), [self.tree(one) for one in value.args]
        if isinstance(value, (np.random.Generator, *TWISTERS)):
            return self._generator(value)
        if kind in _OF_CONTAINERS:
            return "iterator", self._number(value), [self.tree(one) for one in copy.copy(value)]
        if isinstance(value, Iterator):  # it may have no end
            number = self.bridge.keep(value, functools.partial(_next_of, value))
            self.bridge.endless.add(number)
            is_generator = isinstance(value, types.GeneratorType)
            state = inspect.getgeneratorstate(value) if is_generator else inspect.GEN_CREATED  # type: ignore[arg-type]
            return "lazy", number, state != inspect.GEN_CREATED
        if isinstance(value, functools.partial) and type(value.func) is not types.FunctionType:
            return "partial", self.bridge.keep(value), *map(self.tree, (value.func, value.args, value.keywords))
        if sources.is_own(kind.__module__, self.bridge.root) or isinstance(value, _OF_LIBRARIES):
            fields = [(name, self.tree(one)) for name, one in vars(value).items()]
            return "object", self.bridge.keep_changing(value), self.tree(kind), fields
        if callable(value):
            if (place := _place_in_library(value)) is not None:
                return "class", *place, "", []
            self.bridge.has_functions = True
            names = {name: getattr(value, name, None) for name in (*_WORDS, *getattr(value, "__dict__", ()))}
            data = {name: one for name, one in names.items() if type(one) in PLAIN and one is not None}
            is_later = inspect.iscoroutinefunction(value)
            return "function", self.bridge.keep(value), is_later, data, self._signature(value)
        if kind is object or isinstance(value, _Sentinel):
            return "opaque", self.bridge.keep(value)
        raise TypeError(f"a {kind.__name__} cannot be passed to a submission")

    def can_cross(self, value: object) -> bool:
        """Whether there is a way for a value to cross: a lock has none."""
        try:
            self.tree(value)
        except TypeError:
            return False
        return True

    def _signature(self, function: Any) -> list[Any]:
        """The parameters of a function and its result, as data: no defaults, which may be expected answers."""
        if type(function) is not types.FunctionType or function in self.bridge.signed:
            return []
        self.bridge.signed.add(function)
        found = []
        for name, kind, has_default, _, _, annotation in parameters_of(function):
            kept = isinstance(annotation, str) or (
                isinstance(annotation, type) and not sources.is_own(annotation.__module__, self.bridge.root)
            )
            tree = self.tree(annotation) if kept else ("value", None)
            found.append((name, kind, has_default, ("value", None), kept, tree))
        return found

    def _tensor(self, value: torch.Tensor) -> tuple[Any, ...]:
        if value.requires_grad or isinstance(value, nn.Parameter) or self.bridge.twins.has(value):
            if value.requires_grad:
                self.inputs.append(value)
            key = self.bridge.twins.key_of(value)
            if value.grad_fn is None or value.numel() != 1:
                return "twin", key
            self.bridge.has_functions = True
            self.bridge.results[key] = value, []
            return "loss", key, [self.bridge.twins.key_of(one) for one in leaves_of(value) if one is not ALWAYS]
        return "tensor", self._number(value), value

    def _container(self, value: Any) -> tuple[Any, ...] | None:
        kind = type(value)
        if isinstance(value, tuple):
            items = [self.tree(one) for one in value]
            if (fields := getattr(kind, "_fields", None)) is None:
                return "tuple", items
            whole = (
                "" if sources.is_own(kind.__module__, self.bridge.root) else f"{kind.__module__}.{kind.__qualname__}"
            )
            return "named", vars(kind).get("far_class", whole), kind.__name__, list(fields), items
        if kind in (list, dict) and self._is_data(value):
            items = value.values() if kind is dict else value
            if len(value) > _MOST_LISTS or not any(type(one) in (list, dict) for one in items):  # each of them is one
                return "data", self._number(value), value
        if isinstance(value, set | frozenset):
            is_set = isinstance(value, set)
            return "set", self._number(value) if is_set else 0, [self.tree(one) for one in value]
        if isinstance(value, list):
            return "list", self._number(value), [self.tree(one) for one in value]
        return "dict", self._number(value), *([self.tree(one) for one in part] for part in (value, value.values()))

    def _module(self, value: nn.Module) -> tuple[Any, ...]:
        own = {
            name: one
            for name, one in vars(value).items()
            if not name.startswith("_") and name != "training" and not isinstance(one, nn.Module | torch.Tensor)
        }
        fields = [(name, self.tree(one)) for name, one in own.items()]
        stores = value._parameters, value._buffers, value._modules
        parts = [[(name, self._part(one)) for name, one in store.items()] for store in stores]
        return "module", self.bridge.keep(value), self.tree(type(value)), fields, parts, value.training

    def _part(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, torch.Tensor):
            self.inputs += [value] if value.requires_grad else []
            return "twin", self.bridge.twins.key_of(value)
        return self.tree(value)

    def _loader(self, value: Any) -> tuple[Any, ...]:
        """A loader, which is made anew over there: it draws the same batches, in one process."""
        names = ["generator"]
        fields = {"batch_size": value.batch_size, "drop_last": value.drop_last}
        if type(value.batch_sampler) is not BatchSampler:
            names, fields = [*names, "batch_sampler"], {}
        elif type(value.sampler) is RandomSampler and value.sampler.generator is value.generator:
            fields["shuffle"] = True
        elif type(value.sampler) is not SequentialSampler:
            names.append("sampler")
        if value.collate_fn is not default_collate:
            names.append("collate_fn")
        given = [(name, getattr(value, name)) for name in (*names, "dataset")]
        trees = [(name, self.tree(one)) for name, one in (*fields.items(), *given)]
        return "loader", self.bridge.keep(value), self.tree(type(value)), trees

    def _generator(self, value: Any) -> tuple[Any, ...]:
        """A random generator, and its state if the test has used it since it was sent last."""
        state = self.bridge.generators.news(number := self.bridge.keep(value), value)
        return "generator", number, name_of(value), None if state is None else ("value", state)

    def _file(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, StringIO | BytesIO):
            return "file", self._number(value), value.getvalue(), value.tell()
        empty = "" if isinstance(value, TextIOBase) else b""
        return "file", self._number(value), value.read() if value.readable() else empty, 0

    def _mock(self, value: NonCallableMock) -> tuple[Any, ...]:
        """A mock is used here; but a function of a library that it wraps is called over there."""
        wrapped = vars(value)["_mock_wraps"]
        if isinstance(wrapped, types.ModuleType):
            return "name", wrapped.__name__, []
        if wrapped is not None and (place := _place_in_library(wrapped)):
            return "class", *place, "", []
        self.bridge.has_functions = True
        is_later, is_magic = inspect.iscoroutinefunction(value), isinstance(value, MagicMixin)
        return "mock", self.bridge.keep(value, functools.partial(_use, value)), is_magic, is_later

    def _is_data(self, value: Any) -> bool:
        """Whether a value consists of plain values alone, none of which is a path of the test."""
        kind = type(value)
        if kind in (list, tuple):
            return all(map(self._is_data, value))
        if kind is dict:
            return all(type(key) in PLAIN for key in value) and all(map(self._is_data, value.values()))
        return kind in PLAIN and not (kind is str and self._is_file(value))

    def _is_file(self, text: str) -> bool:
        """Whether a text is the path of a file of the suite, or a temporary one of the test; `6/` is none."""
        if not 0 < len(text) < 1000 or "\n" in text or os.sep not in text or not self._may_be_sent(Path(text)):
            return False
        if os.path.isabs(text):
            return True
        return os.path.exists(text) and not self.bridge.folder_of(Path(text))  # the current folder is there, too

    def _may_be_sent(self, path: Path) -> bool:
        try:
            if self.bridge.folder_of(path):
                return True
            whole = path.resolve()
            return whole.is_relative_to(self.bridge.root) and (whole.exists() or whole.parent.exists())
        except (OSError, ValueError):
            return False

    def _is_code(self, path: Path) -> bool:
        """Whether it is the solution, a test or a stub of the course, which a folder that is passed may hold, too."""
        whole, root = path.resolve(), self.bridge.root.resolve()
        return whole.is_relative_to(root) and (
            whole.suffix in (".py", ".toml") or whole.is_relative_to(root / "solutions")
        )

    def _path(self, path: Path, *, is_text: bool) -> tuple[Any, ...]:
        root = self.bridge.folder_of(path) or path
        number = next((key for key, one in self.bridge.paths.items() if one == root), len(self.bridge.paths) + 1)
        self.bridge.paths[number] = root
        return "path", number, root.name, str(path.relative_to(root)), is_text, self._changes_at(number)

    def changed_paths(self) -> Iterator[tuple[Any, ...]]:
        """The paths that the submission has been given before, and 0 for the current folder, at which the test has
        changed something since."""
        if changes := self.bridge.beside.changes():
            yield "path", 0, "", "", False, changes
        for number, path in self.bridge.paths.items():
            if changes := self._changes_at(number):
                yield "path", number, path.name, "", False, changes

    def _changes_at(self, number: int) -> list[tuple[str, bytes | None]]:
        path, before = self.bridge.paths[number], self.bridge.stamps.get(number, {})
        now = self.bridge.stamps[number] = self._stamps(path)
        new = [inside for inside, stamp in now.items() if before.get(inside) != stamp]
        gone = sorted(before.keys() - now.keys(), reverse=True)
        made = [(inside, b"" if inside.endswith("/") else (path / inside).read_bytes()) for inside in new]
        return [*made, *((inside, None) for inside in gone)]

    def _stamps(self, path: Path) -> dict[str, object]:
        """The files at a path that may be sent."""
        if not self._may_be_sent(path):
            return {}
        found = [(inside, stamp) for inside, stamp in stamps(path) if not inside or not self._is_code(path / inside)]
        small = (one for one in found if one[0][-1:] == "/" or (path / one[0]).stat().st_size <= _MOST_FILE_BYTES)
        return dict(itertools.islice(small, _MOST_FILES))


def _next_of(iterator: Iterator[Any], *sent: Any) -> tuple[Any, ...]:
    """The next item of an iterator of the test alone, to which a value may be sent; nothing at its end."""
    try:
        return (iterator.send(*sent) if isinstance(iterator, types.GeneratorType) and sent else next(iterator),)
    except StopIteration:
        return ()


def _use(mock: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """A use of the test's mock by the submission; the questions that a test asks of a mock are none of its business.

    Raises:
        AttributeError: there is no such use.
    """
    if name == "call":
        return mock(*args, **kwargs)
    if name in SPECIAL_OF_MOCKS:
        if name in ("exit", "aexit") and isinstance(args[1], BaseException):  # its class is the test's, too
            args = type(args[1]), *args[1:]
        return getattr(mock, f"__{name}__")(*args)
    if name not in ("getattr", "setattr") or args[0].startswith(("__", "_mock")) or hasattr(NonCallableMock, args[0]):
        raise AttributeError(f"Mock object has no attribute {args[0]!r}")
    if any(issubclass(type(one), Crossing) for one in args[1:]):  # the test would ask it in the place of the mock
        raise AttributeError(f"can't set attribute {args[0]!r} of a mock to an object")
    return getattr(mock, args[0]) if name == "getattr" else setattr(mock, *args)


def _may_be_imported(file: Path) -> bool:
    """Whether it is code in a folder in which Python looks for modules: a test may have put its own one there."""
    places = [Path(one).resolve() for one in sys.path]
    return file.suffix in all_suffixes() and any(file.resolve().is_relative_to(one) for one in places)


def is_made_file(value: object) -> bool:
    """Whether it is a file of `unittest.mock.mock_open`."""
    return isinstance(value, Mock) and {"readlines", "truncate"} <= {*dir(value)}


def _place_in_library(function: Any) -> tuple[str, str] | None:
    """The module and name of an installed function; one that has them over there differentiates there, too."""
    names = [getattr(function, one, None) for one in ("__qualname__", "__name__")]  # torch's own have two
    homes = (getattr(function, "__module__", None), "torch", "torch.nn.functional", "numpy", "builtins")
    for home, name in itertools.product(homes, names):
        if not isinstance(home, str) or home.partition(".")[0] not in _KNOWN or not isinstance(name, str):
            continue
        found: Any = sys.modules.get(home)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is function:
            return home, name
    return None
