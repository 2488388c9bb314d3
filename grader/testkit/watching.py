"""Watches one call of a submitted function: changed and shared arguments, operations and gradients.

Runs in the student process; checks use it through `grader.testkit.observation`. Must never decide anything.
"""

import contextlib
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, TextIO

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from grader.border.tensor_facts import copy_of, is_a, is_leaf, plain, requires_grad, share_memory

_equal, _allclose, _sum = torch.equal, torch.allclose, torch.sum
_generator_state = torch.default_generator.get_state


MOST_PRINTED: Final = 1 << 20
"""Characters of a call's prints that a check gets; more are left out."""


class _Calls(TorchFunctionMode):
    """Counts and names every torch function that runs, property reads excepted."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.names: Counter[str] = Counter()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name not in ("__get__", "__set__"):
            self.count += 1
            self.names[name] += 1
        return func(*args, **(kwargs or {}))


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Names the operations below the torch functions: these are seen even if the torch functions are not."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: else torch imports its compiler when the mode is first used, a second in every student process."""
        return False

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names[func.overloadpacket.__name__.removeprefix("_")] += 1
        return func(*args, **(kwargs or {}))


def watch(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """One call, and the fields of an `Observation`."""
    given: dict[str, Any] = {str(position): item for position, item in enumerate(args)} | kwargs
    tensors = {path: tensor for name, item in given.items() for path, tensor in _inside(name, item)}
    before = {path: copy_of(tensor) for path, tensor in tensors.items()}
    parts = {path: (item, _parts(item)) for name, item in given.items() for path, item in _containers(name, item)}
    generator = _generator_state()
    with _Calls() as calls, _Operations() as operations:
        result = function(*args, **kwargs)
    rng_used = not _equal(generator, _generator_state())
    changed = tuple(path for path, tensor in tensors.items() if not _is_same(before[path], tensor))
    changed += tuple(path for path, (item, kept) in parts.items() if not _are_same(kept, _parts(item)))
    is_tensor = is_a(result, torch.Tensor)
    can_be_returned = is_tensor or not issubclass(type(result), (int, float, str, bytes, bool, type(None), tuple))
    same = (path for path, item in (given | tensors).items() if item is result and can_be_returned)
    shares = tuple(
        path for path, tensor in tensors.items() if is_tensor and (tensor is result or share_memory(tensor, result))
    )
    grad, leaf = is_tensor and requires_grad(result), is_tensor and is_leaf(result)
    called = dict(sorted((calls.names | operations.names).items()))  # of both counts of a name, the larger one
    return result, changed, next(same, None), shares, calls.count, called, grad, leaf, rng_used


class _Printed(io.TextIOBase):
    """Keeps what is printed, and prints it all the same."""

    def __init__(self, stream: TextIO) -> None:
        self.kept: list[str] = []
        self._stream = stream
        self._left = MOST_PRINTED

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        self.kept.append(text[: self._left])
        self._left -= len(self.kept[-1])
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()


def record_prints(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> str:
    """One call; what it printed to ``sys.stdout``."""
    output = _Printed(sys.stdout)
    with contextlib.redirect_stdout(output):
        function(*args, **kwargs)
    return "".join(output.kept)


def without_spelling(fields: tuple[Any, ...]) -> tuple[Any, ...]:
    """The fields of an observation without the torch functions that ran, because one mistake has many spellings."""
    return fields[:4] + fields[6:]


def backpropagate(
    function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], wrt: tuple[int, ...], part: int | None = None
) -> tuple[Any, list[torch.Tensor | None], bool]:
    """One call, its value or an item of it, and the gradients by torch."""
    leaves = [plain(args[position]).requires_grad_(True) for position in wrt]
    for position, leaf in zip(wrt, leaves, strict=True):
        args[position] = leaf
    value = function(*args, **kwargs)
    if part is not None and type(value) in (list, tuple) and part < len(value):
        value = value[part]
    if not is_a(value, torch.Tensor) or not requires_grad(value):
        return value, [None] * len(leaves), False
    with torch._C.DisableTorchFunctionSubclass():
        total = _sum(value)
    grads = torch.autograd.grad(total, leaves, allow_unused=True)
    return value, list(grads), True


def _inside(path: str, item: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if is_a(item, torch.Tensor):
        yield path, item
    elif type(item) in (list, tuple):  # exact types, because a class of submitted code may give other items each time
        for position, part in enumerate(item):
            yield from _inside(f"{path}[{position}]", part)
    elif type(item) is dict:
        for key, part in item.items():
            yield from _inside(f"{path}[{key!r}]", part)


def _containers(path: str, item: Any) -> Iterator[tuple[str, list[Any] | dict[Any, Any]]]:
    """The lists and dicts in an argument, and itself if it is one."""
    if type(item) in (list, dict):
        yield path, item
    if type(item) in (list, tuple):
        for position, part in enumerate(item):
            yield from _containers(f"{path}[{position}]", part)
    elif type(item) is dict:
        for key, part in item.items():
            yield from _containers(f"{path}[{key!r}]", part)


def _parts(item: list[Any] | dict[Any, Any]) -> list[Any]:
    """The items of a list, or the keys of a dict and then its values."""
    return [*item, *item.values()] if isinstance(item, dict) else list(item)


def _are_same(before: list[Any], after: list[Any]) -> bool:
    """Whether these are the same objects in the same order, or plain ones that are equal."""
    return len(before) == len(after) and all(
        one is other or (type(one) is type(other) and type(one) in (int, float, str, bool) and one == other)
        for one, other in zip(before, after, strict=True)
    )


def _is_same(before: torch.Tensor, tensor: torch.Tensor) -> bool:
    """Whether a tensor still has its shape, dtype and numbers; False if it can no longer be read."""
    try:
        after = plain(tensor)
        return (
            before.shape == after.shape
            and before.dtype == after.dtype
            and bool(_equal(before, after) or _allclose(before, after, rtol=0, atol=0, equal_nan=True))
        )
    except Exception:
        return False
