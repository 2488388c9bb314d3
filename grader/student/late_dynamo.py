"""Lets torch import its compiler only when somebody compiles, and compile nothing to machine code.

Every optimizer imports `torch._dynamo` at its first step, and DDP when it is made: a second of processor time and 70 MB
in each process, for two questions that have the same answer wherever nothing was compiled. A module that knows these
answers stands in its place, until anything else is asked of it; then the real one is imported. Without it, a cold
`grader check training` takes 1.5 s of processor time more if judge and host import the real one once, else 2.9 s.

`torch.compile` gives back what it is given unless a backend is named, as with torch's own `disable=True`: a C++
compiler takes 10 s for a function, writes hundreds of megabytes, and is not on every machine.
"""

import contextlib
import functools
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

import torch

_NAME: Final = "torch._dynamo"
_loading: Final = threading.RLock()
_compile: Final = torch.compile


def install() -> None:
    """From now on, `import torch._dynamo` costs nothing; nothing happens where it was imported already."""
    if _NAME not in sys.modules:
        sys.modules[_NAME] = _StandIn(_NAME)
        vars(torch)["_dynamo"] = sys.modules[_NAME]
        sys.meta_path.insert(0, _Submodules())
    vars(torch)["compile"] = _compile_nothing


@functools.wraps(torch.compile)
def _compile_nothing(model: Any = None, **settings: Any) -> Any:
    if settings.get("backend", "inductor") != "inductor":
        return _compile(model, **settings)
    return (lambda one: one) if model is None else model


def _is_real() -> bool:
    return not isinstance(sys.modules.get(_NAME), _StandIn)


def _real() -> Any:
    """The real module, which takes the stand-in's place."""
    with _loading:
        if not _is_real():
            stand_in = sys.modules.pop(_NAME)
            sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Submodules)]
            try:
                importlib.import_module(_NAME)
            except BaseException:
                sys.modules[_NAME] = stand_in
                sys.meta_path.insert(0, _Submodules())
                raise
        return sys.modules[_NAME]


class _Part:
    """A submodule of which some functions can be answered; for anything else the real one is loaded."""

    def __init__(self, name: str, **known: Callable[..., Any]) -> None:
        vars(self).update(known, _name=name)

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(_real(), vars(self)["_name"]), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(getattr(_real(), vars(self)["_name"]), name, value)


class _StandIn(ModuleType):
    """The part of `torch._dynamo` that optimizers and DDP need while nothing was compiled."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = importlib.util.find_spec(name)
        self.__file__ = self.__spec__.origin if self.__spec__ else None
        self.__path__ = []  # `_Submodules` finds what is in it
        vars(self).update(
            graph_break=lambda msg="": None,
            disable=_disable,
            utils=_Part("utils", get_optimize_ddp_mode=lambda: "ddp_optimizer"),
            config=_Part("config", _get_optimize_ddp_mode=lambda: "ddp_optimizer"),  # up to torch 2.6
            trace_rules=_Part("trace_rules", clear_lru_cache=lambda: None),
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)  # asked of every module by whoever looks through them all
        return getattr(_real(), name)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(_real(), name, value)


def _disable(function: Callable[..., Any] | None = None, *arguments: Any, **options: Any) -> Callable[..., Any]:
    """`torch._dynamo.disable`: torch keeps what it returns, so that it must hold after something was compiled too."""
    if function is None or _is_real():
        disable: Callable[..., Callable[..., Any]] = _real().disable
        return disable(function, *arguments, **options)
    disabled: list[Callable[..., Any]] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if not disabled and _is_real():
            disabled.append(_real().disable(function, *arguments, **options))
        return (disabled[0] if disabled else function)(*args, **kwargs)

    return call


class _Submodules:
    """Finds `torch._dynamo.NAME` by importing the real package first, which imports most of them itself."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not name.startswith(f"{_NAME}."):
            return None
        _real()
        module = sys.modules.pop(name, None)  # left there, it would be run a second time
        return importlib.util.find_spec(name) if module is None else ModuleSpec(name, _Loaded(module))


class _Loaded(Loader):
    """Gives a module that has been imported already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        with contextlib.suppress(AttributeError):  # a module of settings may refuse
            module.__spec__ = self._spec
