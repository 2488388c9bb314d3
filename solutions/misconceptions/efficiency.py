"""Classic wrong answers of efficiency, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset

from grader.testkit import misconception

# ---------------------------------------------------------------- amp_step


@misconception(
    "amp_step",
    tell="backward runs inside the autocast block. It already uses the types of the forward; inside the block, parts "
    "of it lose precision without need. End the block before backward.",
)
def backward_inside_autocast(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="The step is made with gradients that are still multiplied by the scale, and is as many times too "
    "large: does scaler.step(optimizer) make it, which divides them first, and not optimizer.step()?",
    seen="calls('optimizer.step', 'opt.step')",
)
def past_the_scaler(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    optimizer.step()
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="The gradients are cleared between backward and the step, so that the scaler finds none: clear them before "
    "backward, or after the step.",
    seen="zero_grad_before_step",
)
def clears_before_the_step(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    optimizer.zero_grad()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="You chose float16 for autocast, which is the default of a GPU. The CPU's is bfloat16: leave the choice to "
    "torch.autocast(device_type).",
)
def float16_everywhere(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type, dtype=torch.float16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="You unscale the gradients and then step by yourself, so a step with infinite gradients is made too, and "
    "ruins the weights. scaler.step skips such a step.",
)
def steps_with_infinite_gradients(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    optimizer.step()
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="The scale never adapts, and the next step is refused: does scaler.update() come after each step?",
    seen="lacks('update', at='backward')",
)
def never_updates(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    return loss.item()


@misconception(
    "amp_step",
    tell="The forward runs in full precision, so nothing gets faster: is it under torch.autocast, whose dtype has 16 "
    "bits?",
    seen="lacks('autocast')",
)
def no_autocast(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="On the CPU your forward runs without autocast, in 32 bits: torch.autocast('cuda') does nothing there. Use "
    "torch.autocast(device_type), and for every device.",
    seen="passes('cuda')",
)
def autocast_for_cuda_only(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="The type of the device is fixed in your code: torch.autocast('cpu') does nothing for a model on a GPU. "
    "Use device_type.",
    seen="passes('cpu')",
)
def autocast_for_the_cpu_only(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast("cpu"):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="The loss is computed outside autocast, from logits in 16 bits, so it is not precise. Inside the block "
    "autocast computes it in 32 bits.",
)
def loss_outside_autocast(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type):
        logits = model(x)
    loss = F.cross_entropy(logits, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="You return the loss times the scale. The scale is for the backward pass only; return the loss itself.",
)
def returns_the_scaled_loss(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    loss = scaler.scale(loss)
    loss.backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="You scale the loss once more to return it. The scale is for the backward pass only; return the loss itself.",
)
def scales_the_result(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return scaler.scale(loss).item()


@misconception(
    "amp_step",
    tell="The numbers are right, but you return a tensor. .item() gives a Python float, without the graph.",
    seen="lacks('item', 'float', 'tolist', at='backward')",
)
def returns_a_tensor(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> Tensor:
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@misconception(
    "amp_step",
    tell="Gradients from before the call are added in: are they cleared before backward?",
    seen="no_zero_grad",
)
def keeps_stale_gradients(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="The step is far too small: is backward called on the loss itself? The scaler divides the gradients "
    "by its scale, so call it on scaler.scale(loss).",
    seen="calls('loss.backward')",
)
def never_scales(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss)
    loss.backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="You clip the gradients. That is a good habit, but nobody asked for it here: it makes another step.",
    seen="calls('clip_grad_norm_', 'clip_grad_value_')",
)
def clips_the_gradients(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@misconception(
    "amp_step",
    tell="You write into x: whoever passed the batch finds other numbers in it. Make a new tensor, or use x as it is.",
)
def normalizes_the_batch_in_place(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    x.sub_(x.mean(dim=0))
    return loss.item()


# ---------------------------------------------------------------- accumulate_step


@misconception(
    "accumulate_step",
    tell="The gradients of the micro-batches' losses are added up without dividing, so the step is too large. Weight "
    "each loss by its share of the examples.",
    seen="backward_of_a_whole_sum",
)
def never_divides(model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer) -> float:
    optimizer.zero_grad()
    total = 0.0
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


@misconception(
    "accumulate_step",
    tell="You divide by the number of micro-batches. That is right only when they are equally large; an example in a "
    "small one counts too much.",
    seen="mean_of_batch_means",
)
def mean_of_means(model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer) -> float:
    optimizer.zero_grad()
    total = 0.0
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y) / len(micro_batches)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


@misconception(
    "accumulate_step",
    tell="The step is right, but the loss that you return is the mean of the micro-batches' means. Weight each by its "
    "number of examples.",
)
def reports_the_mean_of_means(
    model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer
) -> float:
    optimizer.zero_grad()
    count, losses = sum(len(y) for _, y in micro_batches), []
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y)
        (loss * len(y) / count).backward()
        losses.append(loss.item())
    optimizer.step()
    return sum(losses) / len(losses)


@misconception(
    "accumulate_step", tell="You divide by the size of the first micro-batch. Divide by the number of all examples."
)
def divides_by_the_first_size(
    model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer
) -> float:
    optimizer.zero_grad()
    total = 0.0
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y, reduction="sum") / (len(micro_batches) * len(micro_batches[0][1]))
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


@misconception(
    "accumulate_step",
    tell="The optimizer steps after every micro-batch, so the next one uses other weights. Step once, at the end.",
    seen="call_in_loop('step')",
)
def steps_every_micro_batch(
    model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer
) -> float:
    count, total = sum(len(y) for _, y in micro_batches), 0.0
    for x, y in micro_batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y) / count
    return total


@misconception(
    "accumulate_step",
    tell="You clear the gradients before each micro-batch, so only the last one is left. Clear once, at the beginning.",
    seen="zero_grad_in_loop",
)
def clears_every_micro_batch(
    model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer
) -> float:
    count, total = sum(len(y) for _, y in micro_batches), 0.0
    for x, y in micro_batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


@misconception(
    "accumulate_step",
    tell="Gradients from before the call are added in. Clear them once, before the first micro-batch.",
    seen="no_zero_grad",
)
def stale_gradients_in(model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer) -> float:
    count, total = sum(len(y) for _, y in micro_batches), 0.0
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


@misconception("accumulate_step", tell="You return the loss of the last micro-batch. Add up the parts of all of them.")
def returns_the_last_loss(
    model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer
) -> float:
    optimizer.zero_grad()
    count = sum(len(y) for _, y in micro_batches)
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y)
        (loss * len(y) / count).backward()
    optimizer.step()
    return loss.item()


@misconception("accumulate_step", tell="You return the sum over the examples. Divide by the number of examples.")
def returns_the_sum(model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer) -> float:
    optimizer.zero_grad()
    count, total = sum(len(y) for _, y in micro_batches), 0.0
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y, reduction="sum")
        (loss / count).backward()
        total += loss.item()
    optimizer.step()
    return total


@misconception(
    "accumulate_step",
    tell="The numbers are right, but you return a tensor. Losses that are kept as tensors keep their graphs; add up "
    "loss.item().",
)
def adds_up_tensors(model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer) -> Tensor:
    optimizer.zero_grad()
    count, total = sum(len(y) for _, y in micro_batches), 0.0
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward()
        total += loss
    optimizer.step()
    return total


@misconception(
    "accumulate_step",
    tell="More than one micro-batch is in memory with its graph: you join them, or call backward once for the sum of "
    "several losses, or retain the graphs. Call backward for each micro-batch; the gradients add up by themselves.",
)
def several_graphs_at_a_time(
    model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer
) -> float:
    x, y = (torch.cat(parts) for parts in zip(*micro_batches))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


@misconception(
    "accumulate_step",
    tell="You put the model into eval mode. This is a step of training: leave the mode as it is.",
    seen="calls('eval')",
)
def accumulates_in_eval_mode(
    model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer
) -> float:
    model.eval()
    optimizer.zero_grad()
    count, total = sum(len(y) for _, y in micro_batches), 0.0
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


@misconception(
    "accumulate_step",
    tell="You zero the inputs of micro-batches that are done. That frees no memory, and the caller's tensors have lost "
    "their numbers: leave them as they are.",
)
def zeroes_what_is_done(
    model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer
) -> float:
    total = sum(len(y) for _, y in micro_batches)
    mean = 0.0
    optimizer.zero_grad()
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y, reduction="sum") / total
        loss.backward()
        mean += loss.item()
        x.zero_()
    optimizer.step()
    return mean


# ---------------------------------------------------------------- fast_loader


@misconception(
    "fast_loader",
    tell="You pin memory for every device. It helps only with moves to a CUDA device.",
    seen="passes(True, 'pin_memory')",
)
def always_pins(dataset: Dataset[Any], batch_size: int, device: torch.device, num_workers: int) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size, num_workers=num_workers, pin_memory=True, persistent_workers=num_workers > 0)


@misconception(
    "fast_loader",
    tell="You never pin memory. For a CUDA device it should be pinned: device.type is 'cuda' then, while the device "
    "itself equals no text.",
    seen="lacks('pin_memory', at='DataLoader')",
)
def never_pins(dataset: Dataset[Any], batch_size: int, device: torch.device, num_workers: int) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size, num_workers=num_workers, persistent_workers=num_workers > 0)


@misconception(
    "fast_loader", tell="You pin memory whenever this machine has a GPU. Look at the device that was passed."
)
def pins_when_cuda_is_there(
    dataset: Dataset[Any], batch_size: int, device: torch.device, num_workers: int
) -> DataLoader[Any]:
    return DataLoader(
        dataset,
        batch_size,
        num_workers=num_workers,
        pin_memory=torch.cuda.is_available(),
        persistent_workers=num_workers > 0,
    )


@misconception(
    "fast_loader",
    tell="You pin memory for everything that is not the CPU. An Apple GPU (mps) shares the memory of the CPU.",
)
def pins_for_any_gpu(dataset: Dataset[Any], batch_size: int, device: torch.device, num_workers: int) -> DataLoader[Any]:
    return DataLoader(
        dataset,
        batch_size,
        num_workers=num_workers,
        pin_memory=device.type != "cpu",
        persistent_workers=num_workers > 0,
    )


@misconception(
    "fast_loader",
    tell="torch.device('cuda', 1) and torch.device('cuda') are not equal, so the second GPU gets no pinned memory. "
    "Compare device.type.",
)
def compares_whole_devices(
    dataset: Dataset[Any], batch_size: int, device: torch.device, num_workers: int
) -> DataLoader[Any]:
    return DataLoader(
        dataset,
        batch_size,
        num_workers=num_workers,
        pin_memory=device == torch.device("cuda"),
        persistent_workers=num_workers > 0,
    )


@misconception(
    "fast_loader",
    tell="A loader without workers raises an error for persistent_workers=True. Switch it on only when num_workers is "
    "above 0.",
    seen="passes(True, 'persistent_workers')",
)
def persistent_without_workers(
    dataset: Dataset[Any], batch_size: int, device: torch.device, num_workers: int
) -> DataLoader[Any]:
    return DataLoader(
        dataset, batch_size, num_workers=num_workers, pin_memory=device.type == "cuda", persistent_workers=True
    )


@misconception(
    "fast_loader",
    tell="Your workers are started again for every epoch. Make them persistent when there are any.",
    seen="lacks('persistent_workers', at='DataLoader')",
)
def never_persistent(dataset: Dataset[Any], batch_size: int, device: torch.device, num_workers: int) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size, num_workers=num_workers, pin_memory=device.type == "cuda")


@misconception(
    "fast_loader",
    tell="The loader has no workers, whatever num_workers says: is it passed on?",
    seen="lacks('num_workers', at='DataLoader')",
)
def forgets_the_workers(
    dataset: Dataset[Any], batch_size: int, device: torch.device, num_workers: int
) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size, pin_memory=device.type == "cuda")


@misconception(
    "fast_loader",
    tell="You leave out a short last batch: some rows never come. All of them should; drop_last is not asked for.",
    seen="keyword('drop_last')",
)
def drops_the_short_batch(
    dataset: Dataset[Any], batch_size: int, device: torch.device, num_workers: int
) -> DataLoader[Any]:
    return DataLoader(
        dataset,
        batch_size,
        drop_last=True,
        num_workers=num_workers,
        pin_memory=device.type == "cuda",
        persistent_workers=num_workers > 0,
    )


# ---------------------------------------------------------------- align_up


@misconception("align_up", tell="You change a size that is a multiple already. It should stay the same.")
def one_too_many(n: int, multiple: int = 8) -> int:
    if n < 0 or multiple < 1:
        raise ValueError("negative")
    return n + multiple - n % multiple


@misconception("align_up", tell="You round down. The result must not be below n.")
def rounds_down(n: int, multiple: int = 8) -> int:
    if n < 0 or multiple < 1:
        raise ValueError("negative")
    return n // multiple * multiple


@misconception("align_up", tell="You take the nearest multiple, which may be below n. Always go up.")
def rounds_to_the_nearest(n: int, multiple: int = 8) -> int:
    if n < 0 or multiple < 1:
        raise ValueError("negative")
    return (n + multiple // 2) // multiple * multiple


@misconception(
    "align_up",
    tell="n / multiple is a float, which keeps 15 digits or so: large numbers lose their last digits. // is exact for "
    "ints.",
    seen="calls('ceil')",
)
def divides_in_floats(n: int, multiple: int = 8) -> int:
    if n < 0 or multiple < 1:
        raise ValueError("negative")
    return math.ceil(n / multiple) * multiple


@misconception("align_up", tell="You always round to a multiple of 8. Use the second argument.")
def always_eight(n: int, multiple: int = 8) -> int:
    if n < 0 or multiple < 1:
        raise ValueError("negative")
    return (n + 7) // 8 * 8


@misconception("align_up", tell="The trick with & works for powers of two only; multiple may be any number.")
def powers_of_two_only(n: int, multiple: int = 8) -> int:
    if n < 0 or multiple < 1:
        raise ValueError("negative")
    return (n + multiple - 1) & ~(multiple - 1)


@misconception("align_up", tell="0 is a multiple of everything: for n = 0 the result is 0.")
def never_zero(n: int, multiple: int = 8) -> int:
    if n < 0 or multiple < 1:
        raise ValueError("negative")
    return max(1, -(-n // multiple)) * multiple


@misconception("align_up", tell="You accept a negative n, or a multiple below 1. Raise a ValueError.")
def accepts_anything(n: int, multiple: int = 8) -> int:
    return -(-n // multiple) * multiple


@misconception(
    "align_up",
    tell="assert raises an AssertionError, and under python -O it does nothing. Raise a ValueError.",
    seen="asserts",
)
def asserts(n: int, multiple: int = 8) -> int:
    assert n >= 0 and multiple >= 1
    return -(-n // multiple) * multiple


# ---------------------------------------------------------------- configure_cudnn


@misconception(
    "configure_cudnn",
    tell="You turn the benchmark on for fixed shapes, but never off. Set it to the argument, True or False.",
)
def only_turns_on(fixed_shapes: bool) -> None:
    if fixed_shapes:
        torch.backends.cudnn.benchmark = True


@misconception(
    "configure_cudnn", tell="You turn the benchmark on whatever the shapes are. For changing shapes it should be off."
)
def always_on(fixed_shapes: bool) -> None:
    torch.backends.cudnn.benchmark = True


@misconception(
    "configure_cudnn",
    tell="You have it the wrong way round: trying out algorithms is worth the time when shapes are fixed.",
)
def the_other_way_round(fixed_shapes: bool) -> None:
    torch.backends.cudnn.benchmark = not fixed_shapes


@misconception(
    "configure_cudnn",
    tell="Afterwards torch.backends.cudnn.benchmark is what it was before. Set it in each call, and for good "
    "(cudnn.flags puts it back); cudnn.enabled and cudnn.deterministic are other switches.",
)
def another_switch(fixed_shapes: bool) -> None:
    torch.backends.cudnn.deterministic = not fixed_shapes


# ---------------------------------------------------------------- wrap_data_parallel


@misconception(
    "wrap_data_parallel", tell="You wrap the model on every machine. With one GPU or none return the model itself."
)
def always_wraps(model: nn.Module) -> nn.Module:
    return nn.DataParallel(model)


@misconception(
    "wrap_data_parallel", tell="You wrap the model as soon as there is a GPU. DataParallel needs at least two."
)
def wraps_for_one_gpu(model: nn.Module) -> nn.Module:
    return nn.DataParallel(model) if torch.cuda.is_available() else model


@misconception("wrap_data_parallel", tell="Two GPUs are more than one: wrap the model there too.")
def wraps_from_three_on(model: nn.Module) -> nn.Module:
    return nn.DataParallel(model) if torch.cuda.device_count() > 2 else model


@misconception(
    "wrap_data_parallel",
    tell="The model is never wrapped: nn.DataParallel(model) makes a new module, which you have to return.",
)
def drops_the_wrapper(model: nn.Module) -> nn.Module:
    if torch.cuda.device_count() > 1:
        nn.DataParallel(model)
    return model


@misconception("wrap_data_parallel", tell="With several GPUs you return nothing.")
def returns_nothing(model: nn.Module) -> nn.Module | None:
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
        return None
    return model


@misconception(
    "wrap_data_parallel",
    tell="You name the GPUs yourself (device_ids), and not all that there are. Without that argument DataParallel uses "
    "all of them.",
)
def some_gpus_only(model: nn.Module) -> nn.Module:
    return nn.DataParallel(model, device_ids=[0, 1]) if torch.cuda.device_count() > 1 else model


# ---------------------------------------------------------------- clear_grads


@misconception(
    "clear_grads", tell="The gradients are zeros now, and take as much memory as before. set_to_none=True removes them."
)
def fills_with_zeros(optimizer: Optimizer) -> None:
    optimizer.zero_grad(set_to_none=False)


@misconception("clear_grads", tell="You clear the first parameter group only. An optimizer may have several.")
def first_group_only(optimizer: Optimizer) -> None:
    for param in optimizer.param_groups[0]["params"]:
        param.grad = None


@misconception(
    "clear_grads", tell="You set a variable of your own to None. Assign to the attribute .grad of each parameter."
)
def clears_a_variable(optimizer: Optimizer) -> None:
    for group in optimizer.param_groups:
        for param in group["params"]:
            grad = param.grad
            grad = None  # noqa: F841


@misconception("clear_grads", tell="You also cleared the optimizer's state (its momentum). Clear only the gradients.")
def forgets_the_momentum(optimizer: Optimizer) -> None:
    optimizer.zero_grad(set_to_none=True)
    optimizer.state.clear()


@misconception(
    "clear_grads",
    tell="You skip parameters that do not require a gradient. One that was frozen after a backward still has one, "
    "which takes memory.",
)
def skips_frozen_parameters(optimizer: Optimizer) -> None:
    for group in optimizer.param_groups:
        for param in group["params"]:
            if param.requires_grad:
                param.grad = None


# ---------------------------------------------------------------- inference


@misconception(
    "inference",
    tell="The model computes in training mode: Dropout sets numbers to 0 and BatchNorm uses this batch's statistics. "
    "Call model.eval().",
    seen="no_eval",
)
def never_evals(model: nn.Module, x: Tensor) -> Tensor:
    with torch.inference_mode():
        return model(x)


@misconception(
    "inference",
    tell="eval() switches modules, not recording: your output has a graph. Add torch.inference_mode().",
    seen="no_no_grad",
)
def eval_only(model: nn.Module, x: Tensor) -> Tensor:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    out = model(x)
    for module, flag in flags:
        module.training = flag
    return out


@misconception(
    "inference",
    tell="The output has no graph, but the model does not run in inference mode. Under no_grad torch still does "
    "bookkeeping for every tensor, and a detach() afterwards is too late. Use torch.inference_mode().",
    seen="calls('no_grad', unless=('inference_mode',))",
)
def no_grad_instead(model: nn.Module, x: Tensor) -> Tensor:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.no_grad():
        out = model(x)
    for module, flag in flags:
        module.training = flag
    return out


@misconception(
    "inference",
    tell=(
        "Afterwards the model is in eval mode, whatever it was before: are the training flags noted before "
        "eval(), and each one put back?"
    ),
    seen="stays_in_eval",
)
def leaves_it_in_eval(model: nn.Module, x: Tensor) -> Tensor:
    model.eval()
    with torch.inference_mode():
        return model(x)


@misconception(
    "inference",
    tell="Afterwards every submodule is in training mode, even if it was not before. Restore the flags that were "
    "there.",
    seen="always_back_to_train",
)
def always_back_to_train(model: nn.Module, x: Tensor) -> Tensor:
    model.eval()
    with torch.inference_mode():
        out = model(x)
    model.train()
    return out


@misconception(
    "inference",
    tell="Afterwards a submodule that was in eval mode on purpose is in training mode: is one flag restored "
    "for all modules, as model.train(flag) does? Save each module's own flag.",
)
def one_flag_for_all(model: nn.Module, x: Tensor) -> Tensor:
    flag = model.training
    model.eval()
    with torch.inference_mode():
        out = model(x)
    model.train(flag)
    return out


@misconception(
    "inference",
    tell="model.forward(x) skips the model's hooks. Call the model itself: model(x).",
    seen="reads('forward')",
)
def calls_forward(model: nn.Module, x: Tensor) -> Tensor:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.inference_mode():
        out = model.forward(x)
    for module, flag in flags:
        module.training = flag
    return out


@misconception(
    "inference",
    tell="`model.training = False` sets the flag of the outermost module alone. model.eval() sets all of them.",
    seen="outermost_flag_only",
)
def outermost_flag_only(model: nn.Module, x: Tensor) -> Tensor:
    flag = model.training
    model.training = False
    with torch.inference_mode():
        out = model(x)
    model.training = flag
    return out


@misconception(
    "inference",
    tell="You clear the model's gradients. Afterwards the model must be as it was before, its gradients too.",
    seen="calls('zero_grad')",
)
def clears_gradients(model: nn.Module, x: Tensor) -> Tensor:
    model.zero_grad()
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.inference_mode():
        out = model(x)
    for module, flag in flags:
        module.training = flag
    return out


@misconception(
    "inference", tell="You write into x: whoever passed it finds other numbers in it. Pass x to the model as it is."
)
def shifts_its_input(model: nn.Module, x: Tensor) -> Tensor:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.inference_mode():
        out = model(x)
    for module, flag in flags:
        module.training = flag
    x.sub_(x.mean(dim=0))
    return out


# ---------------------------------------------------------------- what is as before


@misconception(
    "inference",
    tell="Only the model and its direct children get their training flags back: parts of parts stay in eval "
    "mode. model.modules() has all of them, at any depth.",
)
def inference_puts_back_the_children_only(model: nn.Module, x: Tensor) -> Tensor:
    flags = {part: part.training for part in [model, *model.children()]}
    model.eval()
    try:
        with torch.inference_mode():
            return model(x)
    finally:
        for part, training in flags.items():
            part.training = training


@misconception(
    "inference",
    tell="You set requires_grad to True for every parameter afterwards, also for those that were frozen "
    "before. With no_grad you need not touch it at all.",
)
def inference_thaws_what_was_frozen(model: nn.Module, x: Tensor) -> Tensor:
    flags = {part: part.training for part in model.modules()}
    model.eval()
    model.requires_grad_(False)
    try:
        with torch.inference_mode():
            return model(x)
    finally:
        model.requires_grad_(True)
        for part, training in flags.items():
            part.training = training
