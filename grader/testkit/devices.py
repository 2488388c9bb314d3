"""GPUs on a machine without any: CPU tensors that report ``cuda:1`` as their device, which others must not meet.

Real numbers, torch's own error texts, and a record of every transfer and synchronisation. For a check, call `start`
in the student process, then the student's functions, then `events`:

    submission.there(devices.start, gpus=2)
    result = submission.to_device(batch, "cuda:1")
    assert_equal(submission.there(devices.events), [...])

Must never give a wrong verdict: a function that cannot be simulated raises `NotSimulated`; the check fails and
says why.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from grader import machine
from grader.border import labels
from grader.border.labels import surroundings
from grader.border.situations import in_words
from grader.border.tensor_facts import registered
from grader.testkit._devices.simulation import Simulation, translated
from grader.testkit._devices.state import NotSimulated

__all__ = [
    "NotSimulated", "clear_events", "device_map", "device_of", "events", "keep_time", "on", "real", "simulated",
    "start", "stop", "syncs", "transfers",
]  # fmt: skip

_running: list[Simulation] = []
_chosen: list[machine.Devices] = ["simulated"]


def choose(devices: machine.Devices) -> None:
    """Chooses the devices of `start` from now on: ``simulated``, ``real``, or ``auto`` (real if there are enough).

    The grader's ``--devices``; not for checks.
    """
    _chosen[:] = [devices]


@contextmanager
def simulated(gpus: int = 4, mps: bool = False) -> Iterator[list[dict[str, Any]]]:
    """Within the block this machine has this many CUDA devices, and an Apple GPU if asked for; yields the events.

    Raises:
        ValueError: if `gpus` is not in 0 to 8, or the block is within another one.
    """
    if _running:
        raise ValueError("devices are simulated already")
    simulation = Simulation(gpus, mps)
    _running.append(simulation)
    try:
        with simulation.active():
            yield simulation.machine.events
    finally:
        _forget()


def _in_words(gpus: int = 4, mps: bool = False, recording: bool = False) -> dict[str, object]:
    return {
        "on a machine without a GPU": not gpus and not mps,
        "on a machine with an Apple GPU": mps,
        "on a machine with a single GPU": gpus == 1,
        "on a machine with several GPUs": gpus > 1,
        "on a machine with a GPU": gpus,
    }


@in_words(_in_words)
def start(gpus: int = 4, mps: bool = False, recording: bool = False) -> None:
    """From now on, the calls of this check run on a machine with these devices; replaces an earlier one.

    With ``--devices real`` and ``auto`` it is this machine itself, provided that it has as many GPUs.

    Args:
        recording: whether the check reads `events`, which real devices do not record: simulated in any case.
    """
    if _chosen != ["simulated"]:
        _own_gpus()
    stop()
    simulation = Simulation(gpus, mps)
    if not mps and not recording and real(gpus):
        surroundings.real = True
        surroundings.close = functools.partial(_set_default_device, torch.get_default_device())
        return
    _running.append(simulation)
    surroundings.enter = simulation.active
    surroundings.close = _forget
    surroundings.translate = translated


def real(gpus: int) -> bool:
    """Whether `start` with this many GPUs, and without `recording`, gives this machine's own."""
    return bool(gpus) and _chosen != ["simulated"] and _own_gpus() >= gpus


@functools.cache
def _own_gpus() -> int:
    """How many GPUs this machine has: asked once, before any are simulated, because then torch counts those."""
    return torch.cuda.device_count()


def stop() -> None:
    """Calls run on this machine as it is again."""
    surroundings.clear()


def _set_default_device(device: torch.device) -> None:
    """Forgets a default device that was set on this machine, as a simulated one does."""
    if torch.get_default_device() != device:
        torch.set_default_device(None if device.type == "cpu" else device)


def _forget() -> None:
    for simulation in _running:
        simulation.close()
    _running.clear()


def events() -> list[dict[str, Any]]:
    """The events since `start` or `clear_events`, in order, as plain data; empty on real devices.

    A transfer is ``{"kind": "transfer", "from", "to", "shape", "nbytes", "non_blocking", "pinned", "what"}``, a
    synchronisation ``{"kind": "sync", "what", "device"}``.
    """
    return [dict(event) for simulation in _running for event in simulation.machine.events]


def transfers() -> list[tuple[str, str, tuple[int, ...]]]:
    """The transfers as ``(from, to, shape)``."""
    return [(event["from"], event["to"], event["shape"]) for event in events() if event["kind"] == "transfer"]


def syncs() -> list[str]:
    """The reasons for which the CPU waited, in order: ``"item"``, ``"cpu"``, ``"synchronize"``."""
    return [event["what"] for event in events() if event["kind"] == "sync"]


def keep_time(clock: Callable[[str], float]) -> None:
    """From now on, events of simulated devices are recorded by this clock.

    Args:
        clock: returns the time at which a device, by name, has done all that it was asked to (s).
    """
    for simulation in _running:
        simulation.machine.clock = clock


def clear_events() -> None:
    """Begins a new record."""
    for simulation in _running:
        simulation.machine.events.clear()


def on(tensor: Tensor, device: str) -> Tensor:
    """A copy that says that it is on a device: to compare with a result, or to hand to a submission."""
    return labels.place(tensor.detach().clone(), device).requires_grad_(tensor.requires_grad)


def device_of(tensor: Tensor) -> str:
    """The name of the device that a tensor is on: ``"cpu"``, ``"cuda:0"``."""
    return labels.name_of(tensor)


def device_map(model: nn.Module) -> dict[str, str]:
    """The device's name of each parameter and buffer by name."""
    return {name: device_of(t) for kind in ("_parameters", "_buffers") for name, t in registered(model, kind).items()}
