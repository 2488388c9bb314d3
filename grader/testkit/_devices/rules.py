"""Rules for single functions: the attributes of labelled tensors, gradients, hooks, and torch's odd ones."""

import re
from typing import Any, Final

import torch
from torch import Tensor

from grader.testkit._devices import moves
from grader.testkit._devices.mode import Args, Kwargs, Rule, common_device, compute, device_mismatch, make, ordinary
from grader.testkit._devices.state import CPU, Machine, NotSimulated, label_result, set_label

# ---------------------------------------------------------------- attributes of a tensor


def _device(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    return machine.device_of(args[0]) or func(*args)


def _is_kind(kind: str) -> Rule:
    def rule(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
        label = machine.device_of(args[0])
        return func(*args) if label is None else label.type == kind

    return rule


def _get_device(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    label = machine.device_of(args[0])
    return func(*args) if label is None else label.index


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
    grad = func(*args)
    if grad is not None:
        here = machine.device_of(args[0])
        if machine.label(grad) != here and (here is not None or machine.label(grad) is not CPU):
            set_label(grad, here)
    return grad


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

    def labelled(grad: Tensor) -> Any:
        if machine.label(grad) is None and here is not None:
            set_label(grad, here)
        return hook(grad)

    return func(tensor, labelled)


def _like_first(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    return label_result(func(*args, **kwargs), machine.device_of(args[0]))


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
    return func(*args, **kwargs) if home is None else label_result(compute(func, args, kwargs, home), home)


def _ctc_loss(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    home = machine.device_of(args[0])
    return func(*args, **kwargs) if home is None else label_result(compute(func, args, kwargs, home), home)


def _where(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    if len(args) + len(kwargs) == 1:
        machine.record_sync("nonzero", machine.device_of(args[0]))
    return ordinary(machine, func, args, kwargs)


def _numbers_repeated(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    repeats = args[1] if len(args) > 1 else kwargs.get("repeats", args[0] if args else None)
    if isinstance(repeats, Tensor) and kwargs.get("output_size") is None:
        machine.record_sync("repeat_interleave", machine.device_of(repeats))
    return ordinary(machine, func, args, kwargs)


def _normal(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    if any(isinstance(value, Tensor) for value in (*args, *kwargs.values())):
        return ordinary(machine, func, args, kwargs)
    return make(machine, func, args, kwargs)


def _not_simulated(what: str) -> Rule:
    def rule(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
        if machine.device_of(args[0]) is not None:
            raise NotSimulated(what)
        return func(*args, **kwargs)

    return rule


RULES: Final[dict[str, Rule]] = {
    "get:device": _device,
    "get:is_cuda": _is_kind("cuda"),
    "get:is_mps": _is_kind("mps"),
    "get:is_cpu": _is_kind("cpu"),
    "get:grad": _get_grad,
    "set:grad": _set_grad,
    "get_device": _get_device,
    "__repr__": _shown,
    "__str__": _shown,
    "__format__": _formatted,
    "numpy": _numpy,
    "__array__": _numpy,
    "__dlpack__": _not_simulated("DLPack of a GPU tensor"),
    "__deepcopy__": _like_first,
    "grad": _autograd_grad,
    "register_hook": _hook,
    "_pack_padded_sequence": _pack,
    "_pad_packed_sequence": _pad,
    "ctc_loss": _ctc_loss,
    "tensor_split": _like_first,
    "where": _where,
    "repeat_interleave": _numbers_repeated,
    "normal": _normal,
    "to": moves.to,
    "cuda": moves.cuda,
    "cpu": moves.cpu,
    "type": moves.of_type,
    "type_as": moves.type_as,
    "copy_": moves.copy_,
    "_foreach_copy_": moves.for_each_copy,
    "tensor": moves.from_data,
    "as_tensor": moves.from_data,
    "asarray": moves.from_data,
    "pin_memory": moves.pin_memory,
    "is_pinned": moves.is_pinned,
    "__getitem__": _get_item,
    "__setitem__": _set_item,
    "index_put_": _set_item,
    "index_put": _set_item,
    "to_sparse": _not_simulated("a sparse GPU tensor"),
    "to_sparse_csr": _not_simulated("a sparse GPU tensor"),
    "lstm": _recurrent,
    "gru": _recurrent,
    "rnn_tanh": _recurrent,
    "rnn_relu": _recurrent,
}
"""By the function's name; ``get:`` and ``set:`` before a property's."""
