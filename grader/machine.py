"""What this machine is: cores, versions of what results depend on, and its NVIDIA GPUs, known by their files.

Must never ask torch or the driver: the warm host may not touch CUDA before it forks.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
import re
from pathlib import Path
from typing import Final, Literal

from grader.errors import UserError

Devices = Literal["simulated", "real", "auto"]
"""What a check that wants GPUs gets: simulated ones, the machine's own, or its own where it has enough."""

_NODES: Final = re.compile(r"nvidia\d+|nvidiactl|nvidia-uvm(-tools)?|nvidia-modeset|dxg")
_FOLDERS: Final = ("/sys/module/nvidia", "/sys/module/nvidia_uvm")
_KEPT: Final = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES")


def gpu_files(dev: Path = Path("/dev")) -> list[Path]:
    """The device files that CUDA opens, sorted: GPUs, the control and memory devices, slices of a divided GPU."""
    try:
        found = [path for path in dev.iterdir() if _NODES.fullmatch(path.name)]
        found += (dev / "nvidia-caps").glob("nvidia-cap*")
    except OSError:
        return []
    return sorted(found)


def why_no_gpu(dev: Path = Path("/dev")) -> str | None:
    """Why there is no CUDA here, in a few words; None where there is."""
    if not any(re.fullmatch(r"nvidia\d+|dxg", path.name) for path in gpu_files(dev)):
        return "no NVIDIA GPU, or no driver for it"
    return None if _built_with_cuda() else "this build of torch has no CUDA"


def resolve_devices(devices: Devices) -> Devices:
    """What is meant on this machine: ``auto`` is ``simulated`` where there is no CUDA.

    Raises:
        UserError: ``real`` where there is no CUDA.
    """
    if devices == "simulated" or (reason := why_no_gpu()) is None:
        return devices
    if devices == "real":
        raise UserError(f"--devices real: needs a CUDA device ({reason})", fix="use --devices simulated")
    return "simulated"


def cuda_paths() -> list[Path]:
    """What a sandbox has to show for CUDA to work, device files among it."""
    libraries = [
        Path(folder)
        for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":")
        if os.path.isabs(folder) and next(Path(folder).glob("libcuda.so*"), None)
    ]
    return [path for path in (*gpu_files(), *map(Path, _FOLDERS), *libraries) if path.exists()]


def gpu_environment(devices: Devices) -> dict[str, str]:
    """What a student process finds in its environment: no GPU, unless real ones are used.

    The check by NVML leaves CUDA alone, which would not survive a fork once it has started.
    """
    if devices == "simulated":
        return {"CUDA_VISIBLE_DEVICES": ""}
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}


def _built_with_cuda() -> bool:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    try:
        text = (Path(spec.origin).parent / "version.py").read_text(encoding="utf-8")
    except OSError:
        return False
    return re.search(r"^cuda\b[^=\n]*=\s*['\"]", text, re.MULTILINE) is not None


def versions() -> dict[str, str]:
    """Versions of what results depend on, of those that are installed."""
    found = {"python": platform.python_version()}
    for name in ("torchkata", "torch", "hypothesis", "pytest"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
