"""Classic wrong answers of devices, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset, RandomSampler

from grader.testkit import misconception

# ---------------------------------------------------------------- cpu, gpu, num_gpus


@misconception("cpu", tell="You return the name of the device as a string. Return a torch.device.")
def cpu_as_a_string() -> str:
    return "cpu"


@misconception("cpu", tell="You return a GPU where there is one. This function is about the CPU, on any machine.")
def cpu_or_better() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@misconception("cpu", tell="The CPU has no index: torch.device('cpu', 0) is not equal to torch.device('cpu').")
def cpu_with_a_number() -> torch.device:
    return torch.device("cpu", 0)


@misconception("gpu", tell="You return the name of the device as a string. Return a torch.device.")
def gpu_as_a_string(i: int = 0) -> str:
    return f"cuda:{i}"


@misconception("gpu", tell="The index is ignored: it is always the same GPU.")
def always_the_first_gpu(i: int = 0) -> torch.device:
    return torch.device("cuda", 0)


@misconception("gpu", tell="'cuda' without an index means the current GPU. Put the index into the device.")
def cuda_without_a_number(i: int = 0) -> torch.device:
    return torch.device("cuda")


@misconception(
    "gpu", tell="Where there is no GPU you return the CPU. That is try_gpu's task; this is only the name of a GPU."
)
def falls_back_to_the_cpu(i: int = 0) -> torch.device:
    return torch.device("cuda", i) if torch.cuda.is_available() else torch.device("cpu")


@misconception("gpu", tell="GPUs are counted from 0: GPU number i is cuda:i.")
def counts_from_one(i: int = 0) -> torch.device:
    return torch.device("cuda", i + 1)


@misconception(
    "num_gpus", tell="is_available says whether there is a GPU at all. device_count says how many there are."
)
def yes_or_no() -> bool:
    return torch.cuda.is_available()


@misconception("num_gpus", tell="You count one GPU at most. device_count counts all of them.")
def one_at_most() -> int:
    return int(torch.cuda.is_available())


@misconception("num_gpus", tell="Without a GPU the answer is 0, not 1.")
def one_at_least() -> int:
    return max(1, torch.cuda.device_count())


_COUNTED = torch.cuda.device_count()


@misconception(
    "num_gpus",
    tell="You count when the file is loaded, and keep the number. Count when the function is called: only then is it "
    "known on which machine.",
    seen="asked_at_import('device_count', 'is_available')",
)
def counted_at_import() -> int:
    return _COUNTED


@misconception(
    "num_gpus",
    tell="current_device is the index of the GPU that is in use, and fails where there is none. Count the devices.",
)
def from_the_current_device() -> int:
    return torch.cuda.current_device() + 1


# ---------------------------------------------------------------- try_gpu, try_all_gpus, pick_device


@misconception(
    "try_gpu",
    tell="num_gpus() > i + 1 asks for one GPU more than needed: GPU i is there when num_gpus() is at least i + 1.",
)
def one_gpu_too_many(i: int = 0) -> torch.device:
    return torch.device("cuda", i) if torch.cuda.device_count() > i + 1 else torch.device("cpu")


@misconception("try_gpu", tell="GPUs are counted from 0: with two GPUs there is no GPU number 2.")
def one_gpu_too_few(i: int = 0) -> torch.device:
    return torch.device("cuda", i) if torch.cuda.device_count() >= i else torch.device("cpu")


@misconception(
    "try_gpu", tell="Where there are GPUs, but not GPU i, you return GPU i all the same. Compare i with num_gpus()."
)
def any_gpu_will_do(i: int = 0) -> torch.device:
    return torch.device("cuda", i) if torch.cuda.is_available() else torch.device("cpu")


@misconception(
    "try_gpu",
    tell="You always return the GPU: a torch.device is only a name, and making one never fails. Check how many GPUs "
    "there are.",
)
def never_the_cpu(i: int = 0) -> torch.device:
    try:
        return torch.device("cuda", i)
    except RuntimeError:
        return torch.device("cpu")


@misconception("try_gpu", tell="The index is ignored: you return the first GPU whatever i is.")
def the_first_for_all(i: int = 0) -> torch.device:
    return torch.device("cuda", 0) if i < torch.cuda.device_count() else torch.device("cpu")


@misconception("try_gpu", tell="Where GPU i does not exist you return another GPU. Return the CPU there.")
def another_gpu_instead(i: int = 0) -> torch.device:
    count = torch.cuda.device_count()
    return torch.device("cuda", min(i, count - 1)) if count else torch.device("cpu")


@misconception("try_all_gpus", tell="Without a GPU your list is empty. It should contain the CPU then.")
def an_empty_list() -> list[torch.device]:
    return [torch.device("cuda", i) for i in range(torch.cuda.device_count())]


@misconception("try_all_gpus", tell="GPUs are counted from 0: range(1, n + 1) leaves the first one out.")
def all_from_one() -> list[torch.device]:
    return [torch.device("cuda", i) for i in range(1, torch.cuda.device_count() + 1)] or [torch.device("cpu")]


@misconception(
    "try_all_gpus", tell="The CPU is in your list also when there are GPUs. It belongs there only when there are none."
)
def the_cpu_as_well() -> list[torch.device]:
    return [torch.device("cpu"), *(torch.device("cuda", i) for i in range(torch.cuda.device_count()))]


@misconception("try_all_gpus", tell="Without a GPU you return the device of the CPU. Return a list that contains it.")
def the_cpu_without_a_list() -> Any:
    return [torch.device("cuda", i) for i in range(torch.cuda.device_count())] or torch.device("cpu")


@misconception(
    "try_all_gpus",
    tell=("Your list has one GPU where there are more: does it come to each of the GPUs that device_count counts?"),
)
def only_one_gpu() -> list[torch.device]:
    return [torch.device("cuda", 0)] if torch.cuda.is_available() else [torch.device("cpu")]


@misconception("try_all_gpus", tell="The list contains names. Make a torch.device from each.")
def a_list_of_names() -> list[str]:
    return [f"cuda:{i}" for i in range(torch.cuda.device_count())] or ["cpu"]


@misconception("pick_device", tell="You return the name of the device. Wrap it in torch.device(...).")
def picks_a_name() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


_PICKED = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")


@misconception(
    "pick_device",
    tell="You pick a device when the file is loaded, and keep it. Ask what is available when the function is called: "
    "only then is it known on which machine.",
    seen="asked_at_import('device_count', 'is_available')",
)
def picked_at_import() -> torch.device:
    return _PICKED


@misconception(
    "pick_device",
    tell="You return CUDA on a machine without it, where everything that follows fails: is "
    "torch.cuda.is_available() called, with its brackets? It says whether CUDA is there, and not how torch was built.",
)
def always_cuda() -> torch.device:
    return torch.device("cuda")


@misconception(
    "pick_device",
    tell=(
        "Where there is mps, the GPU of Apple computers, and no CUDA, you return the CPU: is mps asked for, "
        "and does nothing overwrite it?"
    ),
)
def forgets_mps() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@misconception("pick_device", tell="CUDA comes first where both are available.")
def mps_first() -> torch.device:
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@misconception(
    "pick_device",
    tell="Without CUDA you return mps, also where it is not available: is torch.backends.mps.is_available() "
    "called, with its brackets? is_built only says how torch was made.",
)
def cuda_or_mps() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "mps")


# ---------------------------------------------------------------- to_device


def _rebuilt(batch: Any, items: list[Any]) -> Any:
    return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)


@misconception(
    "to_device",
    tell="x.to(device) does not move x, it returns the moved tensor, which you do not use. Only modules move in place.",
    seen="dropped('to', 'cuda')",
)
def drops_the_moved_tensor(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if isinstance(batch, Tensor):
        batch.to(device, non_blocking=non_blocking)
        return batch
    if isinstance(batch, dict):
        return {key: drops_the_moved_tensor(item, device, non_blocking) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        return _rebuilt(batch, [drops_the_moved_tensor(item, device, non_blocking) for item in batch])
    return batch


@misconception(
    "to_device",
    tell="You handle one level only: tensors deeper inside stay where they are. Let the function call itself.",
)
def one_level_only(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    def move(item: Any) -> Any:
        return item.to(device, non_blocking=non_blocking) if isinstance(item, Tensor) else item

    if isinstance(batch, dict):
        return {key: move(item) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        return _rebuilt(batch, [move(item) for item in batch])
    return move(batch)


@misconception("to_device", tell="Tuples come back as lists. Keep the type of what you rebuild.")
def lists_for_tuples(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=non_blocking)
    if isinstance(batch, dict):
        return {key: lists_for_tuples(item, device, non_blocking) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [lists_for_tuples(item, device, non_blocking) for item in batch]
    return batch


@misconception(
    "to_device",
    tell="A named tuple comes back as a plain tuple, without its names. Its class takes the fields as separate "
    "arguments: type(batch)(*items).",
)
def loses_the_names(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=non_blocking)
    if isinstance(batch, dict):
        return {key: loses_the_names(item, device, non_blocking) for key, item in batch.items()}
    if isinstance(batch, list):
        return [loses_the_names(item, device, non_blocking) for item in batch]
    if isinstance(batch, tuple):
        return tuple(loses_the_names(item, device, non_blocking) for item in batch)
    return batch


@misconception(
    "to_device",
    tell="type(batch)(items) works for lists and tuples, but the class of a named tuple takes its fields as separate "
    "arguments.",
)
def breaks_named_tuples(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=non_blocking)
    if isinstance(batch, dict):
        return {key: breaks_named_tuples(item, device, non_blocking) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(breaks_named_tuples(item, device, non_blocking) for item in batch)
    return batch


@misconception("to_device", tell="Not everything in a batch is a tensor: strings, numbers and None have no .to(...).")
def expects_tensors_only(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if isinstance(batch, dict):
        return {key: expects_tensors_only(item, device, non_blocking) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        return _rebuilt(batch, [expects_tensors_only(item, device, non_blocking) for item in batch])
    return batch.to(device, non_blocking=non_blocking)


@misconception(
    "to_device",
    tell="You copy tensors that are on the device already. x.to(device) returns x itself then; do not ask for a copy.",
    seen="passes(True, 'copy')",
)
def always_copies(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=non_blocking, copy=True)
    if isinstance(batch, dict):
        return {key: always_copies(item, device, non_blocking) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        return _rebuilt(batch, [always_copies(item, device, non_blocking) for item in batch])
    return batch


@misconception(
    "to_device",
    tell="Batches go to the first GPU, whatever device was asked for: is 'cuda' hard-coded?",
    seen="hard_coded_cuda",
)
def always_to_cuda(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if isinstance(batch, Tensor):
        return batch.to("cuda", non_blocking=non_blocking)
    if isinstance(batch, dict):
        return {key: always_to_cuda(item, device, non_blocking) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        return _rebuilt(batch, [always_to_cuda(item, device, non_blocking) for item in batch])
    return batch


@misconception("to_device", tell="Tensors move without non_blocking, so Python waits for each move: is it passed on?")
def never_non_blocking(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, dict):
        return {key: never_non_blocking(item, device) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        return _rebuilt(batch, [never_non_blocking(item, device) for item in batch])
    return batch


@misconception("to_device", tell="non_blocking gets lost on the way down: pass it on when the function calls itself.")
def non_blocking_at_the_top_only(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=non_blocking)

    def inside(item: Any) -> Any:
        flat = isinstance(item, Tensor)
        return non_blocking_at_the_top_only(item, device, non_blocking if flat else False)

    if isinstance(batch, dict):
        return {key: inside(item) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        return _rebuilt(batch, [inside(item) for item in batch])
    return batch


@misconception(
    "to_device",
    tell="You put the moved tensors into the batch that was passed. Whoever passed it still needs it as it was: build "
    "a new one.",
)
def changes_the_batch(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=non_blocking)
    if isinstance(batch, dict):
        for key, item in batch.items():
            batch[key] = changes_the_batch(item, device, non_blocking)
    elif isinstance(batch, list):
        batch[:] = [changes_the_batch(item, device, non_blocking) for item in batch]
    elif isinstance(batch, tuple):
        return _rebuilt(batch, [changes_the_batch(item, device, non_blocking) for item in batch])
    return batch


@misconception(
    "to_device",
    tell="You move whatever has a method `to`, but other objects may have one, too. Only tensors move: ask for "
    "isinstance(batch, Tensor).",
)
def moves_whatever_has_to(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if hasattr(batch, "to"):
        return batch.to(device, non_blocking=non_blocking)
    if isinstance(batch, dict):
        return {key: moves_whatever_has_to(item, device, non_blocking) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        return _rebuilt(batch, [moves_whatever_has_to(item, device, non_blocking) for item in batch])
    return batch


# ---------------------------------------------------------------- add_across


@misconception(
    "add_across",
    tell="The tensors are on different devices when they meet. y.to(...) leaves y where it is and returns the moved "
    "tensor: use that.",
    seen="dropped('to', 'cuda')",
)
def they_never_meet(x: Tensor, y: Tensor) -> Tensor:
    y.to(x.device)
    return x + y


@misconception("add_across", tell="You move x to the device of y. The sum should be where x is.")
def meets_at_y(x: Tensor, y: Tensor) -> Tensor:
    return x.to(y.device) + y


@misconception(
    "add_across", tell="You add on the CPU and leave the sum there. It should be where x is.", seen="calls('cpu')"
)
def meets_on_the_cpu(x: Tensor, y: Tensor) -> Tensor:
    return x.cpu() + y.cpu()


@misconception(
    "add_across",
    tell="The sum is on the first GPU, and x may be on the CPU or on another GPU: is 'cuda' hard-coded?",
    seen="hard_coded_cuda",
)
def meets_on_cuda(x: Tensor, y: Tensor) -> Tensor:
    return x + y.cuda()


@misconception(
    "add_across",
    tell="Both tensors go to the first GPU, wherever they were: is 'cuda' hard-coded? The sum belongs on x's device.",
    seen="hard_coded_cuda",
)
def always_meets_on_cuda(x: Tensor, y: Tensor) -> Tensor:
    return x.cuda() + y.cuda()


@misconception(
    "add_across",
    tell='x.device.type has no index: for cuda:1 it gives "cuda", the current GPU. Use x.device.',
    seen="reads('type')",
)
def forgets_the_index(x: Tensor, y: Tensor) -> Tensor:
    return x + y.to(x.device.type)


@misconception(
    "add_across",
    tell="y.to(x) takes over the dtype of x as well: 0.5 becomes 0 next to integers. Move with y.to(x.device).",
)
def the_dtype_follows_too(x: Tensor, y: Tensor) -> Tensor:
    return x + y.to(x)


@misconception(
    "add_across",
    tell="You move y only when adding fails. A tensor without dims may meet tensors of another device, and then the "
    "sum is not where x is. Always move y to x.device.",
)
def moves_only_after_an_error(x: Tensor, y: Tensor) -> Tensor:
    try:
        return x + y
    except RuntimeError:
        return x + y.to(x.device)


@misconception(
    "add_across",
    tell="+= and add_ write the sum into x, which then has another value for whoever passed it. Use x + y.",
)
def adds_in_place(x: Tensor, y: Tensor) -> Tensor:
    x += y.to(x.device)
    return x


# ---------------------------------------------------------------- ScaledAttentionMask


def _above(size: int) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool).triu(1)


@misconception(
    "ScaledAttentionMask",
    name="a_plain_attribute",
    tell="The mask is a plain attribute: .to(device) leaves it behind and state_dict does not know it. Register it "
    "as a buffer.",
    seen="lacks('register_buffer', 'Buffer', 'Parameter', 'register_parameter')",
)
class APlainAttribute(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.mask = _above(size)

    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return (scores / math.sqrt(t)).masked_fill(self.mask[:t, :t], -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="masks_in_place",
    tell="/= and masked_fill_ write into scores, which then have other numbers for whoever passed them. Make a new "
    "tensor: scores / ..., masked_fill.",
)
class MasksInPlace(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mask", _above(size))

    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        scores /= math.sqrt(t)
        return scores.masked_fill_(self.mask[:t, :t], -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="a_parameter",
    tell="The mask is a Parameter, so an optimizer would train it. Make it a buffer.",
    seen="calls('Parameter')",
)
class AParameter(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.mask = nn.Parameter(_above(size).float(), requires_grad=False)

    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return (scores / math.sqrt(t)).masked_fill(self.mask[:t, :t].bool(), -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="makes_it_in_forward",
    tell="forward makes a new mask on the CPU each time, which fails with scores on a GPU. Keep the mask as a buffer.",
)
class MakesItInForward(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()

    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return scores / math.sqrt(t) + torch.zeros(t, t).masked_fill(_above(t), -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="not_in_the_state_dict",
    tell="With persistent=False the buffer moves with the module, but state_dict does not have it.",
    seen="passes(False, 'persistent')",
)
class NotInTheStateDict(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mask", _above(size), persistent=False)

    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return (scores / math.sqrt(t)).masked_fill(self.mask[:t, :t], -math.inf)


class _Masked(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("mask", _above(size))


@misconception(
    "ScaledAttentionMask",
    name="always_the_full_mask",
    tell="The mask always has its full size, but there may be fewer tokens. Take its first t rows and columns.",
)
class AlwaysTheFullMask(_Masked):
    def forward(self, scores: Tensor) -> Tensor:
        return (scores / math.sqrt(scores.shape[-1])).masked_fill(self.mask, -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="scales_by_the_full_size",
    tell="You divide by the square root of the largest size. Use the number of tokens in the scores, t.",
)
class ScalesByTheFullSize(_Masked):
    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return (scores / math.sqrt(self.size)).masked_fill(self.mask[:t, :t], -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="never_scales",
    tell="The scores are masked, but not scaled: are they divided, and is the result of the division used?",
)
class NeverScales(_Masked):
    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return scores.masked_fill(self.mask[:t, :t], -math.inf)


@misconception("ScaledAttentionMask", name="scales_by_t", tell="You divide by t. Divide by the square root of t.")
class ScalesByT(_Masked):
    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return (scores / t).masked_fill(self.mask[:t, :t], -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="hides_the_present",
    tell="The diagonal is hidden too, so that a token cannot even look at itself. triu needs diagonal=1.",
)
class HidesThePresent(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mask", torch.ones(size, size).triu().bool())

    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return (scores / math.sqrt(t)).masked_fill(self.mask[:t, :t], -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="hides_the_past",
    tell="You hide the scores below the diagonal, which belong to earlier tokens. Hide those above it.",
)
class HidesThePast(_Masked):
    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return (scores / math.sqrt(t)).masked_fill(self.mask[:t, :t].mT, -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="a_large_negative_number",
    tell="Hidden scores are a large negative number. It should be minus infinity: then softmax gives exactly 0.",
)
class ALargeNegativeNumber(_Masked):
    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return (scores / math.sqrt(t)).masked_fill(self.mask[:t, :t], -1e9)


@misconception(
    "ScaledAttentionMask",
    name="zeros_for_the_future",
    tell="Hidden scores are 0 (you multiply by the mask). A score of 0 still gets attention; minus infinity gets none.",
)
class ZerosForTheFuture(_Masked):
    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return scores / math.sqrt(t) * ~self.mask[:t, :t]


@misconception(
    "ScaledAttentionMask",
    name="shrinks_its_mask",
    tell="forward cuts the module's own mask, so that after scores of few tokens it is too small for more. Cut a copy.",
)
class ShrinksItsMask(_Masked):
    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        self.mask = self.mask[:t, :t]
        return (scores / math.sqrt(t)).masked_fill(self.mask, -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="keeps_a_mask_and_makes_another",
    tell="The mask is a buffer, but forward does not use it: it makes a new one each time.",
)
class KeepsAMaskAndMakesAnother(_Masked):
    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        mask = torch.ones(t, t, dtype=torch.bool, device=scores.device).triu(1)
        return (scores / math.sqrt(t)).masked_fill(mask, -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="cuts_the_graph",
    tell="You compute without recording gradients, so that nothing in front of this module can be trained. The mask is "
    "a buffer: it gets no gradient anyway.",
)
class CutsTheGraph(_Masked):
    @torch.no_grad()
    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return (scores / math.sqrt(t)).masked_fill(self.mask[:t, :t], -math.inf)


@misconception(
    "ScaledAttentionMask",
    name="always_float32",
    tell="The result is always float32. Dividing and masking leave the dtype of the scores as it is.",
)
class AlwaysFloat32(_Masked):
    def forward(self, scores: Tensor) -> Tensor:
        t = scores.shape[-1]
        return (scores.float() / math.sqrt(t)).masked_fill(self.mask[:t, :t], -math.inf)


# ---------------------------------------------------------------- prepare


@misconception("prepare", tell="The optimizer was made for a copy of the model: what it trains is not what you return.")
def optimizer_for_a_copy(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    return copy.deepcopy(model).to(device), optimizer


@misconception("prepare", tell="The optimizer holds moved copies of the parameters. Give it model.parameters().")
def optimizer_for_moved_copies(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    copies = [nn.Parameter(param.detach().clone().to(device)) for param in model.parameters()]
    return model.to(device), torch.optim.SGD(copies, lr=lr)


@misconception("prepare", tell="The model never moves to the device.")
def model_left_behind(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    return model, torch.optim.SGD(model.parameters(), lr=lr)


@misconception(
    "prepare",
    tell="The model goes to the first GPU, whatever device was asked for: is 'cuda' hard-coded?",
    seen="hard_coded_cuda",
)
def model_to_cuda(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    model = model.cuda()
    return model, torch.optim.SGD(model.parameters(), lr=lr)


@misconception("prepare", tell="The optimizer's learning rate is not the one that was given: is it passed on?")
def a_learning_rate_of_its_own(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    model = model.to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


@misconception(
    "prepare", tell="You made another kind of optimizer. Use plain SGD.", seen="calls('Adam', 'AdamW', 'RMSprop')"
)
def adam_for_sgd(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    model = model.to(device)
    return model, torch.optim.Adam(model.parameters(), lr=lr)


@misconception("prepare", tell="The pair is the wrong way round: the model comes first, then the optimizer.")
def optimizer_first(model: nn.Module, device: torch.device, lr: float) -> tuple[Optimizer, nn.Module]:
    model = model.to(device)
    return torch.optim.SGD(model.parameters(), lr=lr), model


@misconception(
    "prepare",
    tell="Your SGD has momentum. Plain SGD takes nothing but the parameters and lr.",
    seen="keyword('momentum')",
)
def sgd_with_momentum(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    model = model.to(device)
    return model, torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)


@misconception(
    "prepare",
    tell="Your SGD has weight decay. Plain SGD takes nothing but the parameters and lr.",
    seen="keyword('weight_decay')",
)
def sgd_with_weight_decay(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    model = model.to(device)
    return model, torch.optim.SGD(model.parameters(), lr=lr, weight_decay=0.1)


@misconception(
    "prepare",
    tell="You leave frozen parameters out. Give the optimizer all of them: it skips those without a gradient, and they "
    "may be unfrozen later.",
)
def trainable_ones_only(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    model = model.to(device)
    return model, torch.optim.SGD([param for param in model.parameters() if param.requires_grad], lr=lr)


@misconception(
    "prepare", tell="You switch the model to training mode. Only its place should change.", seen="calls('train')"
)
def switches_to_train_mode(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    model = model.to(device).train()
    return model, torch.optim.SGD(model.parameters(), lr=lr)


@misconception(
    "prepare",
    tell="You unfreeze all parameters. Only the place of the model should change.",
    seen="calls('requires_grad_')",
)
def unfreezes_all(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    model = model.to(device).requires_grad_(True)
    return model, torch.optim.SGD(model.parameters(), lr=lr)


# ---------------------------------------------------------------- train_on


def _sgd(model: nn.Module, lr: float) -> Optimizer:
    return torch.optim.SGD(model.parameters(), lr=lr)


def _step(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> Tensor:
    loss = F.cross_entropy(model(features), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


@misconception(
    "train_on",
    tell=".item() in the loop makes Python wait for the GPU at every step. Keep detached losses and read them at the "
    "end.",
    seen="call_in_loop('item')",
)
def item_every_step(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer, losses = _sgd(model, lr), []
    for x, y in loader:
        losses.append(_step(model, x.to(device), y.to(device), optimizer).item())
    return losses


@misconception(
    "train_on",
    tell="You read the losses after the loop, but one by one: Python waits for the GPU once for each. "
    "torch.stack(losses).tolist() reads all of them at once.",
)
def reads_each_loss_after_the_loop(
    model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float
) -> list[float]:
    model = model.to(device)
    optimizer = _sgd(model, lr)
    losses = [_step(model, x.to(device), y.to(device), optimizer) for x, y in loader]
    return [loss.item() for loss in losses]


@misconception(
    "train_on",
    tell="torch.cuda.synchronize makes Python wait for the GPU in every step. Only timing needs that.",
    seen="call_in_loop('synchronize')",
)
def synchronizes_every_step(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer, losses = _sgd(model, lr), []
    for x, y in loader:
        losses.append(_step(model, x.to(device), y.to(device), optimizer))
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    return torch.stack(losses).tolist()


@misconception(
    "train_on",
    tell=(
        "The labels are on the CPU when the loss is computed: is the result of moving them used? They move to"
        " the device like the features."
    ),
)
def labels_left_behind(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer = _sgd(model, lr)
    return torch.stack([_step(model, x.to(device), y, optimizer) for x, y in loader]).tolist()


@misconception(
    "train_on",
    tell="x.to(device) does not move x, it returns the moved tensor, which you do not use. Only modules move in place.",
    seen="dropped('to', 'cuda')",
)
def batches_left_behind(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer, losses = _sgd(model, lr), []
    for x, y in loader:
        x.to(device)
        y.to(device)
        losses.append(_step(model, x, y, optimizer))
    return torch.stack(losses).tolist()


@misconception(
    "train_on",
    tell=(
        "The batches move to the device, but the model is where it was: does model.to(device) come before the"
        " first batch?"
    ),
)
def the_model_stays(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    optimizer = _sgd(model, lr)
    return torch.stack([_step(model, x.to(device), y.to(device), optimizer) for x, y in loader]).tolist()


@misconception(
    "train_on",
    tell="Training runs on the first GPU, whatever device was asked for: is 'cuda' hard-coded?",
    seen="hard_coded_cuda",
)
def always_on_cuda(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.cuda()
    optimizer = _sgd(model, lr)
    return torch.stack([_step(model, x.cuda(), y.cuda(), optimizer) for x, y in loader]).tolist()


@misconception(
    "train_on", tell="The model moves to the device and back again in every step. Move it once, before the loop."
)
def moves_the_model_every_batch(
    model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float
) -> list[float]:
    optimizer, losses = _sgd(model, lr), []
    for x, y in loader:
        model.to(device)
        losses.append(_step(model, x.to(device), y.to(device), optimizer))
        model.cpu()
    model.to(device)
    return torch.stack(losses).tolist()


@misconception("train_on", tell="Batches go to one GPU first and from there to the right one: each tensor moves twice.")
def batches_by_way_of_cuda(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer, losses = _sgd(model, lr), []
    for x, y in loader:
        if device.type == "cuda":
            x, y = x.cuda(), y.cuda()
        losses.append(_step(model, x.to(device), y.to(device), optimizer))
    return torch.stack(losses).tolist()


@misconception(
    "train_on",
    tell="You trained a copy of the model on the device. The model that was given neither moved nor learned.",
)
def trains_a_copy(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = copy.deepcopy(model).to(device)
    optimizer = _sgd(model, lr)
    return torch.stack([_step(model, x.to(device), y.to(device), optimizer) for x, y in loader]).tolist()


@misconception("train_on", tell="Old gradients add up: clear them in every step, before backward.", seen="no_zero_grad")
def never_clears(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer, losses = _sgd(model, lr), []
    for x, y in loader:
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist()


@misconception(
    "train_on",
    tell=".numpy() does not work on a tensor that is on a GPU, or that requires grad. Detach, and read with tolist().",
)
def numpy_of_a_gpu_tensor(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer = _sgd(model, lr)
    return [float(_step(model, x.to(device), y.to(device), optimizer).numpy()) for x, y in loader]


@misconception("train_on", tell="You return tensors. Read them, all at once, as Python floats: stack, then tolist().")
def returns_tensors(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[Tensor]:
    model = model.to(device)
    optimizer = _sgd(model, lr)
    return [_step(model, x.to(device), y.to(device), optimizer) for x, y in loader]


@misconception(
    "train_on",
    tell="What you keep of each batch, such as its loss, holds its graph, which fills the memory. Keep loss.detach().",
    seen="lacks('detach', 'item', 'detach_', 'no_grad', 'data', at='backward')",
)
def keeps_the_graphs(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer, losses = _sgd(model, lr), []
    for x, y in loader:
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return torch.stack(losses).tolist()


@misconception(
    "train_on",
    tell="You go through the loader once to count its batches, and then again. A loader that shuffles gives other "
    "batches the second time, and loading is work. Go through it once.",
)
def counts_the_batches_first(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer, losses = _sgd(model, lr), torch.zeros(sum(1 for _ in loader), device=device)
    for i, (x, y) in enumerate(loader):
        losses[i] = _step(model, x.to(device), y.to(device), optimizer)
    return losses.tolist()


@misconception(
    "train_on",
    tell="Your SGD has momentum. Plain SGD takes nothing but the parameters and lr.",
    seen="keyword('momentum')",
)
def trains_with_momentum(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    return torch.stack([_step(model, x.to(device), y.to(device), optimizer) for x, y in loader]).tolist()


@misconception("train_on", tell="You return the losses after the steps. Return the loss of each batch before its step.")
def losses_after_the_steps(model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer, losses = _sgd(model, lr), []
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        _step(model, x, y, optimizer)
        with torch.no_grad():
            losses.append(F.cross_entropy(model(x), y))
    return torch.stack(losses).tolist()


@misconception("train_on", tell="The steps are not those of the learning rate that was given: is it passed on?")
def trains_at_a_rate_of_its_own(
    model: nn.Module, loader: Iterable[Any], device: torch.device, lr: float
) -> list[float]:
    model = model.to(device)
    optimizer = _sgd(model, 0.1)
    return torch.stack([_step(model, x.to(device), y.to(device), optimizer) for x, y in loader]).tolist()


# ---------------------------------------------------------------- DeviceTrainer


class _Trainer:
    def __init__(self, device: torch.device) -> None:
        self.device = device

    def prepare_model(self, model: nn.Module) -> Any:
        return model.to(self.device)

    def prepare_batch(self, batch: Any) -> Any:
        return [tensor.to(self.device) for tensor in batch]

    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        model = self.prepare_model(model)
        optimizer, losses = _sgd(model, lr), []
        for _ in range(epochs):
            for batch in loader:
                features, labels = self.prepare_batch(batch)
                losses.append(_step(model, features, labels, optimizer))
        return torch.stack(losses).tolist()


@misconception(
    "DeviceTrainer",
    name="fit_moves_by_itself",
    tell="fit moves batches itself, so a subclass that overrides prepare_batch changes nothing. Call "
    "self.prepare_batch(batch).",
)
class FitMovesByItself(_Trainer):
    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        model = self.prepare_model(model)
        optimizer, losses = _sgd(model, lr), []
        for _ in range(epochs):
            for features, labels in loader:
                losses.append(_step(model, features.to(self.device), labels.to(self.device), optimizer))
        return torch.stack(losses).tolist()


@misconception(
    "DeviceTrainer",
    name="fit_takes_batches_apart",
    tell="fit takes a batch apart before it asks prepare_batch. Only prepare_batch knows what a batch looks like: "
    "pass it the batch as the loader gave it.",
)
class FitTakesBatchesApart(_Trainer):
    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        model = self.prepare_model(model)
        optimizer, losses = _sgd(model, lr), []
        for _ in range(epochs):
            for features, labels in loader:
                features, labels = self.prepare_batch((features, labels))
                losses.append(_step(model, features, labels, optimizer))
        return torch.stack(losses).tolist()


@misconception(
    "DeviceTrainer",
    name="ignores_the_prepared_model",
    tell="fit calls prepare_model, but trains the model that it was given. prepare_model may return a different "
    "model: train that one.",
)
class IgnoresThePreparedModel(_Trainer):
    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        self.prepare_model(model)
        optimizer, losses = _sgd(model, lr), []
        for _ in range(epochs):
            for batch in loader:
                features, labels = self.prepare_batch(batch)
                losses.append(_step(model, features, labels, optimizer))
        return torch.stack(losses).tolist()


@misconception(
    "DeviceTrainer",
    name="never_prepares_the_model",
    tell="fit prepares the batches, but not the model: it stays where it was.",
)
class NeverPreparesTheModel(_Trainer):
    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        optimizer, losses = _sgd(model, lr), []
        for _ in range(epochs):
            for batch in loader:
                features, labels = self.prepare_batch(batch)
                losses.append(_step(model, features, labels, optimizer))
        return torch.stack(losses).tolist()


@misconception(
    "DeviceTrainer", name="prepares_features_only", tell="prepare_batch leaves the labels behind on the CPU."
)
class PreparesFeaturesOnly(_Trainer):
    def prepare_batch(self, batch: Any) -> Any:
        features, labels = batch
        return features.to(self.device), labels


@misconception(
    "DeviceTrainer",
    name="moves_but_returns_nothing",
    tell="prepare_model moves the model, but returns nothing. Return the model.",
)
class MovesButReturnsNothing(_Trainer):
    def prepare_model(self, model: nn.Module) -> None:
        model.to(self.device)


@misconception("DeviceTrainer", name="one_epoch_only", tell="fit trains for one epoch, whatever `epochs` is.")
class OneEpochOnly(_Trainer):
    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        return super().fit(model, loader, 1, lr)


@misconception(
    "DeviceTrainer",
    name="one_loss_per_epoch",
    tell="You return one loss for each epoch. Return the loss of every batch, in order.",
)
class OneLossPerEpoch(_Trainer):
    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        losses = super().fit(model, loader, epochs, lr)
        size = len(losses) // epochs
        return [sum(losses[i : i + size]) / size for i in range(0, len(losses), size)]


@misconception(
    "DeviceTrainer",
    name="always_trains_on_cuda",
    tell="'cuda' is hard-coded. Use the device that the trainer was made with.",
    seen="hard_coded_cuda",
)
class AlwaysTrainsOnCuda(_Trainer):
    def __init__(self, device: torch.device) -> None:
        super().__init__(torch.device("cuda"))


@misconception(
    "DeviceTrainer", name="gradients_pile_up", tell="Old gradients add up: clear them in every step, before backward."
)
class GradientsPileUp(_Trainer):
    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        model = self.prepare_model(model)
        optimizer, losses = _sgd(model, lr), []
        for _ in range(epochs):
            for batch in loader:
                features, labels = self.prepare_batch(batch)
                loss = F.cross_entropy(model(features), labels)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        return losses


@misconception(
    "DeviceTrainer",
    name="batches_of_the_first_epoch",
    tell="You prepare the batches once and use them in every epoch. A loader that shuffles gives other batches in each "
    "pass: go through the loader again.",
)
class BatchesOfTheFirstEpoch(_Trainer):
    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        return super().fit(model, list(loader), epochs, lr)


@misconception(
    "DeviceTrainer",
    name="one_device_for_all_trainers",
    tell="You store the device in the class, where the next trainer writes its own. Store it in self.",
)
class OneDeviceForAllTrainers(_Trainer):
    def __init__(self, device: torch.device) -> None:
        type(self).device = device


@misconception(
    "DeviceTrainer",
    name="trainer_with_momentum",
    tell="Your SGD has momentum. Plain SGD takes nothing but the parameters and lr.",
    seen="keyword('momentum')",
)
class TrainerWithMomentum(_Trainer):
    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        model = self.prepare_model(model)
        optimizer, losses = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9), []
        for _ in range(epochs):
            for batch in loader:
                features, labels = self.prepare_batch(batch)
                losses.append(_step(model, features, labels, optimizer))
        return torch.stack(losses).tolist()


@misconception("DeviceTrainer", name="a_rate_of_its_own", tell="The learning rate that was given is not used.")
class ARateOfItsOwn(_Trainer):
    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        return super().fit(model, loader, epochs, 0.1)


@misconception(
    "DeviceTrainer",
    name="losses_pile_up",
    tell="You store the losses in the trainer, so that a second fit returns those of the first one too. Begin a new "
    "list in fit.",
)
class LossesPileUp(_Trainer):
    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self.losses: list[float] = []

    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        self.losses += super().fit(model, loader, epochs, lr)
        return self.losses


@misconception(
    "DeviceTrainer",
    name="optimizer_of_the_first_model",
    tell="You make the optimizer once and store it in the trainer. In a second fit it still has the parameters of the "
    "first model.",
)
class OptimizerOfTheFirstModel(_Trainer):
    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self.optimizer: Any = None

    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        model = self.prepare_model(model)
        self.optimizer, losses = self.optimizer or _sgd(model, lr), []
        for _ in range(epochs):
            for batch in loader:
                features, labels = self.prepare_batch(batch)
                model.zero_grad()
                losses.append(_step(model, features, labels, self.optimizer))
        return torch.stack(losses).tolist()


# ---------------------------------------------------------------- loader_for


@misconception(
    "loader_for",
    tell="You pin memory for every device. It helps only with moves to a CUDA device.",
    seen="passes(True, 'pin_memory')",
)
def pins_for_all(dataset: Dataset[Any], batch_size: int, device: torch.device) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size=batch_size, pin_memory=True)


@misconception(
    "loader_for",
    tell="You never pin memory. For a CUDA device it should be pinned.",
    seen="lacks('pin_memory', at='DataLoader')",
)
def pins_for_none(dataset: Dataset[Any], batch_size: int, device: torch.device) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size=batch_size)


@misconception(
    "loader_for",
    tell="You pin memory whenever this machine has a GPU. Look at the device that was passed.",
    seen="calls('is_available')",
)
def pins_where_cuda_is(dataset: Dataset[Any], batch_size: int, device: torch.device) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size=batch_size, pin_memory=torch.cuda.is_available())


@misconception(
    "loader_for",
    tell="You pin memory for everything that is not the CPU. An Apple GPU (mps) shares the memory of the CPU.",
)
def pins_for_all_but_the_cpu(dataset: Dataset[Any], batch_size: int, device: torch.device) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size=batch_size, pin_memory=device.type != "cpu")


@misconception(
    "loader_for",
    tell="torch.device('cuda', 1) and torch.device('cuda') are not equal, so the second GPU gets no pinned memory. "
    "Compare device.type.",
)
def pins_for_one_name(dataset: Dataset[Any], batch_size: int, device: torch.device) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size=batch_size, pin_memory=device == torch.device("cuda"))


@misconception("loader_for", tell="The batch size is not passed on: DataLoader makes batches of 1 by default.")
def batches_of_one(dataset: Dataset[Any], batch_size: int, device: torch.device) -> DataLoader[Any]:
    return DataLoader(dataset, pin_memory=device.type == "cuda")


@misconception(
    "loader_for",
    tell="drop_last leaves out the rows of a last batch that is not full. All rows should come.",
    seen="keyword('drop_last')",
)
def drops_the_last_batch(dataset: Dataset[Any], batch_size: int, device: torch.device) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size=batch_size, drop_last=True, pin_memory=device.type == "cuda")


@misconception(
    "loader_for", tell="With replacement, some rows come twice and others never. Each row should come once in a pass."
)
def draws_with_replacement(dataset: Dataset[Any], batch_size: int, device: torch.device) -> DataLoader[Any]:
    sampler = RandomSampler(dataset, replacement=True)  # type: ignore[arg-type]
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler, pin_memory=device.type == "cuda")


# ---------------------------------------------------------------- time_matmul


def _matrices(n: int, device: torch.device) -> tuple[Tensor, Tensor]:
    return torch.rand(n, n, device=device), torch.rand(n, n, device=device)


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


@misconception(
    "time_matmul",
    tell="You read the clock while the GPU is still working: you measure only how fast Python starts the work. Call "
    "torch.cuda.synchronize before each reading.",
    seen="lacks('synchronize', 'Event')",
)
def never_synchronizes(n: int, device: torch.device, repeats: int = 3) -> float:
    a, b = _matrices(n, device)
    a @ b
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - start)
    return min(times)


@misconception(
    "time_matmul",
    tell="You synchronise before the product, but not after it: the clock is read while the GPU is still working.",
)
def synchronizes_before_only(n: int, device: torch.device, repeats: int = 3) -> float:
    a, b = _matrices(n, device)
    a @ b
    times = []
    for _ in range(repeats):
        start = _now(device)
        a @ b
        times.append(time.perf_counter() - start)
    return min(times)


@misconception(
    "time_matmul",
    tell="You synchronise after the product, but not before the clock starts: earlier work of the GPU is timed too.",
)
def synchronizes_after_only(n: int, device: torch.device, repeats: int = 3) -> float:
    a, b = _matrices(n, device)
    a @ b
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        a @ b
        times.append(_now(device) - start)
    return min(times)


@misconception(
    "time_matmul",
    tell="There is no warm-up: the first product, which takes longer because of one-time work, is timed with the "
    "others.",
)
def no_warm_up(n: int, device: torch.device, repeats: int = 3) -> float:
    a, b = _matrices(n, device)
    times = []
    for _ in range(repeats):
        start = _now(device)
        a @ b
        times.append(_now(device) - start)
    return min(times)


@misconception(
    "time_matmul", tell="You return the mean. Return the shortest time: disturbances only make a time longer."
)
def takes_the_mean(n: int, device: torch.device, repeats: int = 3) -> float:
    a, b = _matrices(n, device)
    a @ b
    start = _now(device)
    for _ in range(repeats):
        a @ b
    return (_now(device) - start) / repeats


@misconception("time_matmul", tell="You return the time of all repeats together. Time each, and take the shortest.")
def takes_the_total(n: int, device: torch.device, repeats: int = 3) -> float:
    a, b = _matrices(n, device)
    a @ b
    start = _now(device)
    for _ in range(repeats):
        a @ b
    return _now(device) - start


@misconception("time_matmul", tell="You return the time of the last repeat. Keep all of them, and take the shortest.")
def takes_the_last(n: int, device: torch.device, repeats: int = 3) -> float:
    a, b = _matrices(n, device)
    a @ b
    for _ in range(repeats):
        start = _now(device)
        a @ b
        seconds = _now(device) - start
    return seconds


@misconception("time_matmul", tell="You return the longest time. The best time is the shortest.")
def takes_the_longest(n: int, device: torch.device, repeats: int = 3) -> float:
    a, b = _matrices(n, device)
    a @ b
    times = []
    for _ in range(repeats):
        start = _now(device)
        a @ b
        times.append(_now(device) - start)
    return max(times)


@misconception("time_matmul", tell="Making the matrices is timed too. Make them before the clock starts.")
def times_the_making(n: int, device: torch.device, repeats: int = 3) -> float:
    a, b = _matrices(n, device)
    a @ b
    times = []
    for _ in range(repeats):
        start = _now(device)
        a, b = _matrices(n, device)
        a @ b
        times.append(_now(device) - start)
    return min(times)


@misconception("time_matmul", tell="The number of repeats is fixed. Make `repeats` of them.")
def always_three(n: int, device: torch.device, repeats: int = 3) -> float:
    a, b = _matrices(n, device)
    a @ b
    times = []
    for _ in range(3):
        start = _now(device)
        a @ b
        times.append(_now(device) - start)
    return min(times)


@misconception("time_matmul", tell="Your matrices are on the CPU, whatever the device is. Make them on the device.")
def times_the_cpu(n: int, device: torch.device, repeats: int = 3) -> float:
    a, b = _matrices(n, torch.device("cpu"))
    a @ b
    times = []
    for _ in range(repeats):
        start = _now(device)
        a @ b
        times.append(_now(device) - start)
    return min(times)


@misconception(
    "time_matmul",
    tell="torch.cuda.synchronize() without a device waits for the current GPU, which may be another one than that of "
    "your matrices. Pass the device.",
)
def waits_for_another_gpu(n: int, device: torch.device, repeats: int = 3) -> float:
    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    a, b = _matrices(n, device)
    a @ b
    times = []
    for _ in range(repeats):
        start = now()
        a @ b
        times.append(now() - start)
    return min(times)


def _events(n: int, device: torch.device, repeats: int, stream: Any = None) -> list[float]:
    """By events, in milliseconds; on the CPU by the clock."""
    a, b = _matrices(n, device)
    a @ b
    times = []
    for _ in range(repeats):
        if device.type != "cuda":
            before = time.perf_counter()
            a @ b
            times.append((time.perf_counter() - before) * 1000)
            continue
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record(stream)
        a @ b
        end.record(stream)
        end.synchronize()
        times.append(start.elapsed_time(end))
    return times


@misconception("time_matmul", tell="elapsed_time gives milliseconds. Divide by 1000: the result is in seconds.")
def milliseconds(n: int, device: torch.device, repeats: int = 3) -> float:
    if device.type != "cuda":
        return min(_events(n, device, repeats)) / 1000
    return min(_events(n, device, repeats, torch.cuda.current_stream(device)))


@misconception(
    "time_matmul",
    tell="An event is recorded on the current GPU, which may be another one than that of your matrices. Record it on "
    "torch.cuda.current_stream(device), or within torch.cuda.device(device).",
)
def events_of_another_gpu(n: int, device: torch.device, repeats: int = 3) -> float:
    return min(_events(n, device, repeats)) / 1000


@misconception(
    "time_matmul",
    tell="process_time counts what the processor did for this process: not the time that passes while it waits for a "
    "GPU. Use time.perf_counter.",
)
def processor_time(n: int, device: torch.device, repeats: int = 3) -> float:
    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.process_time()

    a, b = _matrices(n, device)
    a @ b
    times = []
    for _ in range(repeats):
        start = now()
        a @ b
        times.append(now() - start)
    return min(times)


@misconception("time_matmul", tell="Without `repeats`, three products are timed: the default is 3.")
def five_by_default(n: int, device: torch.device, repeats: int = 5) -> float:
    a, b = _matrices(n, device)
    a @ b
    times = []
    for _ in range(repeats):
        start = _now(device)
        a @ b
        times.append(_now(device) - start)
    return min(times)
