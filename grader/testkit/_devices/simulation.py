"""Puts a simulated machine in place for as long as code runs, on every thread, and takes it away again.

Names in torch's modules are replaced meanwhile: in `torch.cuda`, `torch.accelerator` and others. Low-level names are
enough: then functions that were imported by name before are simulated too. Must never leave a mode, a replaced name or
a default device behind.
"""

from __future__ import annotations

import functools
import importlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import FunctionType, SimpleNamespace
from typing import Any, Final

import torch
from torch import Tensor, autograd, overrides, serialization
from torch.nn.parallel import comm
from torch.utils import _device as default_devices

from grader.border.labels import LABEL_ATTRIBUTE
from grader.testkit._devices.mode import DeviceMode
from grader.testkit._devices.rules import RULES
from grader.testkit._devices.state import CPU, Machine, NotSimulated

_modes: Any = overrides
_serialization: Any = serialization
_saving: Any = vars(torch._C)["_autograd"]
Replacement = tuple[Any, str, Any]
MAX_GPUS: Final = 8
MEMORY_BYTES: Final = 8 << 30
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
            *_replacements(self.machine),
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
            labels = [self.machine.label(tensor) for tensor in outputs if isinstance(tensor, Tensor)]
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


# ---------------------------------------------------------------- what is replaced in torch's modules


def _replacements(machine: Machine) -> list[Replacement]:
    """The replacements in torch's modules for a machine."""
    core: Any = torch._C
    stream, event = _stream_and_event(machine)

    def new_stream(cls: type, device: Any = None, priority: int = 0, **_: Any) -> Any:
        return stream("cuda" if device is None else device, priority)

    def new_event(cls: type, enable_timing: bool = False, *_: Any, **__: Any) -> Any:
        return event(enable_timing=enable_timing)

    def set_rng_state(new_state: Tensor, plain: Callable[[Tensor], None] = torch.set_rng_state) -> None:
        if machine.label(new_state) not in (None, CPU):  # a state without a label is the CPU's, in a backward pass too
            raise TypeError("RNG state must be a torch.ByteTensor")
        plain(new_state)

    tables: dict[Any, dict[str, Any]] = {
        core: _core(machine),
        core._nn: {"_parse_to": _parse_to(machine, core._nn._parse_to)},
        torch: {"Generator": _generator(machine), "Stream": stream, "Event": event, "set_rng_state": set_rng_state},
        torch.version: {"cuda": torch.version.cuda or "12.8"},
        torch.cuda: _cuda(machine),
        torch.cuda.Stream: {"__new__": new_stream},  # so an object of a class that was imported by name before is one
        torch.cuda.Event: {"__new__": new_event},
        Tensor: {"record_stream": _always(None)},
        torch.mps: {
            **_answering(None, "empty_cache manual_seed"),
            **_answering(0, "current_allocated_memory driver_allocated_memory"),
            "is_available": lambda: machine.mps,
            "device_count": lambda: int(machine.mps),
            "synchronize": lambda: machine.record_sync("synchronize", machine.device("mps")),
        },
        torch.accelerator: {
            "device_count": lambda: machine.gpus or int(machine.mps),
            "current_stream": stream,
            "set_stream": _always(None),
            "current_accelerator": lambda check_available=False: (
                machine.accelerator if check_available or machine.accelerator else torch.device("cuda")
            ),
        },
        torch.backends.mps: {"is_available": lambda: machine.mps, "is_built": _always(True)},
        torch.backends.cudnn: {"is_acceptable": _always(False)},
        torch.backends.cuda: {"is_built": _always(True)},
        comm: _parallel(),
    }
    found = [(owner, name, value) for owner, table in tables.items() for name, value in table.items()]
    for owner, name, value in found:
        inner = getattr(vars(owner).get(name), "__wrapped__", None)
        if inner is not None and isinstance(value, FunctionType):
            vars(value)["__wrapped__"] = inner  # torch's compiler looks for it in functions that torch caches
    return found


def _always(value: Any) -> Callable[..., Any]:
    """A function that returns this value, whatever its arguments."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        return value

    return answer


def _answering(value: Any, names: str) -> dict[str, Any]:
    """Functions of these names that return this value."""
    return {name: _always(value) for name in names.split()}  # torch's compiler takes no function for two


def _refusing(what: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSimulated(what)

    return refuse


def _core(machine: Machine) -> dict[str, Any]:
    def current() -> int:
        machine.require_accelerator()
        return machine.current

    def select(index: int) -> None:
        machine.require_accelerator()
        machine.select(index if machine.gpus else -1)

    def synchronize(index: int = -1) -> None:
        machine.require_accelerator()
        machine.record_sync("synchronize", machine.device(max(index, 0)))

    def scatter(tensor: Any, devices: Sequence[int], sizes: Any, dim: int, streams: Any) -> list[Tensor]:
        parts = tensor.chunk(len(devices), dim) if sizes is None else tensor.split(sizes, dim)
        return [part.to(machine.cuda(device)) for part, device in zip(parts, devices, strict=False)]

    return {
        **_answering(None, "_cuda_emptyCache _cuda_ipc_collect _accelerator_emptyCache"),
        **_answering({}, "_cuda_memoryStats _accelerator_getDeviceStats"),
        **dict.fromkeys(("_cuda_setDevice", "_cuda_exchangeDevice", "_cuda_maybeExchangeDevice"), machine.select),
        **dict.fromkeys(("_accelerator_exchangeDevice", "_accelerator_maybeExchangeDevice"), machine.select),
        "_cuda_getDeviceCount": lambda: machine.gpus,
        "_cuda_getCurrentRawStream": _always(0),  # torch's compiler imports it
        "_cuda_getDevice": lambda: machine.cuda(-1).index,
        "_cuda_synchronize": lambda: machine.record_sync("synchronize", machine.cuda(-1)),
        "_cuda_isCurrentStreamCapturing": _always(False),
        "_accelerator_getAccelerator": lambda: machine.accelerator or torch.device("cuda"),
        "_accelerator_getDeviceIndex": current,
        "_accelerator_setDeviceIndex": select,
        "_accelerator_synchronizeDevice": synchronize,
        "_group_tensors_by_device_and_dtype": _grouped(machine),
        "_scatter": scatter,
        "_gather": lambda tensors, dim, device: torch.cat(
            [tensor.to("cpu" if device == -1 else machine.cuda(device)) for tensor in tensors], dim
        ),
        "_broadcast": lambda tensor, devices: [tensor.to(machine.cuda(device)) for device in devices],
        "_broadcast_coalesced": lambda tensors, devices, size: [
            [tensor.to(machine.cuda(device)) for tensor in tensors] for device in devices
        ],
    }


def _parallel() -> dict[str, Any]:
    """The functions of `nn.DataParallel` that torch does not build from those above."""

    def reduce_add(inputs: Iterable[Tensor], destination: Any = None) -> Tensor:
        home = torch.device("cuda", torch.cuda._utils._get_device_index(destination, optional=True))
        return functools.reduce(torch.add, [tensor.to(home) for tensor in inputs])

    def reduce_add_coalesced(inputs: Any, destination: Any = None, buffer_size: int = 0) -> tuple[Tensor, ...]:
        return tuple(reduce_add(tensors, destination) for tensors in zip(*inputs, strict=True))

    return {"reduce_add": reduce_add, "reduce_add_coalesced": reduce_add_coalesced}


def _cuda(machine: Machine) -> dict[str, Any]:
    ready = machine.require_cuda

    def properties(device: Any = None) -> Any:
        ready()
        index = torch.cuda._utils._get_device_index(device, optional=True)
        if not 0 <= index < machine.gpus:
            raise AssertionError("Invalid device id")
        return SimpleNamespace(
            name="Simulated GPU", major=8, minor=0, total_memory=MEMORY_BYTES, multi_processor_count=80,
            is_integrated=0, is_multi_gpu_board=0, max_threads_per_multi_processor=2048, warp_size=32,
        )  # fmt: skip

    def rng_state(device: Any = None) -> Tensor:
        ready()
        return torch.zeros(16, dtype=torch.uint8)

    refused = ("CUDAGraph", "graph", "make_graphed_callables", "caching_allocator_alloc", "utilization")
    return {
        **_answering(
            None,
            "_lazy_call set_stream reset_peak_memory_stats reset_accumulated_memory_stats manual_seed manual_seed_all "
            "set_per_process_memory_fraction seed seed_all set_rng_state set_rng_state_all",
        ),
        **_answering(True, "_is_compiled _nvml_based_avail can_device_access_peer"),
        **dict.fromkeys(("_exchange_device", "_maybe_exchange_device"), machine.select),
        **dict.fromkeys(("current_stream", "default_stream"), torch.cuda.Stream),
        **{name: _refusing(f"torch.cuda.{name}") for name in (*refused, "memory_snapshot")},
        "_cached_device_count": machine.gpus,
        "device_count": lambda: machine.gpus,
        "_lazy_init": ready,
        "is_initialized": lambda: bool(machine.gpus),
        "get_device_properties": properties,
        "is_bf16_supported": lambda including_emulation=True: machine.gpus > 0,
        "mem_get_info": lambda device=None: (properties(device).total_memory, MEMORY_BYTES),
        "memory_summary": _always(""),
        "stream": nullcontext,
        "is_current_stream_capturing": _always(False),
        "initial_seed": _always(0),
        "get_rng_state": rng_state,
        "get_rng_state_all": lambda: [rng_state() for _ in range(machine.gpus)],
    }


def _generator(machine: Machine) -> type:
    plain: Any = torch.Generator

    class Generator(plain):  # type: ignore[misc]
        def __new__(cls, device: Any = "cpu") -> Any:
            home = machine.device(device)
            made = plain.__new__(cls, "cpu")
            made.__dict__["home"] = home
            return made

        @property
        def device(self) -> torch.device:
            return self.__dict__["home"] or CPU

    return Generator


def _grouped(machine: Machine) -> Callable[..., Any]:
    """Optimizers and gradient clipping group tensors in C++, which sees no labels."""

    def group(lists: list[list[Any]], with_indices: bool = False) -> Any:
        found: dict[Any, tuple[list[list[Any]], list[int]]] = {}
        for index, first in enumerate(lists[0]):
            key = (machine.device_of(first) or first.device, first.dtype)
            rows, indices = found.setdefault(key, ([[] for _ in lists], []))
            for row, column in zip(rows, lists, strict=True):
                if column:
                    row.append(column[index])
            if with_indices:
                indices.append(index)
        return found

    return group


def _parse_to(machine: Machine, plain: Callable[..., Any]) -> Callable[..., Any]:
    """``Module.to(1)``: torch knows no accelerator here that the index could belong to."""

    def parse(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:  # as a keyword it would be read as the device of a new tensor
            args = (kwargs.pop("device"), *args)
        if args and type(args[0]) is int:
            args = (machine.device(args[0]), *args[1:])
        return plain(*args, **kwargs)

    return parse


def _stream_and_event(machine: Machine) -> tuple[type, type]:
    """The classes of streams and events of a machine."""

    class Stream:
        """A stream on which everything has been done already."""

        def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
            self.device = machine.device(machine.accelerator if device is None else device) or machine.cuda(-1)
            self.device_index = self.device.index
            self.stream_id = self.cuda_stream = 0
            self.priority = priority

        def synchronize(self) -> None:
            """Waits, for the record."""
            machine.record_sync("Stream.synchronize", self.device)

        query, is_capturing = _always(True), _always(False)
        wait_stream, wait_event, __exit__ = _always(None), _always(None), _always(None)

        def record_event(self, event: Any = None) -> Any:
            """Records an event now."""
            event = event or Event()
            event.record(self)
            return event

        def __enter__(self) -> Stream:
            return self

        def __eq__(self, other: object) -> bool:
            return type(other) is type(self) and other.__dict__ == self.__dict__

        def __hash__(self) -> int:
            return hash(self.device)

    class Event:
        """A moment by the machine's clock, on the device of the stream that it is recorded on."""

        def __init__(self, device: Any = None, *, enable_timing: bool = False, **_: Any) -> None:
            self._timing = enable_timing
            self._at: float | None = None
            self._device: torch.device | None = None
            self._waits = 0

        def record(self, stream: Any = None) -> None:
            """Now, on the current device if no stream is given."""
            self._device = machine.device(machine.accelerator if stream is None else stream.device)
            self._waits = machine.waits[str(self._device)]
            self._at = machine.clock(str(self._device))

        def synchronize(self) -> None:
            """Waits, for the record."""
            if self._at is not None:
                machine.record_sync("Event.synchronize", self._device)

        wait = _always(None)

        def query(self) -> bool:
            """Always done; who asks until it is done has waited."""
            self.synchronize()
            return True

        def elapsed_time(self, end: Event) -> float:
            """Milliseconds between two events."""
            if not (self._timing and end._timing):
                raise ValueError("Both events must be created with argument 'enable_timing=True'.")
            if self._at is None or end._at is None:
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            if any(machine.waits[str(event._device)] <= event._waits for event in (self, end)):
                raise RuntimeError("CUDA error: device not ready")
            return (end._at - self._at) * 1e3

    return Stream, Event
