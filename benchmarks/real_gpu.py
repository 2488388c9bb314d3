"""The solutions on a real GPU beside a simulated one and the CPU: a matrix product, training steps, an epoch; NCCL.

    python benchmarks/real_gpu.py

Simulated devices compute on the CPU, so their numbers say what students wait for, not what a GPU can do. Without a GPU
only these are printed. With two GPUs, `main` of the topic ddp runs under torchrun with NCCL, and with gloo beside it.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from common import PYTHON, finish
from torch import nn
from torch.amp import GradScaler

from grader import machine
from grader.course import Course
from grader.testkit import devices

COURSE = Course.load(None)
SIZE = 1024
ROUNDS = 5
BATCHES = 20


def solution(topic: str) -> Any:
    """The module of a topic's solution."""
    sys.path.insert(0, str(COURSE.solutions_dir))
    try:
        return importlib.import_module(topic)
    finally:
        sys.path.pop(0)


def best(call: Callable[[], object]) -> float:
    """The shortest time of some calls, after one to warm up (s)."""
    times = []
    for number in range(ROUNDS + 1):
        began = time.perf_counter()
        call()
        if number:
            times.append(time.perf_counter() - began)
    return min(times)


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))


def figures(device: torch.device) -> dict[str, float]:
    """Milliseconds of each piece of work on a device."""
    of_devices, of_efficiency = solution("devices"), solution("efficiency")
    x, y = torch.randn(256, 64), torch.arange(256) % 10
    model = network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = GradScaler(device.type)
    moved = x.to(device), y.to(device)
    loader = [(x, y)] * BATCHES
    return {
        f"time_matmul_{SIZE}_ms": 1e3 * of_devices.time_matmul(SIZE, device),
        "amp_step_ms": 1e3 * best(lambda: of_efficiency.amp_step(model, *moved, optimizer, scaler, device.type)),
        f"train_on_{BATCHES}_batches_ms": 1e3 * best(lambda: of_devices.train_on(network(), loader, device, 0.1)),
    }


def torchrun(visible: str) -> tuple[float, str]:
    """Seconds of the ddp solution as a script with two ranks, on these GPUs, and what it printed."""
    command = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    began = time.perf_counter()
    ran = subprocess.run(
        [*command, str(COURSE.solution_file("ddp"))],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": visible, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    last = (ran.stdout if not ran.returncode else ran.stderr).strip().splitlines()[-1:]
    return time.perf_counter() - began, " ".join(last)


def main() -> None:
    """Prints a table, and the closing JSON line."""
    gpus = torch.cuda.device_count() if machine.why_no_gpu() is None else 0
    torch.set_num_threads(1)
    found = {"cpu": figures(torch.device("cpu"))}
    with devices.simulated(gpus=1):
        found["simulated"] = figures(torch.device("cuda", 0))
    if gpus:
        found["real"] = figures(torch.device("cuda", 0))
    names = list(found["cpu"])
    print("".join([f"{'':28}", *(f"{kind:>12}" for kind in found)]))
    for name in names:
        print("".join([f"{name:28}", *(f"{one[name]:12.3f}" for one in found.values())]))
    ranks = {"gloo": ""} if gpus < 2 else {"gloo": "", "nccl": "0,1"}
    for backend, visible in ranks.items():
        seconds, text = torchrun(visible)
        print(f"ddp.main, 2 ranks, {backend}: {seconds:.1f} s: {text}")
    if gpus < 2:
        print(f"NCCL not run: {gpus} GPUs, two are needed")
    finish("real_gpu", gpus=gpus, **{f"{kind}_{name}": one[name] for kind, one in found.items() for name in names})


if __name__ == "__main__":
    main()
