"""This machine: its cores and memory, the versions that results depend on, and its NVIDIA GPUs by their device files.

Must never ask torch or the driver: the host must not start CUDA before it forks.
"""

import contextlib
import importlib.util
import os
import platform
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from grader.errors import UserError

Devices = Literal["simulated", "real", "auto"]
"""The GPUs that a check gets: simulated, the machine's own, or (auto) its own where there are enough of them."""

LOOPBACK: Final = {"linux": "lo", "darwin": "lo0"}.get(sys.platform)
"""The network interface that reaches this machine only; None on systems where gloo does not take its name."""
_GPU_FILES: Final = re.compile(r"nvidia\d+|nvidiactl|nvidia-uvm(-tools)?|nvidia-modeset|dxg")
DEVICE_FOLDERS: Final = ("/sys/bus", "/sys/class", "/sys/devices")
"""Where Linux lists the devices of the machine."""
_DRIVER_PATHS: Final = ("/sys/module/nvidia", "/sys/module/nvidia_uvm", *DEVICE_FOLDERS, "/dev/zero")
GPU_VARIABLES: Final = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES")


def gpu_files(dev: Path = Path("/dev")) -> list[Path]:
    """The device files that CUDA opens, sorted: GPUs, control and memory devices, parts of a divided GPU (MIG)."""
    with contextlib.suppress(OSError):
        found = [path for path in dev.iterdir() if _GPU_FILES.fullmatch(path.name)]
        return sorted([*found, *(dev / "nvidia-caps").glob("nvidia-cap*")])
    return []


def why_no_gpu(dev: Path = Path("/dev")) -> str | None:
    """The reason why CUDA cannot be used here, in a few words; None where it can."""
    if not any(re.fullmatch(r"nvidia\d+|dxg", path.name) for path in gpu_files(dev)):
        return "no NVIDIA GPU, or no driver for it"
    return None if _built_with_cuda() else "this build of torch has no CUDA"


def resolve_devices(devices: Devices) -> Devices:
    """The devices to use on this machine: ``auto`` becomes ``simulated`` where there is no CUDA.

    Raises:
        UserError: ``real`` where there is no CUDA.
    """
    if devices == "simulated" or (reason := why_no_gpu()) is None:
        return devices
    if devices == "real":
        raise UserError(f"--devices real: needs a CUDA device ({reason})", fix="use --devices simulated")
    return "simulated"


def cuda_paths() -> list[Path]:
    """The files and folders that CUDA needs inside a sandbox: device files, the driver, its libraries."""
    libraries = [
        Path(folder)
        for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":")
        if os.path.isabs(folder) and next(Path(folder).glob("libcuda.so*"), None)
    ]
    return [path for path in (*gpu_files(), *map(Path, _DRIVER_PATHS), *libraries) if path.exists()]


def gpu_environment(devices: Devices) -> dict[str, str]:
    """Environment variables of a student process: they hide every GPU, unless real ones are used.

    With the check by NVML, torch can count GPUs without starting CUDA, which does not work after a fork.
    """
    if devices == "simulated":
        return {"CUDA_VISIBLE_DEVICES": ""}
    kept = {name: os.environ[name] for name in GPU_VARIABLES if name in os.environ}
    return {**kept, "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}


def _built_with_cuda() -> bool:
    spec = importlib.util.find_spec("torch")
    with contextlib.suppress(OSError):
        if spec is not None and spec.origin is not None:
            text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
            return re.search(r"^cuda\b[^=\n]*=\s*['\"]", text, re.MULTILINE) is not None
    return False


def versions(packages: Iterable[str] = ("torchkata", "torch", "hypothesis", "pytest")) -> dict[str, str]:
    """Versions of Python and of those of these packages that are installed, by name.

    Args:
        packages: by default those that results depend on.
    """
    import importlib.metadata  # slow, and needed by few commands

    found = {"python": platform.python_version()}
    for name in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


WORKER_BYTES: Final = 1 << 30
"""Memory that a worker is started for: the judge, its warm host, and a submission that takes little itself (bytes)."""

LEAST_BYTES: Final = 256 << 20
"""Memory that every submission may use, however small the machine is; who holds less is not why memory is short."""
_GROUP_FILES: Final = (
    ("memory.max", "memory.current", ""),
    ("memory.high", "memory.current", ""),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
)
"""Files of both versions of control groups: a limit, what is used, and how rows about all groups below begin."""


def memory_bytes() -> int | None:
    """The memory that this process may use: the machine's, or the least that a control group above it allows.

    None if the system does not say.
    """
    found = []
    for folder in _control_groups():
        for name, _, _ in _GROUP_FILES:
            with contextlib.suppress(OSError, ValueError):  # "max" if there is none
                found.append(int((folder / name).read_text(encoding="ascii")))
    with contextlib.suppress(ValueError, OSError, AttributeError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(found, default=None)


def available_bytes() -> int | None:
    """The memory that is left for this process: of the machine, or the least that is left in a control group above it.

    Files that the system keeps in memory can give way, so they count as left. None if the system does not say.
    """
    found = []
    with contextlib.suppress(OSError):
        if row := re.search(rb"^MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_bytes(), re.MULTILINE):
            found.append(int(row[1]) * 1024)
    for folder in _control_groups():
        for most, used, prefix in _GROUP_FILES:
            with contextlib.suppress(OSError, ValueError):  # "max" if there is none
                left = int((folder / most).read_text(encoding="ascii")) - int((folder / used).read_text("ascii"))
                rows = re.findall(
                    rf"^{prefix}(?:in)?active_file (\d+)", (folder / "memory.stat").read_text("ascii"), re.M
                )
                found.append(left + sum(map(int, rows)))
    return min(found, default=None)


def affordable(memory: int) -> int:
    """The memory that a submission may use here: this much, or less if there is less beside a worker (bytes).

    It goes by the size of the machine, or of its control group, so it is the same in every run.
    """
    total = memory_bytes()
    return memory if total is None else min(memory, max(total - WORKER_BYTES // 2, LEAST_BYTES))


def _control_groups() -> list[Path]:
    """The folders of the control groups for memory that this process is in, innermost first, and of all above them."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    folders: list[Path] = []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if not controllers or "memory" in controllers.split(","):
            base = Path("/sys/fs/cgroup", "memory" if controllers else "")
            inner = base / path.lstrip("/")
            folders += [one for one in (inner, *inner.parents) if one == base or base in one.parents]
    return folders


def workers_in_memory() -> int:
    """How many workers the memory is enough for; at least one."""
    memory = memory_bytes()
    return max(memory // WORKER_BYTES, 1) if memory is not None else 1 << 10


def memory_kills() -> int:
    """How many processes the system has ended because memory was short, on all of the machine; 0 if it does not say."""
    with contextlib.suppress(OSError):
        if found := re.search(rb"^oom_kill (\d+)$", Path("/proc/vmstat").read_bytes(), re.MULTILINE):
            return int(found[1])
    return 0


def idle_cores() -> float:
    """How many cores had nothing to do, on average over the last minute; all where the system does not tell."""
    with contextlib.suppress(AttributeError, OSError):
        return cores() - os.getloadavg()[0]
    return float(cores())
