"""Rules for single functions: attributes of labelled tensors, gradients, moves, and devices that may meet.

See `mode` for the other functions. A move copies, as on real devices: no two devices ever share memory.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from grader.testkit._devices.mode import Args, Kwargs, Rule, common_device, compute, device_mismatch, make, ordinary
from grader.testkit._devices.state import CPU, PINNED, Machine, NotSimulated, label_result, pinned, set_label

_parser: Any = vars(torch._C)["_nn"]

# ---------------------------------------------------------------- attributes of a tensor


def _of_label(fact: Callable[[torch.device], object]) -> Rule:
    """A fact about a tensor that follows from its label, if it has one."""

    def rule(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
        label = machine.device_of(args[0])
        return func(*args) if label is None else fact(label)

    return rule


def _shown(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> str:
    text = str(func(*args, **kwargs))
    here = machine.device_of(args[0])
    if here is None:
        return text
    machine.record_sync("print", here)
    end = re.search(r",\s+(size|dtype|layout|grad_fn|requires_grad)=|\)$", text)
    at = end.start() if end else len(text)
    return f"{text[:at]}, device='{here}'{text[at:]}"


def _formatted(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> str:
    here = machine.device_of(args[0])
    if here is not None and args[0].dim():
        return _shown(machine, Tensor.__repr__, args[:1], {})
    machine.record_sync("print", here)
    return str(func(*args, **kwargs))


def _numpy(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    here = machine.device_of(args[0])
    if here is not None:
        raise TypeError(
            f"can't convert {here} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    return func(*args, **kwargs)


# ---------------------------------------------------------------- gradients


def _get_grad(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    grad, here = func(*args), machine.device_of(args[0])
    return grad if grad is None or machine.device_of(grad) == here else set_label(grad, here)


def _set_grad(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    tensor, grad = args
    if isinstance(grad, Tensor) and (here := machine.device_of(tensor)) != (there := machine.device_of(grad)):
        one, other = (here or CPU), (there or CPU)
        if one.type == other.type:
            raise RuntimeError("assigned grad has data located on a different device")
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{other.type}' to a tensor with device type "
            f"'{one.type}'. Please ensure that the gradient and the tensor are on the same device"
        )
    return func(*args)


def _autograd_grad(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    result = func(*args, **kwargs)
    inputs = args[1] if len(args) > 1 else kwargs.get("inputs")
    places = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs or ())
    for grad, place in zip(result, places, strict=False):
        if isinstance(grad, Tensor) and isinstance(place, Tensor):
            label_result(grad, machine.device_of(place))
    return result


def _hook(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    tensor, hook = args[0], args[1] if len(args) > 1 else kwargs["hook"]
    here = machine.device_of(tensor)
    return func(tensor, lambda grad: hook(label_result(grad, here)))


# ---------------------------------------------------------------- x[index]: indices may be on the CPU


def _indices(index: Any) -> list[Tensor]:
    items = index if isinstance(index, (tuple, list)) else (index,)
    return [item for item in items if isinstance(item, Tensor)]


def _check_indices(machine: Machine, tensor: Tensor, index: Any) -> torch.device | None:
    here = machine.device_of(tensor)
    for item in _indices(index):
        there = machine.device_of(item)
        if there is not None and there != here:
            raise RuntimeError(
                f"indices should be either on cpu or on the same device as the indexed tensor ({here or CPU})"
            )
        if item.dtype in (torch.bool, torch.uint8) or (item.dim() == 0 and there is not None):
            machine.record_sync("index", there)
    return here


def _get_item(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``x[index]`` and the like: indices may be on the CPU."""
    here = _check_indices(machine, args[0], args[1])
    return label_result(func(*args, **kwargs), here)


def _set_item(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``x[index] = value``: plain slices take a value from anywhere, tensor indices only from the same device."""
    here = _check_indices(machine, args[0], args[1])
    value = args[2] if len(args) > 2 else kwargs.get("values")
    if isinstance(value, Tensor) and (there := machine.device_of(value)) != here:
        advanced = bool(_indices(args[1])) or isinstance(args[1], list)
        if advanced and value.dim():
            raise device_mismatch(here, there)
        machine.record_transfer(value, there, here, False, "setitem")
    return func(*args, **kwargs)


# ---------------------------------------------------------------- devices that may meet


def _pack(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    data, lengths, *_ = args
    there = machine.device_of(lengths)
    if there is not None:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {there} Long tensor"
        )
    packed, sizes = func(*args, **kwargs)
    return label_result(packed, machine.device_of(data)), sizes


def _pad(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    padded, lengths = func(*args, **kwargs)
    return label_result(padded, machine.device_of(args[0])), lengths


def _recurrent(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    packed = len(args) > 1 and isinstance(args[1], Tensor) and args[1].dtype is torch.int64
    home = common_device(machine, func.__name__, args[:1] + args[2:] if packed else args, kwargs)
    return compute(func, args, kwargs, home)


def _like_first(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    return compute(func, args, kwargs, machine.device_of(args[0]))


def _where(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    if len(args) + len(kwargs) == 1:
        machine.record_sync("nonzero", machine.device_of(args[0]))
    return ordinary(machine, func, args, kwargs)


def _numbers_repeated(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    repeats = args[1] if len(args) > 1 else kwargs.get("repeats", args[0] if args else None)
    if isinstance(repeats, Tensor) and kwargs.get("output_size") is None:
        machine.record_sync("repeat_interleave", machine.device_of(repeats))
    return ordinary(machine, func, args, kwargs)


def _not_simulated(what: str) -> Rule:
    def rule(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
        if machine.device_of(args[0]) is not None:
            raise NotSimulated(what)
        return func(*args, **kwargs)

    return rule


# ---------------------------------------------------------------- moves


class _ToCopy(torch.autograd.Function):
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


_copied: Any = _ToCopy.apply


def _move(
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


def _to(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """``Tensor.to`` in all its forms, which torch's own parser reads, but for ``copy``."""
    tensor, *rest = args
    options = dict(kwargs)
    copy = options.pop("copy", False)
    if sum(isinstance(one, bool) for one in rest) > 1:  # ``non_blocking`` and ``copy`` by position
        copy = rest.pop()
    wanted, dtype, non_blocking, memory_format = _parser._parse_to(*rest, **options)
    other = options.get("other", rest[0] if rest else None)
    if isinstance(other, Tensor) and not other.is_meta:
        target = machine.device_of(other)
    else:
        target = machine.device_of(tensor) if wanted is None else machine.device(wanted)
    layout = memory_format or torch.preserve_format
    return _move(machine, tensor, target, "to", dtype=dtype, non_blocking=non_blocking, copy=copy, memory_format=layout)


def _cuda(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """``Tensor.cuda``."""
    machine.require_cuda()
    options = {**dict(zip(("device", "non_blocking", "memory_format"), args[1:], strict=False)), **kwargs}
    wanted = options.pop("device", None)
    target = machine.device("cuda" if wanted is None else wanted) or CPU
    if target.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device, but got {target}")
    return _move(machine, args[0], target, "cuda", **options)


def _cpu(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """``Tensor.cpu``."""
    return _move(machine, args[0], None, "cpu", **kwargs)


def _type(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``Tensor.type``: names the type, or converts to it."""
    tensor = args[0]
    here = machine.device_of(tensor)
    wanted = args[1] if len(args) > 1 else kwargs.get("dtype")
    if wanted is None:
        name = func(tensor)
        return name if here is None else name.replace("torch.", f"torch.{here.type}.", 1)
    if isinstance(wanted, torch.dtype):
        return _move(machine, tensor, here, "type", dtype=wanted)
    name = wanted if isinstance(wanted, str) else f"{wanted.__module__}.{wanted.__name__}"
    target = machine.cuda(here.index if here is not None and here.type == "cuda" else -1) if ".cuda." in name else None
    dtype = func(tensor.detach().new_empty(0), name.replace(".cuda.", ".")).dtype
    return _move(machine, tensor, target, "type", dtype=dtype)


def _type_as(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """``Tensor.type_as``."""
    tensor, other = args
    return _move(machine, tensor, machine.device_of(other), "type_as", dtype=other.dtype)


def _copy(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``Tensor.copy_`` and ``torch._foreach_copy_``: the in-place functions that cross devices."""
    targets, sources = args[0], args[1] if len(args) > 1 else kwargs["src"]
    non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
    pairs = [(targets, sources)] if isinstance(targets, Tensor) else zip(targets, sources, strict=True)
    for target, source in pairs:
        if isinstance(source, Tensor) and (here := machine.device_of(source)) != (there := machine.device_of(target)):
            machine.record_transfer(source, here, there, non_blocking, "copy_")
    return func(*args, **kwargs)


def _from_data(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
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
    moved = _move(machine, data if func.__name__ != "tensor" else data.detach(), target, func.__name__)
    result = func(moved, *args[1:], **{k: v for k, v in plain.items() if k not in ("data", "obj")}, device=CPU)
    return label_result(result, target)


def _pin_memory(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """``Tensor.pin_memory``."""
    tensor: Tensor = args[0]
    machine.require_accelerator()
    if machine.device_of(tensor) is not None:
        kind = _type(machine, Tensor.type, (tensor,), {})
        raise RuntimeError(f"cannot pin '{kind}' only dense CPU tensors can be pinned")
    if pinned(tensor):
        return tensor
    result = tensor.clone(memory_format=torch.preserve_format)
    setattr(result.untyped_storage(), PINNED, True)
    return result


def _is_pinned(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> bool:
    """``Tensor.is_pinned``."""
    return pinned(args[0])


RULES: Final[dict[str, Rule]] = {
    name: rule
    for names, rule in {
        "get:device": _of_label(lambda label: label),
        "get:is_cuda": _of_label(lambda label: label.type == "cuda"),
        "get:is_mps": _of_label(lambda label: label.type == "mps"),
        "get:is_cpu": _of_label(lambda label: label.type == "cpu"),
        "get_device": _of_label(lambda label: label.index),
        "get:grad": _get_grad,
        "set:grad": _set_grad,
        "__repr__ __str__": _shown,
        "__format__": _formatted,
        "numpy __array__": _numpy,
        "__dlpack__": _not_simulated("DLPack of a GPU tensor"),
        "grad": _autograd_grad,
        "register_hook": _hook,
        "_pack_padded_sequence": _pack,
        "_pad_packed_sequence": _pad,
        "__deepcopy__ ctc_loss tensor_split": _like_first,
        "where": _where,
        "repeat_interleave": _numbers_repeated,
        "to": _to,
        "cuda": _cuda,
        "cpu": _cpu,
        "type": _type,
        "type_as": _type_as,
        "copy_ _foreach_copy_": _copy,
        "tensor as_tensor asarray": _from_data,
        "pin_memory": _pin_memory,
        "is_pinned": _is_pinned,
        "__getitem__": _get_item,
        "__setitem__ index_put_ index_put": _set_item,
        "to_sparse to_sparse_csr": _not_simulated("a sparse GPU tensor"),
        "lstm gru rnn_tanh rnn_relu": _recurrent,
    }.items()
    for name in names.split()
}
"""By the function's name; ``get:`` and ``set:`` before a property's."""
