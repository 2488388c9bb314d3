"""The `TorchFunctionMode` behind simulated devices: every torch call on this thread passes here.

It runs each call on ordinary CPU tensors and sees to the labels of all that goes in and comes out. Must never change a
number: the answer is the CPU's own.
"""

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import _device as default_devices

from grader.testkit._devices.state import CPU, PINNED, Machine, NotSimulated, label_result, set_label

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Rule = Callable[[Machine, Any, Args, Kwargs], Any]
"""Runs one torch function with these arguments as the simulated machine would, and returns its result."""


def device_mismatch(one: torch.device | None, other: torch.device | None) -> RuntimeError:
    """Torch's own words for tensors of two devices."""
    return RuntimeError(
        "Expected all tensors to be on the same device, "
        f"but found at least two devices, {one or CPU} and {other or CPU}!"
    )


def common_device(machine: Machine, name: str, args: Args, kwargs: Kwargs) -> torch.device | None:
    """The one device of all tensors of a call; None for the CPU, and when no tensor has a device.

    A 0-dim CPU tensor may meet a GPU tensor, but neither be changed in place nor written to.

    Raises:
        RuntimeError: as torch does for tensors of several devices.
    """
    strict = name in STRICT
    assumed = machine.assumed
    home: torch.device | None = None
    first = True
    met_scalar = False
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, Tensor):
            items: Any = (value,)
        elif type(value) in (tuple, list):
            items = value
        else:
            continue
        for item in items:
            if not isinstance(item, Tensor):
                continue
            label = machine.label(item)
            if label is None:
                if assumed is not None:
                    continue
            elif label is CPU:
                label = None
            if label is None and not strict and item.dim() == 0:
                met_scalar = True
                continue
            if first:
                home, first = label, False
            elif label is not home and label != home:
                raise _mismatch_of(name, home, label, args)
    if home is not None and (met_scalar or "out" in kwargs) and _is_written_on_the_cpu(machine, name, args, kwargs):
        raise device_mismatch(home, None)
    return home


def _is_written_on_the_cpu(machine: Machine, name: str, args: Args, kwargs: Kwargs) -> bool:
    """Whether a call changes a tensor on the CPU, in place or by ``out``."""
    in_place = (name.endswith("_") and not name.endswith("__")) or (name.startswith("__i") and name != "__invert__")
    out = kwargs.get("out")
    written = [*(args[:1] if in_place else ()), *(out if isinstance(out, (tuple, list)) else [out])]
    return any(isinstance(tensor, Tensor) and machine.device_of(tensor) is None for tensor in written)


def _mismatch_of(name: str, one: torch.device | None, other: torch.device | None, args: Args) -> RuntimeError:
    if name in CONVOLUTIONS and len(args) > 1 and isinstance(args[0], Tensor):
        kinds = [f"torch.{'' if d is None else d.type + '.'}FloatTensor" for d in (one, other)]
        if kinds[0] != kinds[1]:
            return RuntimeError(f"Input type ({kinds[0]}) and weight type ({kinds[1]}) should be the same")
    if name in RECURRENT:
        return RuntimeError(
            "Input and parameter tensors are not at the same device, "
            f"found input tensor at {one or CPU} and parameter tensor at {other or CPU}"
        )
    return device_mismatch(one, other)


class DeviceMode(TorchFunctionMode):
    """Runs torch calls as a machine with these devices would.

    Args:
        rules: what to do with functions that need more than `ordinary`, by name; those of getters and setters begin
            with ``get:`` and ``set:``.
    """

    def __init__(self, machine: Machine, rules: dict[str, Rule]) -> None:
        super().__init__()
        self.machine = machine
        self._by_name = rules
        self._chosen: dict[Any, Rule] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rule = self._chosen.get(func)
        if rule is None:
            rule = self._chosen[func] = self._choose(func)
        return rule(self.machine, func, args, kwargs or {})

    def _choose(self, func: Any) -> Rule:
        name: str = getattr(func, "__name__", "")
        if name in ("__get__", "__set__", "__delete__"):
            attribute = getattr(func.__self__, "__name__", "")
            return self._by_name.get(f"{name.strip('_')}:{attribute}", look)
        if name in self._by_name:
            return self._by_name[name]
        if name.startswith("_foreach_"):
            return for_each
        if _makes_on_default_device(func) or name in LIKE:
            return make
        if name in SYNCS:
            return wait
        return look if name in LOOKS else ordinary


def look(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A function that asks for no device and whose result has its label already."""
    return func(*args, **kwargs)


def ordinary(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Same device in, same device out."""
    if "device" in kwargs:
        return make(machine, func, args, kwargs)
    home = machine.computing = common_device(machine, func.__name__, args, kwargs)
    return compute(func, args, kwargs, home)


def compute(func: Any, args: Args, kwargs: Kwargs, home: torch.device | None) -> Any:
    """Runs a function that a device computes, in the number format that autocast asks for there.

    Torch's CPU autocast does the casting, by CUDA's rules. None, for the CPU, changes nothing.

    Raises:
        RuntimeError: as torch does for the loss that it refuses under autocast.
    """
    if home is None:
        return func(*args, **kwargs)
    name = func.__name__
    is_autocast, on_cpu = torch.is_autocast_enabled(home.type), torch.is_autocast_enabled("cpu")
    before = torch.get_autocast_dtype("cpu") if is_autocast or on_cpu else None
    try:
        if is_autocast and name == "binary_cross_entropy":
            raise RuntimeError("torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.")
        if is_autocast and name in IN_FLOAT32:
            args, kwargs = _widen(args), {key: _widen(value) for key, value in kwargs.items()}
            torch.set_autocast_enabled("cpu", False)
        elif before is not None:
            torch.set_autocast_dtype("cpu", torch.get_autocast_dtype(home.type))
            torch.set_autocast_enabled("cpu", is_autocast)
        return label_result(func(*args, **kwargs), home)
    except RuntimeError as error:
        if "not implemented for 'Half'" in str(error) or "not implemented for 'BFloat16'" in str(error):
            raise NotSimulated(f"{name} in a 16-bit format") from error
        raise
    finally:
        if before is not None:
            torch.set_autocast_enabled("cpu", on_cpu)
            torch.set_autocast_dtype("cpu", before)


def wait(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A function whose result the CPU needs to know."""
    home = common_device(machine, func.__name__, args, kwargs)
    machine.record_sync(func.__name__.strip("_"), home)
    return label_result(func(*args, **kwargs), home)


def _makes_on_default_device(func: Any) -> bool:
    # torch 2.6 lists `vander`, which takes no device.
    return func is not torch.vander and func in default_devices._device_constructors()


def make(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A constructor: on the device of its ``device`` argument, else on that of its first argument (``zeros_like``), or
    on the default device."""
    kwargs = dict(kwargs)
    wanted, pin = kwargs.pop("device", None), kwargs.pop("pin_memory", False)
    default = _makes_on_default_device(func)
    if wanted is None and default:
        wanted = default_devices.CURRENT_DEVICE
    follows = wanted is None and func.__name__ in LIKE
    home = machine.device_of(args[0] if args else kwargs["input"]) if follows else machine.device(wanted)
    if home is not None and home.type == "meta":
        return func(*args, **kwargs, device=home)
    kind, generator = (home or CPU).type, kwargs.get("generator")
    if generator is not None and generator.device.type != kind:
        raise RuntimeError(f"Expected a '{kind}' device type for generator but found '{generator.device.type}'")
    if default or wanted is not None:
        kwargs["device"] = CPU
    result = func(*args, **kwargs)
    if home is not None or machine.assumed is not None:
        set_label(result, home)
    if pin:
        machine.require_accelerator()
        if home is not None:
            raise RuntimeError("Only dense CPU tensors can be pinned")
        setattr(result.untyped_storage(), PINNED, True)
    return result


def for_each(machine: Machine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Functions over lists of tensors: the tensors at each position have a device of their own."""
    lists = [value for value in (*args, *kwargs.values()) if isinstance(value, (list, tuple))]
    lists = [value for value in lists if value and isinstance(value[0], Tensor)]
    homes = [common_device(machine, func.__name__, place, {}) for place in zip(*lists, strict=False)]
    result = func(*args, **kwargs)
    if isinstance(result, (list, tuple)):
        for item, home in zip(result, homes, strict=False):
            label_result(item, home)
    return result


def _widen(value: Any) -> Any:
    if isinstance(value, Tensor) and value.dtype in (torch.float16, torch.bfloat16):
        return value.float()
    if type(value) in (list, tuple):
        return type(value)(map(_widen, value))
    return value


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


LOOKS: Final = _names(
    """
    size dim ndimension numel nelement stride storage_offset element_size is_contiguous is_complex is_floating_point
    is_signed is_inference is_conj is_neg is_coalesced is_shared is_set_to is_same_size is_tensor is_storage
    is_distributed requires_grad_ retain_grad untyped_storage storage typed_storage _typed_storage data_ptr dim_order
    dense_dim sparse_dim __len__ __hash__ __dir__ __setstate__ __reduce_ex__ set_ share_memory_ result_type can_cast
    promote_types _has_compatible_shallow_copy_type has_names backward register_post_accumulate_grad_hook
    broadcast_tensors broadcast_shapes broadcast_to expand expand_as view view_as reshape_as detach detach_ t transpose
    permute unsqueeze squeeze narrow select as_strided unbind __iter__ swapaxes movedim chunk split
    """
)
"""Functions that look at a tensor, or give views of it: a view has its base's label without help."""

SYNCS: Final = _names(
    """
    item tolist __bool__ __int__ __float__ __complex__ __index__ is_nonzero nonzero argwhere masked_select unique
    unique_consecutive equal allclose __contains__ _local_scalar_dense bincount
    """
)
"""Functions whose result the CPU has to wait for."""

STRICT: Final = _names(
    "stack hstack vstack dstack column_stack row_stack embedding index_select gather take take_along_dim"
)
"""Functions in which even a 0-dim CPU tensor may not meet a GPU tensor."""

LIKE: Final = _names(
    """
    zeros_like ones_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty new_full
    new_empty_strided new_tensor
    """
)
"""Constructors that are on the device of their first argument unless they get a ``device``."""

RECURRENT: Final = _names("lstm gru rnn_tanh rnn_relu")
CONVOLUTIONS: Final = frozenset(f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3))

IN_FLOAT32: Final = _names(
    """
    __pow__ __rpow__ __rdiv__ __rtruediv__ acos asin binary_cross_entropy_with_logits cosh cosine_embedding_loss cdist
    cosine_similarity cross_entropy cross_entropy_loss cumprod cumsum dist erfinv exp expm1 group_norm
    hinge_embedding_loss kl_div l1_loss layer_norm log log10 log_softmax log1p log2 margin_ranking_loss mse_loss
    multilabel_margin_loss multi_margin_loss nll_loss nll_loss_nd norm normalize pdist poisson_nll_loss pow prod
    reciprocal rsqrt sinh smooth_l1_loss soft_margin_loss softmax softmin softplus sum renorm tan triplet_margin_loss
    """
)
"""What ``autocast("cuda")`` computes in float32, as torch's documentation lists it."""
