"""Facts about tensors and modules of submitted code, read by torch's own methods and never by the object's.

``x.detach()`` is the word of submitted code: an instance attribute, a subclass or ``__torch_function__`` takes the
method's place. Here the methods of torch's base classes are called, as they were when this file was imported. A
subclass with ``__torch_dispatch__`` still runs its own code: then a function may raise anything.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import torch
from torch import Tensor, nn

R = TypeVar("R")
_BASE: Final[Any] = torch._C.TensorBase
_without_overrides: Final[Any] = torch._C.DisableTorchFunctionSubclass
_storage_start: Final = torch.UntypedStorage.data_ptr
_clone, _stride, _storage = Tensor.clone, _BASE.stride, _BASE.untyped_storage
_get_shape, _get_dtype, _get_device, _get_requires_grad, _get_layout = (
    getattr(_BASE, name).__get__ for name in ("shape", "dtype", "device", "requires_grad", "layout")
)
_fields: Final[Any] = vars(nn.Module)["__dict__"].__get__
_name: Final[Any] = vars(type)["__name__"].__get__


def _own(method: Callable[..., R]) -> Callable[..., R]:
    """A method of torch's, which no subclass of its arguments can override."""

    def ask(*tensors: Tensor) -> R:
        with _without_overrides():
            return method(*tensors)

    return ask


_detach: Final[Callable[[Tensor], Tensor]] = _own(_BASE.detach)
grad_of: Final[Callable[[Tensor], Tensor | None]] = _own(_BASE.grad.__get__)
requires_grad: Final[Callable[[Tensor], bool]] = _own(_get_requires_grad)
is_leaf: Final[Callable[[Tensor], bool]] = _own(_BASE.is_leaf.__get__)
start: Final[Callable[[Tensor], int]] = _own(_BASE.data_ptr)
"""The address of a tensor's first element."""
storage: Final[Callable[[Tensor], Any]] = _own(_storage)
"""The one object that all views of the same memory share."""
copy: Final[Callable[[Tensor, Tensor], object]] = _own(_BASE.copy_)
"""Writes the numbers of the second tensor into the first."""


def is_a(value: object, kind: type) -> bool:
    """Whether an object's real class is `kind` or a subclass; its ``__class__`` is not asked."""
    return issubclass(type(value), kind)


def name_of_class(kind: type) -> str:
    """The name that a class has; a metaclass is not asked."""
    name: str = _name(kind)
    return name


def plain(tensor: Tensor) -> Tensor:
    """The same memory as a new, exact `torch.Tensor` without a graph.

    Raises:
        TypeError: if a subclass makes something else of it.
    """
    found = _detach(tensor)
    if type(found) is not Tensor:
        raise TypeError("a tensor that is no plain memory")
    return found


def copy_of(tensor: Tensor) -> Tensor:
    """Its numbers in memory of their own."""
    return _clone(plain(tensor))


def form(tensor: Tensor) -> tuple[object, ...]:
    """Whether it requires grad, and the meaning of its bytes: dtype, shape, strides, device."""
    with _without_overrides():
        meaning = _get_dtype(tensor), _get_shape(tensor), _stride(tensor), _get_device(tensor)
        return bool(_get_requires_grad(tensor)), *meaning


def share_memory(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are views of the same memory; False for sparse ones."""
    with _without_overrides():
        if _get_layout(one) is not torch.strided or _get_layout(other) is not torch.strided:
            return False
        return bool(_storage_start(_storage(one)) == _storage_start(_storage(other)) != 0)


def parts(model: nn.Module, *, each_name: bool = False) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The modules of a model by name, each with its ``__dict__``; in the order of ``named_modules()``.

    Args:
        each_name: whether a module that is used twice comes under each of its names, as in ``state_dict()``.

    Raises:
        TypeError: if it is not a `torch.nn.Module`.
    """
    if not is_a(model, nn.Module):
        raise TypeError(f"an object of class {name_of_class(type(model))} is not a torch.nn.Module")
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("", model)]
    while waiting:
        name, module = waiting.pop()
        if id(module) in seen and not each_name:
            continue
        seen.add(id(module))
        fields = _fields(module)
        yield name, fields
        inner = [(f"{name}.{key}" if name else key, part) for key, part in fields["_modules"].items()]
        waiting += [(key, part) for key, part in reversed(inner) if part is not None]


def registered(model: nn.Module, kind: str) -> dict[str, Tensor]:
    """The tensors of a model by name, each once under its first name.

    Args:
        kind: ``_parameters`` or ``_buffers``.
    """
    found: dict[int, tuple[str, Tensor]] = {}
    for name, fields in parts(model):
        for key, value in fields[kind].items():
            if value is not None:
                found.setdefault(id(value), (f"{name}.{key}" if name else key, value))
    return dict(found.values())
