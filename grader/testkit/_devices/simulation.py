"""Puts a simulated machine in place for as long as code runs, on every thread, and takes it away again.

Must never leave a mode, a replaced name or a default device behind.
"""

import importlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import torch
from torch import autograd, overrides, serialization
from torch.utils import _device as default_devices

from grader.border.labels import LABEL_ATTRIBUTE
from grader.testkit._devices.cuda import Replacement, replacements
from grader.testkit._devices.mode import DeviceMode
from grader.testkit._devices.rules import RULES
from grader.testkit._devices.state import CPU, Machine, NotSimulated

_modes: Any = overrides
_serialization: Any = serialization
_saving: Any = vars(torch._C)["_autograd"]
MAX_GPUS: Final = 8
_ABSENT: Final = object()
_BUILD: Final = re.compile(
    r"not compiled with CUDA|Cannot access accelerator device|compiled without CUDA support|requires CUDA support"
    r"|has no attribute '_(cuda|mps|accelerator)_|not linked with support for|dummy base class|ATen_cuda"
    r"|from the '(CUDA|MPS)' backend"
)
"""Errors of this build of torch that a build with such devices would not raise."""


class Simulation:
    """A machine and the way to run code on it. Re-entrant; made once for as long as the machine lives.

    Raises:
        ValueError: a machine cannot have that many GPUs.
    """

    def __init__(self, gpus: int, mps: bool) -> None:
        if type(gpus) is not int or not 0 <= gpus <= MAX_GPUS:
            raise ValueError(f"gpus must be from 0 to {MAX_GPUS}, not {gpus!r}")
        importlib.import_module("torch._dynamo")  # optimizers import it late, and it would keep replaced names
        self.machine = Machine(gpus, mps)
        self._mode = DeviceMode(self.machine, RULES)
        self._replacements: list[Replacement] = [
            *replacements(self.machine),
            (autograd, "_engine_run_backward", self._engine(vars(autograd)["_engine_run_backward"])),
            (_saving, "_push_saved_tensors_default_hooks", self._saved(_saving._push_saved_tensors_default_hooks)),
            (threading.Thread, "run", self._thread(threading.Thread.run)),
        ]
        self._package = (5, _tag, self._restore)
        self._default_device: torch.device | None = None
        self._left: list[Any] = []
        self._is_active = False

    @contextmanager
    def active(self) -> Iterator[None]:
        """Torch calls within are simulated."""
        if self._is_active:
            yield
            return
        below = [_modes._pop_mode() for _ in _modes._get_current_function_mode_stack()][::-1]
        originals = [(owner, name, vars(owner).get(name, _ABSENT)) for owner, name, _ in self._replacements]
        for owner, name, value in self._replacements:
            setattr(owner, name, value)
        _serialization._package_registry.insert(0, self._package)
        default = default_devices.CURRENT_DEVICE
        if self._default_device is not None:
            default_devices.CURRENT_DEVICE = self._default_device
        for mode in (*below, *self._left, self._mode):
            _modes._push_mode(mode)
        self._is_active = True
        try:
            yield
        finally:
            self._is_active = False
            stack = [_modes._pop_mode() for _ in _modes._get_current_function_mode_stack()][::-1]
            self._left = [mode for mode in stack if not any(mode is other for other in (*below, self._mode))]
            self._default_device = default_devices.CURRENT_DEVICE
            default_devices.CURRENT_DEVICE = default
            _serialization._package_registry.remove(self._package)
            for owner, name, value in reversed(originals):
                if value is _ABSENT:
                    delattr(owner, name)
                else:
                    setattr(owner, name, value)
            for mode in below:
                _modes._push_mode(mode)

    def close(self) -> None:
        """Forgets a default device that was set on the machine."""
        if self._left:
            torch._GLOBAL_DEVICE_CONTEXT.__dict__.pop("device_context", None)
        self._left, self._default_device = [], None

    # ------------------------------------------------------------ calls from torch

    def _holds_mode(self) -> bool:
        return any(other is self._mode for other in _modes._get_current_function_mode_stack())

    @contextmanager
    def _assuming(self, device: torch.device | None) -> Iterator[None]:
        """Torch calls are simulated within, and tensors without a label are on this device."""
        before, self.machine.assumed = self.machine.assumed, device
        try:
            with nullcontext() if self._holds_mode() else self._mode:
                yield
        finally:
            self.machine.assumed = before

    def _engine(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Autograd's engine carries the modes of its caller to hooks and backward functions, and labels nothing."""

        def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            labels = [self.machine.label(tensor) for tensor in outputs if isinstance(tensor, torch.Tensor)]
            with self._assuming(next((label for label in labels if label is not None and label is not CPU), None)):
                return plain(outputs, *args, **kwargs)

        return run

    def _saved(self, plain: Callable[..., None]) -> Callable[..., None]:
        """Hooks on saved tensors (activation checkpoints) run amid a call, whose result has no label yet."""

        def seeing(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
            def run(saved: Any) -> Any:
                with self._assuming(self.machine.assumed if self._holds_mode() else self.machine.computing):
                    return hook(saved)

            return run

        return lambda pack, unpack: plain(seeing(pack), seeing(unpack))

    def _thread(self, plain: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
        mode = self._mode

        def run(thread: threading.Thread) -> None:
            with mode:
                plain(thread)

        return run

    def _restore(self, storage: Any, location: str) -> Any:
        """Puts a loaded storage where ``torch.load`` wants it."""
        if not location.startswith(("cuda", "mps")):
            return None
        if location.startswith("cuda"):
            _serialization.validate_cuda_device(location)
        setattr(storage, LABEL_ATTRIBUTE, self.machine.device(location))
        return storage


def _tag(storage: Any) -> str | None:
    label = getattr(storage, LABEL_ATTRIBUTE, None)
    return None if label is None or label is CPU else str(label)


def translated(error: BaseException) -> BaseException:
    """`NotSimulated` for an error that only means that this build of torch has no GPUs; else the error itself."""
    if isinstance(error, (RuntimeError, AssertionError, AttributeError, TypeError)) and _BUILD.search(str(error)):
        missing = NotSimulated(f"this use of a device ({str(error).splitlines()[0][:200]})")
        missing.__traceback__ = error.__traceback__
        return missing
    return error
