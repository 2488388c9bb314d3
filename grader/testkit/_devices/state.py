"""The simulated machine: how many GPUs it has, which one is current, and its events, in order.

Must never call a torch function that takes tensors other than on the plain CPU tensors that it is given.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor

from grader.border.labels import LABEL_ATTRIBUTE

MAX_EVENTS: Final = 50_000
PINNED: Final = "_simulated_pinned"
CPU: Final = torch.device("cpu")

NO_DRIVER: Final = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
    "http://www.nvidia.com/Download/index.aspx"
)
BAD_ORDINAL: Final = (
    "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
_DeviceError: type[Exception] = getattr(torch, "AcceleratorError", RuntimeError)


class NotSimulated(Exception):
    """Code used something of a GPU that simulated devices do not have; its check fails, and says why.

    Remedy: write the exercise without it, or run the check on a real device.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not simulated")


class Machine:
    """A simulated machine.

    Attributes:
        gpus: how many CUDA devices it has.
        mps: whether it has an Apple GPU.
        current: index of the current CUDA device.
        events: transfers and synchronisations as plain data, in order.
        waits: how often the CPU has waited for each device, by name.
        clock: returns the time at which a device, by name, has done all that it was asked to (s).
        computing: the device of the torch call that is running; None for the CPU.
        assumed: where a tensor without a label is taken to be while autograd's engine runs; None means on the CPU.
    """

    def __init__(self, gpus: int, mps: bool) -> None:
        self.gpus = gpus
        self.mps = mps
        self.current = 0
        self.events: list[dict[str, Any]] = []
        self.waits: Counter[str] = Counter()
        self.clock: Callable[[str], float] = lambda device: time.perf_counter()
        self.computing: torch.device | None = None
        self.assumed: torch.device | None = None
        self._cuda = [torch.device("cuda", index) for index in range(gpus)]
        self._mps = torch.device("mps", 0)

    @property
    def accelerator(self) -> torch.device | None:
        """The device type that torch would call the accelerator."""
        return torch.device("cuda") if self.gpus else torch.device("mps") if self.mps else None

    # ------------------------------------------------------------ devices

    def device(self, wanted: object) -> torch.device | None:
        """The label for what a student wrote: None for the CPU, a device with an index for a simulated one, and the
        device itself for one that is not simulated (``meta``).

        Raises:
            RuntimeError: as torch does for a device that this machine does not have.
        """
        if wanted is None:
            return None
        if isinstance(wanted, int):
            kind, index = (self.accelerator or torch.device("cuda")).type, wanted
        else:
            device = wanted if isinstance(wanted, torch.device) else torch.device(wanted)  # type: ignore[call-overload]
            kind, index = device.type, -1 if device.index is None else device.index
        match kind:
            case "cuda":
                return self.cuda(index)
            case "mps" if self.mps:
                return self._mps
            case "mps":
                raise RuntimeError("PyTorch is not linked with support for mps devices")
            case "cpu":
                return None
            case "meta":
                return torch.device(kind)
        raise NotSimulated(f"the device {kind!r}")

    def cuda(self, index: int) -> torch.device:
        """CUDA device ``index``; the current one for -1."""
        self.require_cuda()
        if index < 0:
            index = self.current
        if index >= self.gpus:
            raise _DeviceError(BAD_ORDINAL)
        return self._cuda[index]

    def select(self, index: int) -> int:
        """Makes a CUDA device the current one (none for -1); returns the one before."""
        before = self.current
        if index >= 0:
            self.current = self.cuda(index).index or 0
        return before

    def require_cuda(self) -> None:
        """Raises torch's own exception for a machine without a GPU."""
        if not self.gpus:
            raise RuntimeError(NO_DRIVER)

    def require_accelerator(self) -> None:
        """The same for a machine that has no Apple GPU either."""
        if not self.mps:
            self.require_cuda()

    def label(self, tensor: Tensor) -> torch.device | None:
        """The label of a tensor's storage: None, the CPU (while autograd's engine runs), or a device."""
        try:
            return tensor.untyped_storage().__dict__.get(LABEL_ATTRIBUTE)
        except ValueError:  # a parameter of a lazy module, which has no shape yet
            with torch._C.DisableTorchFunctionSubclass():
                return tensor.untyped_storage().__dict__.get(LABEL_ATTRIBUTE)
        except (NotImplementedError, RuntimeError):
            if tensor.layout is torch.strided:
                raise NotSimulated("a torch.func transform") from None
            return CPU

    def device_of(self, tensor: Tensor) -> torch.device | None:
        """The device that a tensor is on; None for the CPU."""
        label = self.label(tensor)
        if label is None:
            return self.assumed
        return None if label is CPU else label

    # ------------------------------------------------------------ events

    def record_transfer(
        self, tensor: Tensor, source: torch.device | None, target: torch.device | None, non_blocking: bool, what: str
    ) -> None:
        """Records a copy between devices, and the wait for it that a copy to the CPU brings."""
        event = {
            "kind": "transfer",
            "from": str(source or CPU),
            "to": str(target or CPU),
            "shape": tuple(tensor.shape),
            "nbytes": tensor.numel() * tensor.element_size(),
            "non_blocking": bool(non_blocking),
            "pinned": pinned(tensor),
            "what": what,
        }
        self._record(event)
        if source is not None and target is None and not non_blocking:
            self.record_sync(what, source)

    def record_sync(self, what: str, device: torch.device | None) -> None:
        """Records that the CPU waited for a device."""
        if device is not None:
            self.waits[str(device)] += 1
            self._record({"kind": "sync", "what": what, "device": str(device)})

    def _record(self, event: dict[str, Any]) -> None:
        if len(self.events) < MAX_EVENTS:
            self.events.append(event)


def pinned(tensor: Tensor) -> bool:
    """Whether a CPU tensor was pinned."""
    try:
        return PINNED in tensor.untyped_storage().__dict__
    except (NotImplementedError, RuntimeError):
        return False


def set_label(tensor: Tensor, device: torch.device | None) -> Tensor:
    """The same tensor, its storage labelled."""
    try:
        setattr(tensor.untyped_storage(), LABEL_ATTRIBUTE, CPU if device is None else device)
    except (NotImplementedError, RuntimeError):
        raise NotSimulated(f"a {tensor.layout} tensor on {device}") from None
    return tensor


def label_result(result: Any, device: torch.device | None) -> Any:
    """The same result, with every tensor in it that has no label yet labelled; None labels nothing."""
    if device is None:
        return result
    if isinstance(result, Tensor):
        try:
            found = result.untyped_storage().__dict__
        except (NotImplementedError, RuntimeError):
            is_wrapped = result.layout is torch.strided
            what = "a torch.func transform of a GPU tensor" if is_wrapped else f"a {result.layout} tensor on {device}"
            raise NotSimulated(what) from None
        if LABEL_ATTRIBUTE not in found and result.device.type == "cpu":
            found[LABEL_ATTRIBUTE] = device
    elif isinstance(result, (tuple, list)):
        for item in result:
            if isinstance(item, (Tensor, tuple, list)):
                label_result(item, device)
    return result
