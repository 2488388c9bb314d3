"""Streams and events of simulated devices: all is done at once, but an event must be waited for before it is read."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch

from grader.testkit._devices.state import Machine


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
