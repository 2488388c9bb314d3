"""Rules for functions that move tensors between devices, or let devices meet. See `mode` for the others.

A move copies, as on real devices: no two devices ever share memory.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from grader.testkit._devices.mode import Args, Kwargs, make
from grader.testkit._devices.state import CPU, PINNED, Machine, NotSimulated, label_result, pinned, set_label


class ToCopy(torch.autograd.Function):
    """A copy on another device, whose gradient is copied back."""

    @staticmethod
    def forward(ctx: Any, machine: Machine, tensor: Tensor, target: torch.device | None) -> Tensor:
        """The copy, labelled."""
        ctx.machine, ctx.source, ctx.target = machine, machine.device_of(tensor), target
        return set_label(tensor.clone(), target)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        """The gradient, on the source's device."""
        ctx.machine.record_transfer(grad, ctx.target, ctx.source, True, "backward")
        return None, _copied(ctx.machine, grad, ctx.source), None


_copied: Any = ToCopy.apply


def move(
    machine: Machine,
    tensor: Tensor,
    target: torch.device | None,
    what: str,
    *,
    dtype: torch.dtype | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: torch.memory_format = torch.preserve_format,
) -> Tensor:
    """The tensor on a device; itself when it is there already and nothing else is asked for."""
    here = machine.device_of(tensor)
    dtype = dtype or tensor.dtype
    if isinstance(tensor, (UninitializedBuffer, UninitializedParameter)):
        with torch._C.DisableTorchFunctionSubclass():
            return tensor if here == target else set_label(tensor.detach().clone(), target).as_subclass(type(tensor))
    if target is not None and target.type == "meta":
        return tensor.to(target, dtype)
    if here == target:
        result: Tensor = label_result(tensor.to(dtype=dtype, copy=copy, memory_format=memory_format), here)
        return result
    if tensor.layout is not torch.strided:
        raise NotSimulated(f"a {tensor.layout} tensor on {target}")
    if target is not None and target.type == "mps" and dtype in (torch.float64, torch.complex128):
        raise TypeError(
            "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
            "Please use float32 instead."
        )
    machine.record_transfer(tensor, here, target, non_blocking, what)
    if tensor.requires_grad and torch.is_grad_enabled():
        result = _copied(machine, tensor, target)
    else:
        result = set_label(tensor.clone(memory_format=torch.preserve_format), target)
    if dtype is not result.dtype or memory_format is not torch.preserve_format:
        result = set_label(result.to(dtype=dtype, memory_format=memory_format), target)
    return result


def to(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """``Tensor.to`` in all its forms."""
    tensor, *rest = args
    kwargs = dict(kwargs)
    target, dtype = machine.device_of(tensor), kwargs.pop("dtype", None)
    wanted = kwargs.pop("device", None)
    if "other" in kwargs:
        rest.insert(0, kwargs.pop("other"))
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        target, dtype = machine.device_of(other), other.dtype
        if other.is_meta:
            target = other.device
    elif rest and isinstance(rest[0], torch.dtype):
        dtype = rest.pop(0)
    else:
        if rest:
            wanted = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)):
            dtype = rest.pop(0)
    if wanted is not None:
        target = machine.device(wanted)
    names = ("non_blocking", "copy", "memory_format")
    options = {**dict(zip(names, rest, strict=False)), **kwargs}
    if len(rest) > 3 or options.keys() - {*names}:
        return func(*args, **kwargs)  # type: ignore[no-any-return]  # torch's own complaint
    if options.get("memory_format", 0) is None:
        del options["memory_format"]
    return move(machine, tensor, target, "to", dtype=dtype, **options)


def cuda(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """``Tensor.cuda``."""
    return _cuda(machine, *args, **kwargs)


def _cuda(
    machine: Machine,
    tensor: Tensor,
    device: Any = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format = torch.preserve_format,
) -> Tensor:
    machine.require_cuda()
    target = machine.cuda(device if isinstance(device, int) else -1)
    if device is not None and not isinstance(device, int):
        target = machine.device(device) or CPU
        if target.type != "cuda":
            raise RuntimeError(f"Invalid device, must be cuda device, but got {target}")
    return move(machine, tensor, target, "cuda", non_blocking=non_blocking, memory_format=memory_format)


def cpu(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """``Tensor.cpu``."""
    return move(machine, args[0], None, "cpu", **kwargs)


def of_type(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``Tensor.type``: names the type, or converts to it."""
    tensor = args[0]
    here = machine.device_of(tensor)
    wanted = args[1] if len(args) > 1 else kwargs.get("dtype")
    if wanted is None:
        name = func(tensor)
        return name if here is None else name.replace("torch.", f"torch.{here.type}.", 1)
    if isinstance(wanted, torch.dtype):
        return move(machine, tensor, here, "type", dtype=wanted)
    name = wanted if isinstance(wanted, str) else f"{wanted.__module__}.{wanted.__name__}"
    target = machine.cuda(here.index if here is not None and here.type == "cuda" else -1) if ".cuda." in name else None
    dtype = func(tensor.detach().new_empty(0), name.replace(".cuda.", ".")).dtype
    return move(machine, tensor, target, "type", dtype=dtype)


def type_as(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """``Tensor.type_as``."""
    tensor, other = args
    return move(machine, tensor, machine.device_of(other), "type_as", dtype=other.dtype)


def copy_(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """``Tensor.copy_``: the one in-place function that crosses devices."""
    target, source = args[0], args[1] if len(args) > 1 else kwargs["src"]
    if isinstance(source, Tensor):
        here, there = machine.device_of(source), machine.device_of(target)
        if here != there:
            non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
            machine.record_transfer(source, here, there, non_blocking, "copy_")
    return func(*args, **kwargs)  # type: ignore[no-any-return]


def for_each_copy(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``torch._foreach_copy_``."""
    for target, source in zip(args[0], args[1], strict=True):
        here, there = machine.device_of(source), machine.device_of(target)
        if here != there:
            machine.record_transfer(source, here, there, bool(kwargs.get("non_blocking")), "copy_")
    return func(*args, **kwargs)


def from_data(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``torch.tensor``, ``as_tensor``, ``asarray``: from numbers, arrays, or tensors that may lie elsewhere."""
    data = args[0] if args else kwargs.get("data", kwargs.get("obj"))
    if not isinstance(data, Tensor):
        for item in data if isinstance(data, (list, tuple)) else ():
            if isinstance(item, Tensor):
                machine.record_sync("item", machine.device_of(item))
        return make(machine, func, args, kwargs)
    here = machine.device_of(data)
    target = machine.device(kwargs["device"]) if kwargs.get("device") is not None else here
    plain = {key: value for key, value in kwargs.items() if key not in ("device", "pin_memory")}
    if target == here:
        return label_result(func(*args, **plain, device=CPU), here)
    moved = move(machine, data if func.__name__ != "tensor" else data.detach(), target, func.__name__)
    result = func(moved, *args[1:], **{k: v for k, v in plain.items() if k not in ("data", "obj")}, device=CPU)
    return label_result(result, target)


def pin_memory(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """``Tensor.pin_memory``."""
    tensor: Tensor = args[0]
    if machine.accelerator is None:
        machine.require_cuda()
    if machine.device_of(tensor) is not None:
        kind = of_type(machine, Tensor.type, (tensor,), {})
        raise RuntimeError(f"cannot pin '{kind}' only dense CPU tensors can be pinned")
    if pinned(tensor):
        return tensor
    result = tensor.clone(memory_format=torch.preserve_format)
    setattr(result.untyped_storage(), PINNED, True)
    return result


def is_pinned(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> bool:
    """``Tensor.is_pinned``."""
    return pinned(args[0])
