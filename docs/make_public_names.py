"""Writes the names that advice may offer into grader/judge/templates/public_names.txt: torch's, NumPy's and Python's.

    python docs/make_public_names.py

The judge reads that file and asks no module for its names, because submitted code would say which one.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from pathlib import Path
from types import ModuleType

import torch

FILE = Path(__file__).parent.parent / "grader" / "judge" / "templates" / "public_names.txt"
HEAD = f"""\
# Public names that advice may offer in place of one that does not exist. Made by docs/make_public_names.py
# with torch {torch.__version__.partition("+")[0]} and Python {sys.version_info[0]}.{sys.version_info[1]}.
#
# `module`: its names; those of modules end with a dot. `class`: in brackets the class that it shares its other names
# with, then its own. `call`: a function or a class, and the names of its parameters.

"""
_TORCH = (
    "amp autograd autograd.functional backends backends.cuda backends.cudnn cuda cuda.amp distributed distributions "
    "fft func jit linalg multiprocessing nn nn.functional nn.init nn.parallel nn.parameter nn.utils nn.utils.rnn optim "
    "optim.lr_scheduler profiler random special testing utils utils.checkpoint utils.data utils.data.distributed"
)
_PYTHON = (
    "abc argparse array base64 bisect builtins calendar cmath collections collections.abc concurrent.futures "
    "contextlib copy csv datetime decimal enum fractions functools gc glob gzip hashlib heapq importlib "
    "io itertools json logging math multiprocessing numbers operator os os.path pathlib platform pprint queue "
    "random re shutil signal statistics string struct subprocess sys tempfile textwrap threading time timeit "
    "traceback types typing unittest uuid warnings weakref zipfile"
)
_MODULES = ["torch", *(f"torch.{name}" for name in _TORCH.split()), *_PYTHON.split()]
_MODULES += ["numpy", "numpy.linalg", "numpy.random"]
_HOMES = ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils.data", "builtins")
"""Modules whose classes and functions are known by their names alone; the first that has a name counts."""
_CLASSES = frozenset(("Event", "Generator", "Size", "Stream", "Tensor", "device", "dtype", "finfo", "iinfo", "layout"))
"""The classes of torch itself that students meet; the others belong to its compiler."""
_TYPING = frozenset(("typing", "typing_extensions", "collections.abc"))


def public_names() -> str:
    """The text of the file, for the torch and the Python that run this."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of its old names when they are read
        modules = {name: importlib.import_module(name) for name in _MODULES}
        callables: dict[str, object] = {}
        for home in reversed(_HOMES):
            known = ((name, getattr(modules[home], name)) for name in _public(modules[home]))
            callables |= {name: one for name, one in known if callable(one) and _is_for_students(one)}
        classes = {name: one for name, one in callables.items() if inspect.isclass(one)}
        lines = [_line("module", name, _names_in(name, module)) for name, module in modules.items()]
        lines += [_class_line(name, one, classes) for name, one in sorted(classes.items())]
        lines += [_line("call", name, names) for name, one in sorted(callables.items()) if (names := _parameters(one))]
    return HEAD + "\n".join(lines) + "\n"


def _line(kind: str, name: str, names: list[str]) -> str:
    return " ".join((kind, name, *names))


def _public(value: object) -> list[str]:
    return [name for name in dir(value) if not name.startswith("_")]


def _names_in(module: str, value: ModuleType) -> list[str]:
    """The names in a module, without those of modules and types that it has only imported."""
    found = []
    for name in _public(value):
        one = getattr(value, name, None)
        if isinstance(one, ModuleType):
            found += [f"{name}."] if f"{module}.{name}" in _MODULES else []
        elif module in _TYPING or getattr(one, "__module__", "") not in _TYPING:
            found.append(name)
    return found


def _is_for_students(one: object) -> bool:
    is_inner = inspect.isclass(one) and getattr(torch, one.__name__, None) is one
    return getattr(one, "__module__", "") not in _TYPING and (not is_inner or one.__name__ in _CLASSES)


def _class_line(name: str, one: type, classes: dict[str, type]) -> str:
    base = next((base.__name__ for base in one.__mro__[1:-1] if classes.get(base.__name__) is base), "")
    shared = set(_public(classes[base])) if base else set()
    return _line("class", f"{name}({base})", [other for other in _public(one) if other not in shared])


def _parameters(value: object) -> list[str]:
    try:
        return list(inspect.signature(value).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []


if __name__ == "__main__":
    FILE.write_text(public_names(), encoding="utf-8")
