"""What simulated devices cost: microseconds added to a torch call, which must be at most 40 µs.

Run it as ``python benchmarks/devices.py``; the last line is one JSON object. Each figure is the best of several
rounds, simulated less plain, so that other programs hardly change it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from grader.testkit import devices
from grader.testkit._devices.simulation import Simulation

LIMIT_MICROSECONDS = 40.0
ROUNDS, CALLS = 15, 400


def best(call: Callable[[], object], calls: int = CALLS) -> float:
    """Microseconds of one call."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return min(times)


def operations(device: str) -> dict[str, Callable[[], object]]:
    """One call for each operation, on small tensors, where the cost of the mode shows most."""
    x, y = torch.randn(8, 8).to(device), torch.randn(8, 8).to(device)
    index = torch.arange(8).to(device)
    grad = torch.randn(8, 8).to(device).requires_grad_()
    loss = (grad * x).sum()
    return {
        "add": lambda: x + y,
        "matmul": lambda: x @ y,
        "relu": lambda: torch.relu(x),
        "view": lambda: x.view(-1),
        "index": lambda: x[index],
        "cat": lambda: torch.cat([x, y]),
        "softmax": lambda: F.softmax(x, 1),
        "cross_entropy": lambda: F.cross_entropy(x, index),
        "zeros": lambda: torch.zeros(8, 8, device=device),
        "to": lambda: x.to(device),
        "device": lambda: x.device,
        "in_place": lambda: y.add_(1),
        "grad": lambda: torch.autograd.grad(loss, grad, retain_graph=True),
    }


def training_step(device: str) -> Callable[[], object]:
    """About a hundred calls: forward, backward, and an optimizer over eight parameters."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)
    )
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    x, y = torch.randn(8, 16).to(device), torch.arange(8).to(device) % 4

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


class Counter(TorchFunctionMode):
    """Counts torch calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        return func(*args, **(kwargs or {}))


def main() -> int:
    """Measures, prints a table, and says whether every call stays within the limit."""
    torch.set_num_threads(1)
    plain = {name: best(call) for name, call in operations("cpu").items()}
    plain_step = best(training_step("cpu"), 30)
    with devices.simulated(gpus=2):
        simulated = {name: best(call) for name, call in operations("cuda:1").items()}
        step = training_step("cuda:1")
        simulated_step = best(step, 30)
        with Counter() as counter:
            step()
    simulation = Simulation(2, False)

    def enter() -> None:
        with simulation.active():
            pass

    added = {name: simulated[name] - plain[name] for name in plain}
    for name, cost in sorted(added.items(), key=lambda item: -item[1]):
        print(f"{name:14} {plain[name]:8.2f} µs plain  {simulated[name]:8.2f} µs simulated  {cost:+8.2f}")
    result = {
        "added_us_median": round(sorted(added.values())[len(added) // 2], 2),
        "added_us_worst": round(max(added.values()), 2),
        "bar_us": LIMIT_MICROSECONDS,
        "training_step_ms": {"plain": round(plain_step / 1e3, 3), "simulated": round(simulated_step / 1e3, 3)},
        "training_step_added_us_per_call": round((simulated_step - plain_step) / counter.calls, 2),
        "enter_and_leave_us": round(best(enter, 50), 1),
        "within_bar": max(added.values()) <= LIMIT_MICROSECONDS,
    }
    print(json.dumps(result))
    return 0 if result["within_bar"] else 1


if __name__ == "__main__":
    sys.exit(main())
