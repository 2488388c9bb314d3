"""Replacements in torch's modules while devices are simulated: in `torch.cuda`, `torch.accelerator` and others.

Names are replaced while a call runs. Low-level names are enough: then functions that were imported by name before
are simulated too. Must never leave a replacement behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import reduce
from types import FunctionType, SimpleNamespace, TracebackType
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn.parallel import comm

from grader.testkit._devices.state import CPU, Machine, NotSimulated

Replacement = tuple[Any, str, Any]

MEMORY_BYTES: Final = 8 << 30


def replacements(machine: Machine) -> list[Replacement]:
    """The replacements in torch's modules for a machine."""
    cuda: Any = torch.cuda
    core: Any = torch._C
    found: list[Replacement] = [
        *((core, name, value) for name, value in _core(machine).items()),
        *((cuda, name, value) for name, value in _cuda(machine).items()),
        (cuda.Event, "__new__", _event(machine)),
        *((torch, name, value) for name, value in _top(machine).items()),
        *((torch.mps, name, value) for name, value in _mps(machine).items()),
        *((torch.accelerator, name, value) for name, value in _accelerator(machine).items()),
        (Tensor, "record_stream", lambda tensor, stream: None),
        (core._nn, "_parse_to", _parse_to(machine, core._nn._parse_to)),
        (torch.backends.mps, "is_available", lambda: machine.mps),
        (torch.backends.mps, "is_built", lambda: True),
        (torch.backends.cudnn, "is_acceptable", lambda tensor: False),
        (torch.backends.cuda, "is_built", lambda: True),
        (torch.version, "cuda", torch.version.cuda or "12.8"),
        *((comm, function.__name__, function) for function in _parallel(machine)),
    ]
    for owner, name, value in found:
        inner = getattr(vars(owner).get(name), "__wrapped__", None)
        if inner is not None and isinstance(value, FunctionType):
            vars(value)["__wrapped__"] = inner  # torch's compiler looks for it in functions that torch caches
    return found


def _accelerated(machine: Machine, what: Callable[[], Any]) -> Any:
    if machine.accelerator is None:
        machine.require_cuda()
    return what()


def _core(machine: Machine) -> dict[str, Any]:
    def set_index(index: int) -> None:
        _accelerated(machine, lambda: machine.select(index) if machine.gpus else None)

    def synchronize(index: int = -1) -> None:
        _accelerated(machine, lambda: machine.record_sync("synchronize", machine.device(max(index, 0))))

    return {
        "_cuda_getDeviceCount": lambda: machine.gpus,
        "_cuda_getCurrentRawStream": lambda index: 0,  # torch's compiler imports it
        "_cuda_getDevice": lambda: machine.cuda(-1).index,
        "_cuda_setDevice": machine.select,
        "_cuda_exchangeDevice": machine.select,
        "_cuda_maybeExchangeDevice": machine.select,
        "_cuda_synchronize": lambda: machine.record_sync("synchronize", machine.cuda(-1)),
        "_cuda_emptyCache": lambda *_: None,
        "_cuda_memoryStats": lambda device: {},
        "_cuda_ipc_collect": lambda: None,
        "_cuda_isCurrentStreamCapturing": lambda: False,
        "_accelerator_getAccelerator": lambda: machine.accelerator or torch.device("cuda"),
        "_accelerator_getDeviceIndex": lambda: _accelerated(machine, lambda: machine.current),
        "_accelerator_setDeviceIndex": set_index,
        "_accelerator_exchangeDevice": machine.select,
        "_accelerator_maybeExchangeDevice": machine.select,
        "_accelerator_synchronizeDevice": synchronize,
        "_accelerator_emptyCache": lambda *_: None,
        "_accelerator_getDeviceStats": lambda device: {},
        "_group_tensors_by_device_and_dtype": _grouped(machine, torch._C._group_tensors_by_device_and_dtype),
    }


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

    class CudaStream(Stream):
        def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
            ready()
            super().__init__(machine, "cuda" if device is None else device, priority)

    class CudaEvent(Event):
        def __init__(self, enable_timing: bool = False, **kwargs: Any) -> None:
            super().__init__(machine, enable_timing)

    @contextmanager
    def stream(chosen: Any) -> Any:
        yield chosen

    names: dict[str, Any] = {
        "_is_compiled": lambda: True,
        "_nvml_based_avail": lambda: True,
        "_cached_device_count": machine.gpus,
        "device_count": lambda: machine.gpus,
        "_lazy_init": ready,
        "_lazy_call": lambda function, **kwargs: None,
        "is_initialized": lambda: bool(machine.gpus),
        "_exchange_device": machine.select,
        "_maybe_exchange_device": machine.select,
        "get_device_properties": properties,
        "get_device_name": lambda device=None: properties(device).name,
        "get_device_capability": lambda device=None: (properties(device).major, properties(device).minor),
        "can_device_access_peer": lambda device, peer: True,
        "is_bf16_supported": lambda including_emulation=True: machine.gpus > 0,
        "mem_get_info": lambda device=None: properties(device) and (MEMORY_BYTES, MEMORY_BYTES),
        "memory_snapshot": _refusing("torch.cuda.memory_snapshot"),
        "memory_summary": lambda device=None, abbreviated=False: "",
        "reset_peak_memory_stats": lambda device=None: None,
        "reset_accumulated_memory_stats": lambda device=None: None,
        "set_per_process_memory_fraction": lambda fraction, device=None: None,
        "current_stream": CudaStream,
        "default_stream": CudaStream,
        "set_stream": lambda chosen: None,
        "stream": stream,
        "Stream": CudaStream,
        "Event": CudaEvent,
        "is_current_stream_capturing": lambda: False,
        **_random(ready),
    }
    for name in ("CUDAGraph", "graph", "make_graphed_callables", "caching_allocator_alloc", "utilization"):
        names[name] = _refusing(f"torch.cuda.{name}")
    return names


def _event(machine: Machine) -> Callable[..., Event]:
    """Where the class was imported by name before, an object of it is one of a simulated device."""

    def new(cls: type, enable_timing: bool = False, *args: Any, **kwargs: Any) -> Event:
        return Event(machine, enable_timing)

    return new


def _random(ready: Callable[[], None]) -> dict[str, Any]:
    def state(device: Any = None) -> Tensor:
        ready()
        return torch.zeros(16, dtype=torch.uint8)

    return {
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "seed": lambda: None,
        "seed_all": lambda: None,
        "initial_seed": lambda: 0,
        "get_rng_state": state,
        "set_rng_state": lambda new_state, device=None: None,
        "get_rng_state_all": lambda: [torch.zeros(16, dtype=torch.uint8) for _ in range(torch.cuda.device_count())],
        "set_rng_state_all": lambda new_states: None,
    }


def _top(machine: Machine) -> dict[str, Any]:
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

    class AnyStream(Stream):
        def __init__(self, device: Any = None, **kwargs: Any) -> None:
            super().__init__(machine, device)

    class AnyEvent(Event):
        def __init__(self, device: Any = None, *, enable_timing: bool = False, **kwargs: Any) -> None:
            super().__init__(machine, enable_timing)

    def set_rng_state(new_state: Tensor, plain: Any = torch.set_rng_state) -> None:
        if machine.label(new_state) not in (None, CPU):  # a state without a label is the CPU's, in a backward pass too
            raise TypeError("RNG state must be a torch.ByteTensor")
        plain(new_state)

    return {
        "Generator": Generator,
        "Stream": AnyStream,
        "Event": AnyEvent,
        "compile": _refusing("torch.compile"),
        "set_rng_state": set_rng_state,
    }


def _accelerator(machine: Machine) -> dict[str, Any]:
    def device_count() -> int:
        one = machine.accelerator
        return 0 if one is None else int(torch.get_device_module(one).device_count())

    return {
        "device_count": device_count,
        "current_stream": lambda device=None: Stream(machine, device),
        "set_stream": lambda chosen: None,
        "current_accelerator": lambda check_available=False: (
            machine.accelerator if check_available or machine.accelerator else torch.device("cuda")
        ),
    }


def _mps(machine: Machine) -> dict[str, Any]:
    def synchronize() -> None:
        machine.record_sync("synchronize", machine.device("mps"))

    return {
        "is_available": lambda: machine.mps,
        "device_count": lambda: int(machine.mps),
        "synchronize": synchronize,
        "empty_cache": lambda: None,
        "manual_seed": lambda seed: None,
        "current_allocated_memory": lambda: 0,
        "driver_allocated_memory": lambda: 0,
    }


def _grouped(machine: Machine, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Optimizers and gradient clipping group tensors in C++, which sees no labels."""

    def group(lists: list[list[Tensor | None]], with_indices: bool = False) -> Any:
        found: dict[Any, tuple[list[list[Any]], list[int]]] = {}
        for index, first in enumerate(lists[0]):
            assert first is not None
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
        if "device" in kwargs:  # by its name it would be taken for the wish of a function that makes a tensor
            args = (kwargs.pop("device"), *args)
        if args and type(args[0]) is int:
            args = (machine.device(args[0]), *args[1:])
        return plain(*args, **kwargs)

    return parse


def _refusing(what: str) -> Any:
    class Refusing:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            raise NotSimulated(what)

    return Refusing


class Stream:
    """A stream on which everything has been done already."""

    def __init__(self, machine: Machine, device: Any = None, priority: int = 0, **_: Any) -> None:
        self._machine = machine
        wanted = machine.accelerator if device is None else device
        self.device = (machine.device(wanted) if wanted is not None else None) or machine.cuda(-1)
        self.device_index = self.device.index
        self.stream_id = self.cuda_stream = 0
        self.priority = priority

    def synchronize(self) -> None:
        """Waits, for the record."""
        self._machine.record_sync("Stream.synchronize", self.device)

    def query(self) -> bool:
        """Always done."""
        return True

    def is_capturing(self) -> bool:
        """Never."""
        return False

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""

    def record_event(self, event: Any = None) -> Any:
        """Records an event now."""
        event = event or Event(self._machine)
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Nothing to leave."""

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and other.__dict__ == self.__dict__)

    def __hash__(self) -> int:
        return hash(self.device)


class Event:
    """A moment by the machine's clock, on the device of the stream that it is recorded on."""

    def __init__(self, machine: Machine, enable_timing: bool = False, **_: Any) -> None:
        self._machine = machine
        self._timing = enable_timing
        self._at: float | None = None
        self._device: torch.device | None = None
        self._waits = 0

    def record(self, stream: Any = None) -> None:
        """Now, on the current device if no stream is given."""
        machine = self._machine
        self._device = machine.device(machine.accelerator if stream is None else stream.device)
        self._waits = machine.waits.get(str(self._device), 0)
        self._at = machine.clock(str(self._device))

    def synchronize(self) -> None:
        """Waits, for the record."""
        if self._at is not None:
            self._machine.record_sync("Event.synchronize", self._device)

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""

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
        if not (self._is_over() and end._is_over()):
            raise RuntimeError("CUDA error: device not ready")
        return (end._at - self._at) * 1e3

    def _is_over(self) -> bool:
        return self._machine.waits.get(str(self._device), 0) > self._waits


def _parallel(machine: Machine) -> tuple[Callable[..., Any], ...]:
    """The functions of `torch.nn.parallel.comm`, which `nn.DataParallel` uses, as plain moves."""

    def index(device: Any) -> int:
        return machine.current if device is None else torch.cuda._utils._get_device_index(device, optional=True)

    def scatter(
        tensor: Tensor,
        devices: Any = None,
        chunk_sizes: Any = None,
        dim: int = 0,
        streams: Any = None,
        *,
        out: Any = None,
    ) -> tuple[Tensor, ...]:
        parts = tensor.chunk(len(devices), dim) if chunk_sizes is None else torch.split(tensor, list(chunk_sizes), dim)
        return tuple(part.to(machine.cuda(index(device))) for part, device in zip(parts, devices, strict=False))

    def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *, out: Any = None) -> Tensor:
        home = "cpu" if destination in ("cpu", torch.device("cpu")) else machine.cuda(index(destination))
        return torch.cat([tensor.to(home) for tensor in tensors], dim)

    def broadcast_coalesced(tensors: Sequence[Tensor], devices: Any, buffer_size: int = 0) -> list[list[Tensor]]:
        return [[tensor.to(machine.cuda(index(device))) for tensor in tensors] for device in devices]

    def broadcast(tensor: Tensor, devices: Any = None, *, out: Any = None) -> tuple[Tensor, ...]:
        return tuple(tensor.to(machine.cuda(index(device))) for device in devices)

    def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
        home = machine.cuda(index(destination))
        return reduce(torch.add, [tensor.to(home) for tensor in inputs])

    def reduce_add_coalesced(inputs: Any, destination: Any = None, buffer_size: int = 0) -> tuple[Tensor, ...]:
        return tuple(reduce_add(tensors, destination) for tensors in zip(*inputs, strict=True))

    return scatter, gather, broadcast_coalesced, broadcast, reduce_add, reduce_add_coalesced
