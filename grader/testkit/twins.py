"""The far side of a suite's tests: makes real values of their arguments, calls the submission, and describes results.

Runs beside the submission, holds no expected answer and decides nothing. `grader.suites.bridge` is the judge's side.
A tensor that both sides have is a *twin*: its numbers and its gradient are compared before and after each call, and
what has changed is sent. A result with a graph stays here; its gradient is asked for by `differentiate`. A function of
the test is called by a message of its own: the submission waits for the answer in a thread.
"""

import asyncio
import builtins
import collections
import contextlib
import copy
import dataclasses
import functools
import importlib.util
import inspect
import io
import itertools
import logging
import operator
import os
import queue
import random
import shutil
import sys
import tempfile
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import nn

from grader.testkit.draws import Moment, Seeds, set_state
from grader.testkit.rebuilt import is_mutable, parts_of, rebuilt

_equal, _backward, _clone, _import = torch.equal, torch.autograd.backward, torch.Tensor.clone, importlib.import_module
_PLAIN: Final = frozenset({type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device})
_TENSORS: Final = frozenset({torch.Tensor, nn.Parameter})
_FOLDER: Final = "suite_files"
_MOST_HELD: Final = 64
_MOST_BYTES: Final = 1 << 20
"""Bytes of a written file that are sent back."""
_MOST_CAUSES: Final = 4
_numbers: Final = itertools.count(1)


_GENERATORS: Final[dict[str, Callable[[], Any]]] = {
    "torch": torch.Generator,
    "random": random.Random,
    "RandomState": np.random.RandomState,
    **{
        name: functools.partial(lambda kind: np.random.Generator(kind(0)), getattr(np.random, name))
        for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
    },
}


def _set_generator(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    elif isinstance(generator, torch.Generator):
        generator.set_state(torch.from_numpy(state.copy()))
    else:
        generator.set_state(state)


class Passed(NamedTuple):
    """An argument that the submission may change, and its value before."""

    number: int
    value: Any
    before: Any


class _Side:
    """All that this side has of one check.

    Attributes:
        twins: tensors that both sides have, by key; those that were made here have keys below 0.
        last: data, gradient and `requires_grad` of each as both sides last had them.
        graphs: results whose graph is here.
        objects: modules and optimizers of the test, by its number for them.
        optimizers: these optimizers, with their state as both sides last had it.
        early: states of those that are yet to be made.
        held: lists and dicts of the submission that the test has read, and may change.
        homes: the namespaces of test modules whose classes were sent, by the module's name.
        sent: the statements that were run in each.
        replaced: attributes of modules that the test has set, and their values before.
        waiting: the calls that wait for a function of the test to answer; the innermost is the last.
        log: the records of loggers, if the test wants to see it.
        seeds: the seeds of random generators that the submission sets.
        moment: these generators as both sides last had them.
        raised: the last exception.
        warned: the classes and the text of each warning that the test may see.
    """

    def __init__(self) -> None:
        self.twins: dict[int, torch.Tensor] = {}
        self.last: dict[int, tuple[Any, Any, bool]] = {}
        self.graphs: dict[int, torch.Tensor] = {}
        self.objects: dict[int, Any] = {}
        self.optimizers: dict[int, tuple[Any, Any]] = {}
        self.early: dict[int, Any] = {}
        self.held: dict[int, Any] = {}
        self.homes: dict[str, dict[str, Any]] = {}
        self.sent: dict[str, set[str]] = {}
        self.replaced: list[tuple[object, str, object]] = []
        self.waiting: list[_Thread] = []
        self.log: _Log | None = None
        self.seeds = Seeds()
        self.moment = Moment()
        self.raised: BaseException | None = None
        self.warned: list[tuple[list[str], str]] = []
        self._folder: Path | None = None
        self._loops: list[asyncio.AbstractEventLoop] = []

    def folder(self) -> Path:
        """For files of the test, until the next check begins: none of them is in the current folder."""
        if self._folder is None:
            made = tempfile.mkdtemp()
            weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)
            self._folder = Path(made, _FOLDER)
        return self._folder

    def loop(self) -> asyncio.AbstractEventLoop:
        """An event loop that nobody else runs: that of the check, unless a coroutine waits in it for an answer."""
        if not self._loops or self._loops[-1].is_running():
            self._loops.append(asyncio.new_event_loop())
        return self._loops[-1]

    def end(self) -> None:
        for loop in self._loops:
            if not loop.is_running():
                loop.close()
        if self.log is not None:
            self.log.remove()
        for thread in self.waiting:
            thread.answers.put(None)
        self.seeds.end()
        while self.replaced:
            self.put_back(*self.replaced[-1][:2])

    def put_back(self, owner: object, name: str) -> bool:
        """Undoes what the test last did to an attribute; whether it did anything."""
        for at in reversed(range(len(self.replaced))):
            if self.replaced[at][0] is owner and self.replaced[at][1] == name:
                value = self.replaced.pop(at)[2]
                if value is _Side:
                    delattr(owner, name)
                else:
                    setattr(owner, name, value)
                return True
        return False


_side: Any = None


def begin(logs: bool) -> None:
    """Forgets the check before.

    Args:
        logs: whether the test reads logs.
    """
    global _side
    if _side is not None:
        _side.end()
    _side = _Side()
    _side.log = _Log() if logs else None


class _Log(logging.Handler):
    """Keeps the records of loggers since the last reply."""

    def __init__(self) -> None:
        super().__init__()
        self._records: list[tuple[str, int, str]] = []
        self._root = logging.getLogger()
        self._level = self._root.level
        self._root.addHandler(self)
        self._root.setLevel(1)

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append((record.name, record.levelno, record.getMessage()))

    def take(self) -> list[tuple[str, int, str]]:
        taken, self._records = self._records, []
        return taken

    def remove(self) -> None:
        self._root.removeHandler(self)
        self._root.setLevel(self._level)


# ---------------------------------------------------------------- twins


def detached(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """A copy of a tensor's numbers."""
    return None if tensor is None else _clone(tensor.detach())


def is_same(one: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    """Whether both have the same numbers, shape and dtype; NaN is NaN."""
    if one is None or other is None:
        return one is other
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return _equal(one, other) or (one.is_floating_point() and _equal(one.nan_to_num(0.5), other.nan_to_num(0.5)))


def _take(pushes: Iterable[tuple[int, Any, Any, bool, bool]]) -> None:
    """Makes twins be as they are on the other side."""
    for key, data, grad, requires_grad, is_parameter in pushes:
        if data is None:
            _take_state(key, grad)
            continue
        twin = _side.twins.get(key)
        if twin is None:
            twin = nn.Parameter(data, requires_grad) if is_parameter else data.requires_grad_(requires_grad)
            _side.twins[key] = twin
        else:
            twin.data.copy_(data)  # a graph that needs it does not notice, as with the test's own `x.data`
            if twin.is_leaf:
                twin.requires_grad_(requires_grad)
        twin.grad = grad
        _side.last[key] = detached(twin), detached(grad), requires_grad


def _take_state(key: int, state: Any) -> None:
    if key not in _side.optimizers:
        _side.early[key] = state
        return
    made, _ = _side.optimizers[key]
    made.load_state_dict(state)
    _side.optimizers[key] = made, copy.deepcopy(state)


def _pulls() -> list[tuple[int, Any, Any, bool]]:
    """The twins that have changed here, and the optimizers' states, which have no data."""
    found: list[tuple[int, Any, Any, bool]] = []
    for key, (optimizer, last) in _side.optimizers.items():
        state = optimizer.state_dict()
        if not is_same_state(state, last):
            _side.optimizers[key] = optimizer, copy.deepcopy(state)
            found.append((key, None, state, False))
    for key, twin in _side.twins.items():
        data, grad, requires_grad = _side.last[key]
        own = twin.grad if twin.is_leaf else None
        if not is_same(twin.detach(), data) or not is_same(own, grad) or twin.requires_grad != requires_grad:
            _side.last[key] = detached(twin), detached(own), twin.requires_grad
            found.append((key, *_side.last[key]))
    return found


# ---------------------------------------------------------------- values that arrive


class _Call:
    """One operation while it runs: the arguments that it may change, and files that it may write."""

    def __init__(self) -> None:
        self.passed: list[Passed] = []
        self.paths: dict[int, Path] = {}
        self.files: dict[tuple[int, str], tuple[int, int]] = {}
        self.given: list[torch.Tensor] = []

    def keep(self, number: int, value: Any, before: Any) -> Any:
        self.passed.append(Passed(number, value, before))
        return value

    def build(self, tree: Any) -> Any:
        """The value that a test has passed."""
        tag, *rest = tree
        return getattr(self, f"_make_{tag}")(*rest)

    def _many(self, trees: Iterable[Any]) -> list[Any]:
        return [self.build(one) for one in trees]

    def _make_value(self, value: Any) -> Any:
        return value

    def _make_name(self, module: str, names: list[str]) -> Any:
        return named(module, names)

    def _make_twin(self, key: int) -> Any:
        return _side.twins[key]

    def _make_tensor(self, number: int, value: torch.Tensor) -> Any:
        return self.keep(number, value, detached(value))

    def _make_array(self, number: int, value: Any) -> Any:
        return self.keep(number, value, value.copy())

    def _make_data(self, number: int, value: Any) -> Any:
        return self.keep(number, value, copy.deepcopy(value))

    def _make_list(self, number: int, items: list[Any]) -> Any:
        made = self._many(items)
        return self.keep(number, made, list(made))

    def _make_dict(self, number: int, keys: list[Any], values: list[Any]) -> Any:
        made = dict(zip(self._many(keys), self._many(values), strict=True))
        return self.keep(number, made, dict(made))

    def _make_rebuilt(self, number: int, name: str, parts: list[Any]) -> Any:
        made = rebuilt(name, self._many(parts))
        return self.keep(number, made, copy.copy(made)) if is_mutable(made) else made

    def _make_member(self, kind: Any, name: str) -> Any:
        return self.build(kind)[name]

    def _make_exception(self, kind: Any, args: list[Any]) -> Any:
        return self.build(kind)(*self._many(args))

    def _make_generator(self, number: int, name: str, state: Any) -> Any:
        """A random generator of the test; a state comes only if the test has used it."""
        made = _side.objects.get(number)
        if made is None:
            made = _side.objects[number] = _GENERATORS[name]()
        if state is not None:
            _set_generator(made, self.build(state))
        return made

    def _make_tuple(self, items: list[Any]) -> Any:
        return tuple(self._many(items))

    def _make_set(self, number: int, items: list[Any]) -> Any:
        made = set(self._many(items))
        return self.keep(number, made, set(made)) if number else frozenset(made)

    def _make_slice(self, items: list[Any]) -> Any:
        return slice(*self._many(items))

    def _make_iterator(self, items: list[Any]) -> Any:
        return iter(self._many(items))

    def _make_file(self, number: int, content: str | bytes, place: int) -> Any:
        file: Any = io.StringIO(content) if isinstance(content, str) else io.BytesIO(content)
        file.seek(place)
        return self.keep(number, file, (content, place))

    def _make_path(self, number: int, name: str, is_text: bool, files: list[tuple[str, bytes]] | None) -> Any:
        place = _side.folder() / str(number) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        for inside, content in files or ():
            file = place / inside if inside else place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        if files == []:
            place.mkdir(exist_ok=True)
        self.paths[number] = place
        self.files |= {(number, inside): stamp for inside, stamp in _stamps(place)}
        return str(place) if is_text else place

    def _make_class(self, home: str, name: str, source: str, header: list[str]) -> Any:
        return _class_of(home, name, source, header)

    def _make_kind(self, example: Any) -> Any:
        return type(self.build(example))

    def _make_function(self, number: int, name: str | None, words: str | None) -> Any:
        made = _callback(number)
        made.__name__, made.__doc__ = name or made.__name__, words
        return made

    def _make_later(self, number: int, name: str | None, words: str | None) -> Any:
        ask = self._make_function(number, name, words)

        async def ask_later(*args: Any, **kwargs: Any) -> Any:
            return ask(*args, **kwargs)

        return ask_later

    def _make_module(
        self, number: int, kind: Any, fields: list[tuple[str, Any]], parts: list[list[tuple[str, Any]]], training: bool
    ) -> Any:
        """A module of the test: its parameters and buffers are twins, its plain fields are set."""
        made = _side.objects.get(number)
        if made is None:
            cls = self.build(kind)
            made = _side.objects[number] = cls.__new__(cls)
            nn.Module.__init__(made)
        for name, value in fields:
            object.__setattr__(made, name, self.build(value))
        for store, entries in zip((made._parameters, made._buffers, made._modules), parts, strict=True):
            for name, value in entries:
                store[name] = self.build(value)
        made.training = training
        return made

    def _make_object(self, key: int, number: int, kind: Any, fields: list[tuple[str, Any]]) -> Any:
        made = _side.objects.get(key)
        if made is None:
            cls = self.build(kind)
            made = _side.objects[key] = cls.__new__(cls)
        for name, value in fields:
            object.__setattr__(made, name, self.build(value))
        return self.keep(number, made, dict(vars(made)))

    def _make_optimizer(self, key: int, kind: Any, groups: list[tuple[list[Any], dict[str, Any]]]) -> Any:
        made = _side.objects.get(key)
        if made is None:
            lists: list[dict[str, Any]] = [{"params": self._many(parameters), **rest} for parameters, rest in groups]
            made = _side.objects[key] = self.build(kind)(lists)
            _side.optimizers[key] = made, copy.deepcopy(made.state_dict())
            if (state := _side.early.pop(key, None)) is not None:
                _take_state(key, state)
        return made

    def _make_partial(self, function: Any, args: Any, keywords: Any) -> Any:
        return functools.partial(self.build(function), *self.build(args), **self.build(keywords))

    def _make_held(self, number: int) -> Any:
        return _side.held[number]

    def _make_graphed(self, number: int, value: torch.Tensor) -> Any:
        always = torch.zeros((), requires_grad=True)  # its function may use others than it is given
        return _Asked.apply(number, value, *self.given, always)  # type: ignore[no-untyped-call]

    def _make_loader(self, key: int, kind: Any, fields: list[tuple[str, Any]]) -> Any:
        made = _side.objects.get(key)
        if made is None:
            made = _side.objects[key] = self.build(kind)(**{name: self.build(value) for name, value in fields})
        return made

    # ------------------------------------------------------------ results that leave

    def describe(self, value: Any, *, is_read: bool = False) -> tuple[Any, ...]:
        """A result as data, or as a handle with the names of its classes."""
        kind = type(value)
        if kind in _PLAIN:
            return "value", value
        for one in self.passed:
            if one.value is value:
                return "argument", one.number
        for key, one in _side.objects.items():
            if one is value:
                return "object", key
        if kind in _TENSORS:
            return self._describe_tensor(value, is_read)
        if kind is np.ndarray or (isinstance(value, np.generic) and kind.__module__ == "numpy"):
            return "value", value
        if (parts := parts_of(value)) is not None:
            return "rebuilt", kind.__name__, [self.describe(one) for one in parts]
        if is_read and kind in (list, dict) and len(value) <= _MOST_HELD:
            number = next((key for key, one in _side.held.items() if one is value), None)
            if number is None:
                number = next(_numbers)
                while len(_side.held) >= _MOST_HELD:
                    del _side.held[next(iter(_side.held))]
                _side.held[number] = value
            return "held", number, self._describe_plain(value, is_read)
        return self._describe_plain(value, is_read)

    def _describe_plain(self, value: Any, is_read: bool) -> tuple[Any, ...]:
        kind = type(value)
        if kind is list:
            return "list", [self.describe(one, is_read=is_read) for one in value]
        if issubclass(kind, tuple):
            items = [self.describe(one, is_read=is_read) for one in value]
            names = getattr(kind, "_fields", None) or getattr(kind, "__match_args__", None)
            return ("named", _name_of(kind), list(names), items) if names else ("tuple", items)
        if kind in (set, frozenset):
            return "set", [self.describe(one) for one in value]
        if kind is dict:
            if all(type(key) in _PLAIN and type(one) in _PLAIN for key, one in value.items()):
                return "value", dict(value)
            keys = [self.describe(one) for one in value]
            return "dict", keys, [self.describe(one, is_read=is_read) for one in value.values()]
        if isinstance(value, Path) and kind.__module__.partition(".")[0] == "pathlib":
            return "path", str(value)
        names = [_name_of(one) for one in type.mro(kind)]
        return "handle", value, names, _special_of(kind), _name_of(value) if isinstance(value, type) else ""

    def _describe_tensor(self, value: torch.Tensor, is_read: bool) -> tuple[Any, ...]:
        for key, twin in _side.twins.items():
            if twin is value:
                return "twin", key
        if value.requires_grad and value.grad_fn is not None:
            key = next(_numbers)
            _side.graphs[key] = value
            return "graph", key, detached(value)
        if is_read or value.requires_grad:
            key = -next(_numbers)
            _side.twins[key] = value
            _side.last[key] = detached(value), detached(value.grad), value.requires_grad
            return "new", key, *_side.last[key], isinstance(value, nn.Parameter)
        return "value", value

    def changed(self) -> list[tuple[int, Any]]:
        """The arguments that were changed in place, and their values now."""
        found: list[tuple[int, Any]] = []
        for number, value, before in self.passed:
            if isinstance(value, torch.Tensor):
                if not is_same(value.detach(), before):
                    found.append((number, ("value", detached(value))))
            elif isinstance(value, np.ndarray):
                if value.shape != before.shape or value.tobytes() != before.tobytes():
                    found.append((number, ("value", value.copy())))
            elif isinstance(value, io.StringIO | io.BytesIO):
                if not value.closed and (now := (value.getvalue(), value.tell())) != before:
                    found.append((number, ("tuple", [("value", now[0]), ("value", now[1])])))
            elif isinstance(value, collections.deque):
                if _has_changed([*value], [*before]):
                    found.append((number, _Call().describe([*value])))
            elif not isinstance(value, list | dict | set):  # an object of the test's own class
                if _has_changed(vars(value), before):
                    found.append((number, _Call().describe(vars(value))))
            elif _has_changed(value, before):
                found.append((number, _Call().describe(dict(value) if isinstance(value, dict) else value)))
        return found

    def written(self) -> list[tuple[int, str, bytes]]:
        """The files that were written at paths which the test has passed."""
        found = []
        for number, place in self.paths.items():
            for inside, stamp in _stamps(place):
                if self.files.get((number, inside)) != stamp and stamp[1] <= _MOST_BYTES:
                    found.append((number, inside, (place / inside if inside else place).read_bytes()))
        return found


def is_same_state(one: Any, other: Any) -> bool:
    """Whether two states of an optimizer are the same."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return is_same(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same_state(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same_state, one, other))
    return bool(one == other)


def _has_changed(value: Any, before: Any) -> bool:
    if len(value) != len(before):
        return True
    if isinstance(value, list):
        return any(a is not b and not (type(a) in _PLAIN and a == b) for a, b in zip(value, before, strict=True))
    if isinstance(value, dict):
        missing = object()
        return any(before.get(key, missing) is not one for key, one in value.items()) and bool(value != before)
    return bool(value != before)


def _name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _stamps(place: Path) -> Iterable[tuple[str, tuple[int, int]]]:
    """The files at a path, with what tells whether each was written."""
    files = [place] if place.is_file() else [one for one in place.rglob("*") if one.is_file()] if place.is_dir() else []
    for file in files:
        known = file.stat()
        yield "" if file == place else str(file.relative_to(place)), (known.st_mtime_ns, known.st_size)


def named(module: str, names: Iterable[str]) -> Any:
    """A module of the submission, or something in it."""
    found: Any = _import(module)
    for name in names:
        try:
            found = getattr(found, name)
        except AttributeError:
            whole = f"{getattr(found, '__name__', '')}.{name}"
            if not hasattr(found, "__path__") or not has_module(whole):
                raise
            found = _import(whole)
    return found


def _class_of(home: str, name: str, source: str, header: list[str]) -> Any:
    """A class: of a library, or of a test's module, made of its source with all that stands beside it."""
    if not source:
        found: Any = _import(home)
        for part in name.split("."):
            found = getattr(found, part)
        return found
    names = _side.homes.setdefault(home, {"__name__": home})
    known = _side.sent.setdefault(home, set())
    for lines in (*header, source):
        if lines not in known:
            mended = () if lines is source else (ImportError, NameError, AttributeError)
            with contextlib.suppress(*mended):
                exec(compile(lines, f"<{home}>", "exec", dont_inherit=True), names)
                known.add(lines)
    return names[name]


# ---------------------------------------------------------------- functions of the test


class _Thread(threading.Thread):
    """A call that may ask a function of the test: it waits for the answer while this process serves other calls."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.news: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._work, self._has_grad = work, torch.is_grad_enabled()

    def run(self) -> None:
        try:
            with torch.set_grad_enabled(self._has_grad):
                self.news.put(("returned", self._work()))
        except BaseException as error:
            self.news.put(("raised", error))


class _Abandoned(BaseException):
    """The check has ended while its function was asked."""


def _callback(number: int) -> Callable[..., Any]:
    """Stands for a function of the test."""

    def ask(*args: Any, **kwargs: Any) -> Any:
        thread = threading.current_thread()
        assert isinstance(thread, _Thread)
        call = _Call()
        call.given = [one for one in tensors_in((args, kwargs)) if one.requires_grad and torch.is_grad_enabled()]
        given = [call.describe(one) for one in args]
        named_ones = [(name, call.describe(one)) for name, one in kwargs.items()]
        thread.news.put(("asks", (number, given, named_ones, _pulls())))
        answer = thread.answers.get()
        if answer is None:
            raise _Abandoned
        kind, value = answer
        if kind == "raised":
            name, message = value
            raise getattr(__import__("builtins"), name, RuntimeError)(message)
        return call.build(value)

    return ask


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors in lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [one for part in parts for one in tensors_in(part)]


class _Asked(torch.autograd.Function):
    """What a function of the test has returned: its gradient is asked for, too."""

    @staticmethod
    def forward(ctx: Any, number: int, value: torch.Tensor, *given: torch.Tensor) -> Any:
        ctx.number = number
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        found, others = _callback(-ctx.number)(grad.detach())
        for key, one in others.items():
            twin = _side.twins[key]
            twin.grad = one if twin.grad is None else twin.grad + one
        return None, None, *found, None


def _wait(thread: _Thread) -> Any:
    """The next news of a call: its reply, or its question."""
    kind, value = thread.news.get()
    if kind == "asks":
        return ("asks", *value)
    _side.waiting.remove(thread)
    if kind == "raised":
        raise value
    return value


def resume(answer: Any, pushes: list[Any]) -> Any:
    """Goes on with the innermost call that waits, whose question has been answered."""
    _take(pushes)
    thread = _side.waiting[-1]
    thread.answers.put(answer)
    return _wait(thread)


# ---------------------------------------------------------------- operations


BINARY: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"
)  # fmt: skip
SPECIAL: Final = (
    *(f"{start}{name}" for start in ("", "r", "i") for name in BINARY),
    "divmod", "rdivmod", "lt", "le", "gt", "ge", "neg", "pos", "invert", "abs", "round", "bool", "float", "int",
    "complex", "index", "hash", "call", "getitem", "setitem", "delitem", "contains", "iter", "next", "len", "reversed",
    "enter", "exit", "await", "aiter", "anext", "aenter", "aexit",
)  # fmt: skip
"""Special methods of an object that a test may use, without their underscores."""


def _special_of(kind: type) -> str:
    """The special methods that a class has, and, with a dash, those that it refuses, as `__hash__` by None."""
    own: dict[str, Any] = {}
    for one in reversed(type.mro(kind)[:-1]):  # not by `getattr`, which finds those of a metaclass, too
        own.update(vars(one))
    return " ".join(f"{'-' * (own[whole] is None)}{name}" for name in SPECIAL if (whole := f"__{name}__") in own)


def _data(value: Any) -> Any:
    """The content of an object whose class is derived from one of Python's own, by this one's methods."""
    for kind, read in _CONTENT.items():
        if isinstance(value, kind):
            return read(value)
    return value


_CONTENT: Final[dict[type, Callable[[Any], Any]]] = {
    int: int.__int__,
    float: float.__float__,
    complex: lambda value: complex(value.real, value.imag),
    str: str.__str__,
    bytes: lambda value: b"".join([value]),
    list: lambda value: list(list.__iter__(value)),
    dict: lambda value: dict(dict.items(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: set(frozenset.__iter__(value)),
}


def _parameters(function: Any) -> list[tuple[Any, ...]]:
    """The parameters of a function, and at the end its result: name, kind, default and annotation."""
    signature, empty = inspect.signature(function), inspect.Parameter.empty
    result = inspect.Parameter("result", inspect.Parameter.KEYWORD_ONLY, annotation=signature.return_annotation)
    return [
        (one.name, int(one.kind), one.default is not empty, one.default, one.annotation is not empty, one.annotation)
        for one in [*signature.parameters.values(), result]
    ]


def _leave(owner: Any, kind: str, message: str, *, name: str = "__exit__") -> Any:
    """Ends a ``with`` of the test, which has raised an exception of this class (none if it is empty)."""
    if not kind:
        return getattr(owner, name)(None, None, None)
    known: Any = _side.raised
    error = known if type(known).__name__ == kind else getattr(builtins, kind, Exception)(message)
    return getattr(owner, name)(type(error), error, error.__traceback__)


async def _awaited(value: Any) -> Any:
    return await value


def _await(owner: Any, name: str = "", *args: Any) -> Any:
    """The result of a coroutine, or of a special method that makes one: it runs to its end."""
    value = _leave(owner, *args, name="__aexit__") if name == "exit" else owner
    value = anext(owner) if name == "anext" else owner.__aenter__() if name == "enter" else value
    return _side.loop().run_until_complete(_awaited(value))


def fill(number: int, items: list[Any]) -> None:
    """Gives a list or dict of the submission the content that the test has given it."""
    held, call = _side.held.get(number), _Call()
    values = [call.build(one) for one in items]
    if isinstance(held, list):
        held[:] = values
    elif isinstance(held, dict):
        held.clear()
        held.update(values)


def has_module(name: str) -> bool:
    """Whether there is a module of this name."""
    return importlib.util.find_spec(name) is not None


_OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "call": lambda function, *args, **kwargs: function(*args, **kwargs),
    "get": lambda value: value,
    "item": lambda owner, at: list(owner)[at],
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "class": lambda owner: "builtins.type" if isinstance(owner, type) else _name_of(type(owner)),
    "doc": lambda owner: owner.__doc__,
    "dict": lambda owner: dict(vars(owner)),
    "signature": _parameters,
    "dataclass_fields": lambda owner: [one.name for one in dataclasses.fields(owner)],
    "data": _data,
    "enter": lambda owner: owner.__enter__(),
    "exit": _leave,
    "await": _await,
}


def operation(name: str) -> Callable[..., Any]:
    """What an operation does, by its name: one of these, or a function of Python's own, or an operator."""
    return _OPERATIONS.get(name) or getattr(builtins, name, None) or getattr(operator, f"__{name}__")


def _enter(stack: contextlib.ExitStack, name: str, value: Any) -> None:
    """Makes something around a call be as it is around the test."""
    match name:
        case "grad":
            stack.enter_context(torch.set_grad_enabled(value))
        case "dtype":
            stack.callback(torch.set_default_dtype, torch.get_default_dtype())
            torch.set_default_dtype(value)
        case "environ":
            before = {key: os.environ.get(key) for key in value}
            stack.callback(_set_environ, before)
            _set_environ(value)
        case "place":
            stack.callback(os.chdir, os.getcwd())
            value.mkdir(parents=True, exist_ok=True)
            os.chdir(value)
        case "warnings":
            seen = stack.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter(value)
            stack.callback(lambda: _side.warned.extend((_names_of(one.category), str(one.message)) for one in seen))
        case "patch":
            home, attribute, replaced = value
            owner = _import(home)
            stack.callback(setattr, owner, attribute, getattr(owner, attribute))
            setattr(owner, attribute, replaced)


def _set_environ(values: dict[str, str | None]) -> None:
    for key, value in values.items():
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value


def run(
    name: str,
    target: Any,
    args: list[Any],
    kwargs: list[tuple[str, Any]],
    pushes: list[Any],
    around: tuple[list[Any], list[Any]],
    may_ask: bool,
) -> Any:
    """One operation on the submission.

    Args:
        around: the states of random generators that have changed, and what else is as the test has set it.

    Returns:
        The result, the arguments and twins that were changed, the files that were written, the logs, the warnings, and
        how random generators were used; or the question to a function of the test.
    """
    _take(pushes)
    call = _Call()
    owner, values = call.build(target), [call.build(one) for one in args]
    named_values = {key: call.build(one) for key, one in kwargs}
    states, settings = around[0], [(key, call.build(one)) for key, one in around[1]]
    for number, state in states:
        set_state(number, state)
    before = _side.moment = Moment(_side.moment)

    def work() -> tuple[Any, ...]:
        if name == "setattr" and isinstance(owner, type(sys) | type):
            _side.replaced.append((owner, values[0], vars(owner).get(values[0], _Side)))
        try:
            with contextlib.ExitStack() as stack:
                for key, value in settings:
                    _enter(stack, key, value)
                if name == "delattr" and _side.put_back(owner, *values):
                    result = None
                else:
                    result = operation(name)(owner, *values, **named_values)
        except SystemExit as error:
            return "exits", error.code if type(error.code) in (int, str) else None
        except Exception as error:
            _side.raised = error
            raise
        described = call.describe(result, is_read=name in ("getattr", "get"))
        logged = _side.log.take() if _side.log is not None else []
        warned, _side.warned = _side.warned, []
        _side.moment = Moment(before)
        drawn = [tuple(one) for one in _side.seeds.drawn(before, _side.moment)]
        return "returned", described, call.changed(), _pulls(), call.written(), logged, warned, drawn

    if not may_ask:
        return work()
    thread = _Thread(work)
    _side.waiting.append(thread)
    thread.start()
    return _wait(thread)


def _names_of(kind: type) -> list[str]:
    return [f"{one.__module__}.{one.__qualname__}" for one in type.mro(kind)]


def _text_of(error: BaseException) -> str:
    with contextlib.suppress(Exception):
        return str(error)
    return ""


def facts_of_raised() -> Any:
    """Of the exception that was raised last, and of its causes: the text, the classes, arguments and attributes."""
    error, call = _side.raised, _Call()
    found: list[tuple[Any, ...]] = []
    while error is not None and len(found) < _MOST_CAUSES:
        args, fields = getattr(error, "args", ()), dict(getattr(error, "__dict__", {}))
        found.append((_text_of(error), _names_of(type(error)), call.describe(args), call.describe(fields)))
        error = error.__cause__
    return found


def saved_for(key: int) -> Any:
    """What the function of a graph here has saved for its backward."""
    call = _Call()
    return [call.describe(one) for one in getattr(_side.graphs[key].grad_fn, "saved_tensors", ())]


def differentiate(key: int, grad: torch.Tensor, pushes: list[Any]) -> Any:
    """The gradients that a result with a graph here has with respect to twins; others stay where they are."""
    _take(pushes)
    leaves = {number: twin for number, twin in _side.twins.items() if number > 0 and twin.is_leaf}
    before = {number: twin.grad for number, twin in leaves.items()}
    for twin in leaves.values():
        twin.grad = None
    _backward(_side.graphs[key], grad, retain_graph=True)
    found = [(number, twin.grad) for number, twin in leaves.items() if twin.grad is not None]
    for number, twin in leaves.items():
        twin.grad = before[number]
    return found, _pulls()
