"""Pickles in a test: the bytes may be the submission's, and a pickle can call any function.

While a suite runs, all of `pickle` is its Python half, which can be asked about each step: it makes values and layers,
and objects of classes that the suite has itself. Files that came with the suite are read without these
limits.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import pickle
import sys
import tarfile
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from torch import nn

from grader.suites import sources
from grader.suites.proxies import unpickled

_NAMES: Final = frozenset(
    {f"builtins {name}" for name in ("set", "frozenset", "bytearray", "complex", "range", "slice")}
    | {f"collections {name}" for name in ("OrderedDict", "deque", "Counter", "defaultdict")}
    | {f"datetime {name}" for name in ("date", "time", "datetime", "timedelta", "timezone")}
    | {"decimal Decimal", "fractions Fraction", "pathlib Path", "pathlib PosixPath", "pathlib._local PosixPath"}
    | {f"numpy {name}" for name in ("dtype", "ndarray")}
    | {f"numpy.{core}.multiarray {name}" for core in ("core", "_core") for name in ("_reconstruct", "scalar")}
    | {f"numpy.{core}.numeric _frombuffer" for core in ("core", "_core")}
    | {f"torch {name}" for name in ("Size", "device")}
    | {f"torch._utils {name}" for name in ("_rebuild_tensor_v2", "_rebuild_parameter")}
    | {
        f"torch {kind}Storage"
        for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Byte", "Bool")
    }
    | {"torch.storage _load_from_bytes", "_codecs encode", f"{unpickled.__module__} {unpickled.__name__}"}
)
"""Values of the standard library, NumPy and torch, whose making does no harm."""
_LAYERS: Final = "torch.nn.modules."
_NO_INSTANCES: Final = (type, types.FunctionType, types.BuiltinFunctionType)
_HALVES: Final = ("dump", "dumps", "load", "loads", "Pickler", "Unpickler")


class _Reading(threading.local):
    """Whether this thread reads a file that came with the suite."""

    is_own = False


_reading: Final = _Reading()


@contextlib.contextmanager
def unpickling_carefully(*folders: Path) -> Iterator[None]:
    """A test unpickles meanwhile nothing that a submission could have chosen to do harm.

    Args:
        folders: with files and modules of the suite. Classes of these modules are made, and all that a test pickles.
    """
    pickled: set[tuple[str, str]] = set()
    reader: Any = vars(pickle)["_Unpickler"]
    writer: Any = vars(pickle)["_Pickler"]
    load, find, make, save = reader.load, reader.find_class, reader._instantiate, writer.save_global
    build, reduce = reader.load_build, reader.load_reduce
    torch_load: Any = torch.load
    load_script: Any = torch.jit.load

    def find_(self: Any, module: str, name: str) -> Any:
        module = "builtins" if module == "__builtin__" else module
        if _reading.is_own or f"{module} {name}" in _NAMES or (module, name) in pickled:
            return find(self, module, name)
        home = sys.modules.get(module)
        found = vars(home).get(name) if home else None
        is_class = issubclass(type(found), type)  # a proxy is none
        is_suites = is_class and found.__module__ == module and sources.is_own(module, *folders)
        if isinstance(found, torch.dtype) or is_suites or (is_class and _is_layer(found)):
            return found
        raise pickle.UnpicklingError(f"`{module}.{name}` of a pickle is not made in the grader's process")

    def load_(self: Any) -> Any:
        steps: dict[int, Callable[[Any], None]] = {pickle.BUILD[0]: build_, pickle.REDUCE[0]: reduce_}
        self.dispatch = {**self.dispatch, **steps}
        with _as_own(_reading.is_own or _is_own(getattr(self._file_read, "__self__", None), folders)):
            return load(self)

    def build_(self: Any) -> None:
        if isinstance(self.stack[-2], _NO_INSTANCES):
            raise pickle.UnpicklingError("a pickle changes a class or a function")
        build(self)

    def reduce_(self: Any) -> None:
        _refuse_layer(self.stack[-2])
        reduce(self)

    def make_(self: Any, kind: Any, args: Any) -> None:
        _refuse_layer(kind)
        make(self, kind, args)

    def save_(self: Any, value: Any, name: Any = None) -> None:
        if issubclass(type(value), type) or sources.is_own(value.__module__, *folders):
            pickled.add((value.__module__, value.__qualname__))
        save(self, value, name)

    @functools.wraps(torch_load)
    def torch_load_(f: Any, *args: Any, **kwargs: Any) -> Any:
        with _as_own(_is_own(f, folders)):
            return torch_load(f, *args, **kwargs)

    @functools.wraps(load_script)
    def load_script_(f: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_own(f, folders):
            raise pickle.UnpicklingError("a program of TorchScript is not run in the grader's process")
        return load_script(f, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        for name, step in {"load": load_, "find_class": find_, "_instantiate": make_}.items():
            patch.setattr(reader, name, step)
        patch.setattr(writer, "save_global", save_)
        patch.setattr(torch, "load", torch_load_)
        if hasattr(tarfile, "data_filter"):  # else a test unpacks links, and over whatever file an archive names
            patch.setattr(tarfile.TarFile, "extraction_filter", staticmethod(tarfile.data_filter), raising=False)
        patch.setattr(torch.jit, "load", load_script_)
        halves = {id(getattr(pickle, name)): getattr(pickle, f"_{name}") for name in _HALVES}
        for module in [*sys.modules.values()]:
            if not module.__name__.startswith("grader."):
                for name, value in [*vars(module).items()]:
                    if id(value) in halves:
                        patch.setattr(module, name, halves[id(value)])
        yield


@contextlib.contextmanager
def _as_own(is_own: bool) -> Iterator[None]:
    before, _reading.is_own = _reading.is_own, is_own
    try:
        yield
    finally:
        _reading.is_own = before


def _is_own(file: Any, folders: Sequence[Path]) -> bool:
    """Whether a file, or one at this path, came with the suite."""
    name = file.name if type(file) in (io.BufferedReader, gzip.GzipFile) else file
    return isinstance(name, str | Path) and any(Path(name).resolve().is_relative_to(one.resolve()) for one in folders)


def _is_layer(kind: Any) -> bool:
    return issubclass(kind, nn.Module) and kind.__module__.startswith(_LAYERS)


def _refuse_layer(kind: Any) -> None:
    """A pickle makes a layer without a call: one could ask for any number of weights."""
    if issubclass(type(kind), type) and issubclass(kind, nn.Module):
        raise pickle.UnpicklingError(f"a pickle calls `{kind.__name__}`")
