"""Arguments that arrive from a test, made into real values, and the files that come with them."""

import collections
import contextlib
import copy
import functools
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Generator, Iterable, Set
from io import BytesIO, StringIO
from typing import Any, Final

import torch
from torch import nn

from grader.testkit import generators
from grader.testkit.far.callbacks import MagicMocked, Mocked, ask, tensors_in
from grader.testkit.far.contents import CONTAINERS, is_shared, set_content
from grader.testkit.far.files import change_file, stamps
from grader.testkit.far.operations import named, signature_of
from grader.testkit.far.results import Passed, content_of, parts_of_module
from grader.testkit.far.side import detached, here, take_state
from grader.testkit.rebuilt import is_mutable, rebuilt

_MOST_BYTES: Final = 8 << 20
"""Bytes of a written file that are sent back."""
_HOLDING: Final = (tuple, *CONTAINERS)


class Crossed:
    """One operation while it runs: the arguments that it may change, and files that it may write."""

    def __init__(self) -> None:
        self.passed: list[Passed] = []
        self.given: list[torch.Tensor] = []
        self._tuples: list[tuple[Any, ...]] = []
        self._counts: list[int] = []

    def keep(self, number: int, value: Any, before: Any = None) -> Any:
        """Notes an argument that the submission may change, with its content now, if that is not given."""
        for one in self.passed:
            if one.number == number:
                return one.value
        if before is None:
            content = content_of(value)
            before = detached(content) if isinstance(content, torch.Tensor) else copy.copy(content)
        self.passed.append(Passed(number, value, before))
        return value

    def build(self, tree: Any) -> Any:
        """The value that a test has passed."""
        tag, *rest = tree
        make = _SIMPLE.get(tag)
        return make(self, *rest) if make else getattr(self, f"_make_{tag}")(*rest)

    def many(self, trees: Iterable[Any]) -> list[Any]:
        return [self.build(one) for one in trees]

    def count(self) -> None:
        """Notes how many references there are to the arguments before the operation."""
        self._counts = self._references()

    def kept(self) -> list[int]:
        """The numbers of the arguments to which there are more references now: what has these may change them later.

        With a list or dict, all that is in it has been kept.
        """
        counts = self._references()
        values = [*(one.value for one in self.passed), *self._tuples]
        todo = [one for one, before, now in zip(values, self._counts, counts, strict=True) if now > before]
        inside = {id(one): one for one in values}
        found = {id(one) for one in todo}
        while todo:
            one = todo.pop()
            for item in one.values() if isinstance(one, dict) else one if isinstance(one, _HOLDING) else ():
                if id(item) in inside and id(item) not in found:
                    found.add(id(item))
                    todo.append(item)
        return self.share(found)

    def share(self, only: Set[int] | None = None) -> list[int]:
        """Shares arguments with the test, as they were when it has passed them; their numbers.

        Args:
            only: the ids of these; None for all.
        """
        shared = [one for one in self.passed if (only is None or id(one.value) in only) and is_shared(one.value)]
        shared = [one for one in shared if one.number not in here().objects]
        for one in shared:
            before = collections.deque(one.before) if isinstance(one.value, collections.deque) else one.before
            here().contents[one.number] = here().know(one.number, one.value), "", before
        return [one.number for one in shared]

    def _references(self) -> list[int]:
        return [*(sys.getrefcount(one.value) for one in self.passed), *map(sys.getrefcount, self._tuples)]

    def _make_tuple(self, items: list[Any]) -> Any:
        self._tuples.append(made := tuple(self.many(items)))
        return made

    def _make_dict(self, number: int, keys: list[Any], values: list[Any]) -> Any:
        return self.keep(number, dict(zip(self.many(keys), self.many(values), strict=True)))

    def _make_rebuilt(self, number: int, name: str, parts: list[Any]) -> Any:
        made = rebuilt(name, self.many(parts))
        return self.keep(number, made) if is_mutable(made) else made

    def _make_generator(self, number: int, name: str, state: Any) -> Any:
        """A random generator of the test; a state comes only if the test has used it."""
        made = _once(number, functools.partial(generators.make, name))
        if state is not None:
            here().generators.take(number, made, self.build(state))
        return made

    def _make_named(self, whole: str, name: str, fields: list[str], items: list[Any]) -> Any:
        """A named tuple: of a class here, or of the test."""
        kind = here().named_tuples.get(whole or name)
        if kind is None:
            kind = pkgutil.resolve_name(whole) if whole else collections.namedtuple(name, fields)
            here().named_tuples[whole or name] = kind
        made = getattr(kind, "_make", kind)(self.many(items))
        self._tuples += [made] if isinstance(made, tuple) else []
        return made

    def _make_set(self, number: int, items: list[Any]) -> Any:
        made = set(self.many(items))
        return self.keep(number, made) if number else frozenset(made)

    def _make_file(self, number: int, content: str | bytes, place: int) -> Any:
        file: Any = StringIO(content) if isinstance(content, str) else BytesIO(content)
        file.seek(place)
        return self.keep(number, file)

    def _make_path(self, number: int, name: str, inside: str, is_text: bool, changes: Any) -> Any:
        """A path of the test, in a folder that is brought up to date first; 0 is the current one."""
        if not number:
            for changed, content in changes:
                here().beside.put(changed, content)
            return None
        place = here().folder() / str(number) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        for changed, content in changes:
            change_file(place / changed, changed, content)
        here().paths[number] = place
        here().files[number] = dict(stamps(place))
        return str(place / inside) if is_text else place / inside

    def _make_function(self, number: int, is_later: bool, names: dict[str, Any], parameters: list[Any]) -> Any:
        made = _once(number, lambda: _later(_callback(number)) if is_later else _callback(number))
        for name, value in names.items():
            setattr(made, name, value)
        if parameters:
            built = [(*one[:3], self.build(one[3]), one[4], self.build(one[5])) for one in parameters]
            made.__signature__ = signature_of(built)
            made.__annotations__ = {"return" if one is built[-1] else one[0]: one[5] for one in built if one[4]}
        return made

    def _make_lazy(self, number: int, is_begun: bool) -> Any:
        made = _once(number, lambda: _items(_callback(number), is_begun))
        if is_begun and inspect.getgeneratorstate(made) == inspect.GEN_CREATED:
            next(made)  # to where it takes a value
        return made

    def _make_mock(self, number: int, is_magic: bool, is_later: bool) -> Any:
        kind = MagicMocked if is_magic else Mocked
        return _once(number, lambda: kind(_callback(number), is_later))

    def _empty(self, kind: Any) -> Any:
        cls = self.build(kind)
        made = cls.__new__(cls)
        if isinstance(made, nn.Module):
            nn.Module.__init__(made)
        return made

    def _make_module(
        self, number: int, kind: Any, fields: list[tuple[str, Any]], parts: list[list[tuple[str, Any]]], training: bool
    ) -> Any:
        """A module of the test: its parameters and buffers are twins, its plain fields are set."""
        made = _once(number, lambda: self._empty(kind))
        for name, value in fields:
            object.__setattr__(made, name, self.build(value))
        for store, entries in zip((made._parameters, made._buffers, made._modules), parts, strict=True):
            for name, value in entries:
                store[name] = self.build(value)
            for gone in store.keys() - dict(entries).keys():
                del store[gone]
        made.training = training
        here().modules[number] = parts_of_module(made)
        return made

    def _make_object(self, key: int, kind: Any, fields: list[tuple[str, Any]]) -> Any:
        made = _once(key, lambda: self._empty(kind))
        set_content(key, made, "", {name: self.build(value) for name, value in fields})
        return made

    def _make_optimizer(self, key: int, kind: Any, groups: list[tuple[list[Any], dict[str, Any]]]) -> Any:
        made = here().objects.get(key)
        if made is None:
            lists: list[dict[str, Any]] = [{"params": self.many(parameters), **rest} for parameters, rest in groups]
            made = here().know(key, self.build(kind)(lists))
            here().optimizers[key] = made, copy.deepcopy(made.state_dict())
            if (state := here().early.pop(key, None)) is not None:
                take_state(key, state)
        return made

    def _make_partial(self, key: int, function: Any, args: Any, keywords: Any) -> Any:
        return _once(key, lambda: functools.partial(self.build(function), *self.build(args), **self.build(keywords)))

    def _make_graphed(self, number: int, value: torch.Tensor) -> Any:
        always = torch.zeros((), requires_grad=True)  # its function may use others than it is given
        return _Asked.apply(number, value, *self.given, always)  # type: ignore[no-untyped-call]

    def _make_loss(self, key: int, leaves: list[int]) -> Any:
        """A number with a graph in the test, through which the submission may go back, too."""
        return _Loss.apply(key, leaves, *(here().twins[one] for one in (key, *leaves)))  # type: ignore[no-untyped-call]

    def _make_loader(self, key: int, kind: Any, fields: list[tuple[str, Any]]) -> Any:
        return _once(key, lambda: self.build(kind)(**{name: self.build(value) for name, value in fields}))


_SIMPLE: Final[dict[str, Callable[..., Any]]] = {
    "value": lambda call, value: value,
    "name": lambda call, module, names: named(module, names),
    "twin": lambda call, key: here().twins[key],
    "known": lambda call, key: here().objects[key],
    "tensor": Crossed.keep,
    "table": Crossed.keep,
    "array": Crossed.keep,
    "data": lambda call, number, value: call.keep(number, value, copy.deepcopy(value)),
    "list": lambda call, number, items: call.keep(number, call.many(items)),
    "pattern": lambda call, text, flags: re.compile(text, flags),
    "match": lambda call, text, flags, string, *places: re.compile(text, flags).match(string, *places),
    "ellipsis": lambda call: ...,
    "slice": lambda call, items: slice(*call.many(items)),
    "iterator": lambda call, number, items: call.keep(number, iter(call.many(items))),
    "opaque": lambda call, key: _once(key, object),
    "member": lambda call, kind, name: call.build(kind)[name],
    "exception": lambda call, kind, args: call.build(kind)(*call.many(args)),
    "class": lambda call, *place: _class_of(call, *place),
    "kind": lambda call, example: type(call.build(example)),
}


def _once(key: int, make: Callable[[], Any]) -> Any:
    """The object of the test with this number, which is made when it comes first."""
    if key not in here().objects:
        here().know(key, make())
    return here().objects[key]


def _class_of(
    call: Crossed, home: str, name: str, source: str, header: list[str], needs: Any = (), variables: Any = ()
) -> Any:
    """A class: of a library, or of a test's module, made of its source with all that stands beside it."""
    if not source:
        return named(home, name.split("."))
    names = here().homes.setdefault(home, {"__name__": home})
    names.update({one: call.build(tree) for one, tree in needs})
    values = [(key, one, is_of_class, call.build(tree)) for key, one, is_of_class, tree in variables]
    known = here().sent.setdefault(home, set())
    for lines in (*header, source):
        if lines is source:  # at last: the header may have set a variable to its first value
            for key, one, _, value in (given for given in values if not given[2]):
                set_content(key, names, one, value)
        if lines not in known:
            mended = () if lines is source else (ImportError, NameError, AttributeError)
            with contextlib.suppress(*mended):
                exec(compile(lines, f"<{home}>", "exec", dont_inherit=True), names)
                known.add(lines)
    for key, one, _, value in (given for given in values if given[2]):
        set_content(key, names[name], one, value)
    return names[name]


def _items(ask: Callable[..., Any], is_begun: bool) -> Generator[Any, Any, None]:
    """The items of an iterator of the test, each when it is needed; values that are sent to it are sent on."""
    sent = (yield) if is_begun else None
    while item := ask() if sent is None else ask(sent):
        sent = yield item[0]


def _later(ask: Callable[..., Any]) -> Callable[..., Any]:
    async def ask_later(*args: Any, **kwargs: Any) -> Any:
        return ask(*args, **kwargs)

    return ask_later


def written() -> list[tuple[int, str, bytes | None]]:
    """The changes since at all paths that the test has passed, and by 0 those in the current folder: files, folders,
    and None for each that is gone."""
    found: list[tuple[int, str, bytes | None]] = [(0, *one) for one in here().beside.changes()]
    for number, place in here().paths.items():
        before, now = here().files[number], dict(stamps(place))
        here().files[number] = now
        for inside, stamp in now.items():
            if before.get(inside) != stamp and (inside.endswith("/") or (place / inside).stat().st_size <= _MOST_BYTES):
                found.append((number, inside, b"" if inside.endswith("/") else (place / inside).read_bytes()))
        found += [(number, inside, None) for inside in sorted(before.keys() - now.keys(), reverse=True)]
    return found


def _callback(number: int) -> Callable[..., Any]:
    """Stands for a function of the test."""

    def call(*args: Any, **kwargs: Any) -> Any:
        made = Crossed()
        made.given = [one for one in tensors_in((args, kwargs)) if one.requires_grad and torch.is_grad_enabled()]
        return made.build(ask(number, args, kwargs))

    return call


class _Asked(torch.autograd.Function):
    """The result of a function of the test: its gradient is asked for, too."""

    @staticmethod
    def forward(ctx: Any, number: int, value: torch.Tensor, *given: torch.Tensor) -> Any:
        ctx.number = number
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        found, others = _callback(-ctx.number)(grad.detach())
        for key, one in others.items():
            twin = here().twins[key]
            twin.grad = one if twin.grad is None else twin.grad + one
        return None, None, *found, None


class _Loss(torch.autograd.Function):
    """A number with a graph in the test. If it is the test that differentiates, it goes on through the graph itself."""

    @staticmethod
    def forward(ctx: Any, key: int, keys: list[int], loss: torch.Tensor, *leaves: torch.Tensor) -> Any:
        ctx.key, ctx.keys = key, keys
        return loss.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        if getattr(here().differentiating, "by_test", False):
            return None, None, grad, *[None] * len(ctx.keys)
        found = _callback(-ctx.key)(grad.detach())[1]
        return None, None, None, *map(found.get, ctx.keys)
