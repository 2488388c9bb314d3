"""Answers the judge's calls, in the process that holds the submitted module.

It runs wherever submitted code runs (a student process, or in-process under plain pytest), so it holds no expected
answer and decides nothing: it calls, and sends the result. Must never import checks, solutions or the judge.
"""

import builtins
import dis
import functools
import heapq
import importlib
import itertools
import linecache
import operator
import os
import random
import sys
import traceback
import weakref
from collections.abc import Callable, Mapping
from types import ModuleType, TracebackType
from typing import Any, Final

import torch

from grader.border import tables, wire
from grader.border.arena import Arena, Placing, is_watched
from grader.border.bounds import Budget, WireError
from grader.border.labels import surroundings
from grader.border.messages import FORGET, MAX_MESSAGE, Missing, Raised, Request, Returned, SentLine, TooLarge
from grader.border.tensor_facts import name_of_class
from grader.border.wire import Tree
from grader.package import FOLDER

MAX_LINES: Final = 12
"""Lines of a traceback that are sent."""
WRONG_ANSWERS: Final = "_misconceptions"
"""Name of the module that a course's own wrong answers are sent as."""
NOT_SIMULATED: Final = "NotSimulated"
"""The name of the exception that says that a device has no such thing here."""
_RAISING: Final = ("RAISE_VARARGS", "RERAISE")
# As they were before any submitted code could replace them.
_OPERATION_NAMES: Final = tuple(dis.opname)
_walk_traceback: Final = traceback.walk_tb
_line_of_file: Final = linecache.getline
_TRUSTED: Final = tuple(
    os.path.join(folder, "") for folder in (os.path.dirname(os.path.abspath(torch.__file__)), str(FOLDER))
)

_GENERATORS_SEED: Final = 20_210
# If torch has loaded NumPy, its generators are loaded now, because else they would begin at any place.
_SEED_A_GENERATOR: Final[tuple[Callable[[int], object], ...]] = (
    torch.default_generator.manual_seed,
    random.seed,
    *((importlib.import_module("numpy.random").seed,) if "numpy" in sys.modules else ()),
)


_OPERATIONS: Final[dict[str, Callable[..., object]]] = {
    "call": lambda function, /, *args, **kwargs: function(*args, **kwargs),
    "value": lambda value: value,
    **{operation.__name__: operation for operation in (getattr, setattr, operator.getitem, len, iter, next)},
}


class MissingError(Exception):
    """The submitted module does not define the name that was asked for."""


class Service:
    """One submitted module and the objects that its calls left here.

    Args:
        module: the submitted topic module.
        files: file names whose frames are the student's own.
        modules: modules by name whose functions a check may run here: of the test kit and of the course's kit.
        arena: memory shared with the judge, for the tensors that are passed to functions and objects of submitted code.
    """

    def __init__(
        self,
        module: ModuleType,
        files: frozenset[str],
        modules: Mapping[str, ModuleType] | None = None,
        arena: Arena | None = None,
    ) -> None:
        self._module = module
        self._modules = modules or {}
        self._trusted = (*_TRUSTED, *(file for module in self._modules.values() if (file := module.__file__)))
        self._files = files
        self._objects: dict[int, object] = {}
        self._ids: dict[int, int] = {}
        self._placing = None if arena is None else Placing(arena)
        vars(module).setdefault("id", ShortIds())
        _restart_generators()

    def forget(self) -> int:
        """Drops all handles and puts the global random generators at a fixed place; checks do not depend on another.

        Returns:
            the place of the next tensor in the arena: 0, unless submitted code keeps some that it was given.
        """
        self._objects.clear()
        self._ids.clear()
        surroundings.clear()
        _restart_generators()
        return 0 if self._placing is None else self._placing.restart()

    def answer(self, request: bytes) -> bytes:
        """Performs one `Request` and gives the `Reply`."""
        try:
            call = wire.unpack(request, Request)
            if call.operation == FORGET.operation:
                return wire.pack(Returned(self.forget()))
            function = _OPERATIONS[call.operation]
            budget, memory = Budget(), self._placing if is_watched(call) else None
            resolve = functools.partial(self._resolve, memory, budget)
            values = [wire.decode(item, resolve, budget, memory) for item in call.args]
            named = {name: wire.decode(item, resolve, budget, memory) for name, item in call.kwargs}
        except MissingError as error:
            return wire.pack(Missing(str(error)))
        try:
            try:
                with surroundings.enter():
                    result = function(*values, **named)
            finally:
                if self._placing is not None:
                    self._placing.finish_call()
            budget = Budget()
            return wire.pack(Returned(wire.encode(result, functools.partial(self._keep, budget, call), budget)))
        except WireError as error:
            return wire.pack(TooLarge(str(error)))
        except BaseException as error:
            return wire.pack(self.describe(error if self._is_raised_outside(error) else surroundings.translate(error)))

    def describe(self, error: BaseException) -> Raised:
        """An exception as it is sent. Of the exception's own code only ``__str__`` runs."""
        name = name_of_class(type(error))
        is_built_in = getattr(builtins, name, None) is type(error)
        try:
            message = str(error)[:MAX_MESSAGE]
        except BaseException:
            message = "(its message cannot be read)"
        if name == NOT_SIMULATED and self._is_raised_outside(error):
            name = "Exception"  # a submission cannot skip a check by an exception of that name
        return Raised(name[:100], is_built_in, _encodable(message), self._frames(error))

    def _frames(self, error: BaseException) -> tuple[SentLine, ...]:
        """The student's own frames, outermost first."""
        if isinstance(error, SyntaxError) and type(error.filename) is str and error.filename in self._files:
            text = error.text if type(error.text) is str else ""
            return (_sent_line(error.filename, error.lineno if type(error.lineno) is int else 0, "", text),)
        lines = [
            _sent_line(code.co_filename, line, code.co_name, _line_of_file(code.co_filename, line))
            for code, line in ((frame.f_code, line) for frame, line in _walk_traceback(_traceback(error)))
            if code.co_filename in self._files
        ]
        return tuple(lines if len(lines) <= MAX_LINES else lines[: MAX_LINES // 2] + lines[-MAX_LINES // 2 :])

    def _resolve(self, memory: Placing | None, budget: Budget, tree: list[Tree]) -> object:
        match tree:
            case ["h", int(number)]:
                return self._objects[number]
            case ["r", str(module), str(name)] if module in self._modules:
                return getattr(self._modules[module], name)
            case [tables.TAG, *_]:
                return tables.made_of(tree, budget, may_import=True)
            case ["g", *items]:
                drawn: Any = wire.decode(["l", *items], functools.partial(self._resolve, memory, budget), None, memory)
                return (item for item in drawn)
            case ["f", str(name)]:
                try:
                    return getattr(self._module, name)
                except AttributeError:
                    raise MissingError(name) from None
        raise WireError(f"unknown tag {tree[0]!r}")

    def _is_raised_outside(self, error: BaseException) -> bool:
        """Whether a ``raise`` statement outside the grader, the kit and torch made the exception.

        The submission then chose to raise it, and no call of torch failed.
        """
        tb = _traceback(error)
        while tb is not None and tb.tb_next is not None:
            tb = tb.tb_next
        if tb is None or tb.tb_lasti < 0:
            return True
        code = tb.tb_frame.f_code
        operation = _OPERATION_NAMES[code.co_code[tb.tb_lasti]]
        return operation in _RAISING and not code.co_filename.startswith(self._trusted)

    def _keep(self, budget: Budget, call: Request, value: object) -> Tree:
        """The tree of a table, or of a handle."""
        if (tree := tables.tree_of(value, budget, has_pandas=call.has_pandas)) is not None:
            return tree
        number = self._ids.setdefault(id(value), len(self._ids))
        self._objects[number] = value
        return ["h", number, name_of_class(type(value))[:100]]


def _restart_generators() -> None:
    """Puts the global random generators of torch, Python and NumPy at the same place."""
    for seed in _SEED_A_GENERATOR:
        seed(_GENERATORS_SEED)


_traceback: Final[Callable[[BaseException], TracebackType | None]] = vars(BaseException)["__traceback__"].__get__
"""The traceback itself, not an attribute of that name which submitted code has defined."""


def _sent_line(filename: str, line: int, function: str, text: str) -> SentLine:
    return SentLine(filename.rsplit("/", 1)[-1][:100], line, function[:100], _encodable(text.strip()[:200]))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


class ShortIds:
    """The `id` that submitted code gets: when an object is gone, the next new one has its number.

    Python promises no more than that numbers of objects that live at the same time differ. A cache by ``id`` that
    outlives its objects gives old results by chance, and passes by chance; with these numbers it gives them every time.
    Objects that cannot be referred to weakly, such as numbers and lists, have their real `id`.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._free: list[int] = []
        self._new = itertools.count(1)

    def __call__(self, obj: object, /) -> int:
        address = id(obj)
        if address not in self._numbers:
            try:
                ref = weakref.ref(obj, lambda _: heapq.heappush(self._free, self._numbers.pop(address)[1]))
            except TypeError:
                return address
            self._numbers[address] = ref, heapq.heappop(self._free) if self._free else next(self._new)
        return self._numbers[address][1]
