"""Counts the calls of torch in an answer while the example of its docstring runs. For a new Python only.

The number is for a student who compares two answers, and decides nothing. Must never hold an expected answer.
"""

import contextlib
import importlib
import io
import json
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from grader.testkit import devices
from grader.testkit.written_examples import begin, enter


class TorchCalls(TorchFunctionMode):
    """Counts the calls that the lines of one file make: of what a function of a library calls in turn, none.

    Attributes:
        count: the calls so far; ``a @ b`` and ``x.sum()`` are calls, and attributes such as ``x.shape`` are none.
    """

    def __init__(self, file: str) -> None:
        super().__init__()
        self.count = 0
        self._file = file
        self._library: FrameType | None = None

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        frame: FrameType | None = sys._getframe(1)
        library = None  # the function that the file called, if it is not torch's own in C
        while frame is not None and frame.f_code.co_filename != self._file:
            library, frame = frame, frame.f_back
        if frame is not None and getattr(func, "__name__", "") not in ("__get__", "__set__"):
            self.count += library is None or library is not self._library
            self._library = library
        return func(*args, **(kwargs or {}))


def count(topic: str, imports: str, names: Sequence[str], sources: Sequence[str], gpus: int) -> int:
    """The calls of torch that a module makes while some statements run; one that raises may be meant to."""
    module = importlib.import_module(topic)
    prompt = begin(imports, names, *(getattr(module, name) for name in names))
    calls = TorchCalls(str(module.__file__))
    with devices.simulated(gpus) if gpus else contextlib.nullcontext(), calls:
        for source in sources:
            with contextlib.suppress(Exception):
                enter(prompt, source)
    return calls.count


def main() -> None:
    """Reads ``{"folder": "...", "topic": ...}`` and the other arguments of `count`, and writes the number."""
    out, given = sys.stdout, json.load(sys.stdin)
    sys.stdout = io.StringIO()
    sys.path.insert(0, given.pop("folder"))
    torch.manual_seed(0)
    json.dump(count(**given), out)
