"""Loads modules before this process, or its children, may run submitted code, so that no submission pays for it."""

import contextlib
import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import msgspec
import torch

from grader import machine
from grader.errors import CourseError
from grader.kit import Kit, load
from grader.student import late_dynamo, orders


class CannotLoad(Exception):
    """The course's ``preload`` or kit cannot be loaded; its text is for the author of the course."""


def load_modules(
    order: orders.Prepare, loaded: Callable[[str], None] = lambda what: None
) -> tuple[Mapping[str, ModuleType], dict[str, ModuleType]]:
    """Imports the modules whose functions checks may run here: those of the test kit and of the course's kit, by name.

    Args:
        loaded: called after each setting of the course that was loaded.

    Raises:
        CannotLoad: a module of ``preload`` or the kit cannot be loaded.
    """
    os.environ.update(machine.gpu_environment(order.devices))  # before anything asks for a GPU
    from grader.testkit import devices, in_student_process

    for module in order.preload:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise CannotLoad(f"`preload = [{module!r}]`: {error}") from error
        loaded(f"`preload = [{module!r}]`")
    late_dynamo.install()
    try:
        kit = load(Kit(name=order.kit[0], folder=Path(order.kit[1])) if order.kit else None)
    except CourseError as error:
        raise CannotLoad(str(error)) from error
    if order.kit:
        loaded(f"`kit = {order.kit[0]!r}`")
    devices.choose(order.devices)
    warm_up(backward=order.devices == "simulated")
    return in_student_process.MODULES, kit


def warm_up(backward: bool) -> None:
    """Uses torch and the message format once, because both are slow at first.

    Args:
        backward: whether autograd's engine may start: where it sees a GPU it starts threads, and forbids forks.
    """
    x = torch.ones(2, 2, requires_grad=True)
    y = (x @ x).sum()
    if backward:
        torch.autograd.grad(y, x)
    torch.random.get_rng_state()
    for kind in _subclasses(msgspec.Struct):
        with contextlib.suppress(NameError, TypeError):
            msgspec.msgpack.Decoder(kind)  # looks up its types, in modules that student processes hide


def _subclasses(kind: type) -> set[type]:
    found: set[type] = set(kind.__subclasses__())
    return found.union(*map(_subclasses, found))
