"""The GPU training checklist: half precision, large batches in little memory, and data that arrives in time.

None of these techniques may change what the model learns. Each has one line that is easy to forget; then it costs
speed, or makes the training worse without an error.

Read:
- PyTorch tutorial, Performance Tuning Guide: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
- PyTorch docs, Mixed Precision examples: https://docs.pytorch.org/docs/stable/notes/amp_examples.html
- PyTorch docs, Memory Pinning: https://docs.pytorch.org/docs/stable/data.html#memory-pinning
- PyTorch docs, Inference Mode: https://docs.pytorch.org/docs/stable/notes/autograd.html#inference-mode
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset


def amp_step(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    """One training step in mixed precision.

    Under autocast, torch computes matrix products in 16 bits, which is fast, and operations that need precision (such
    as the loss) in 32 bits. Gradients in 16 bits may be so small that they become 0, so the loss is multiplied by a
    large number before ``backward``, and the gradients are divided by it before the step. A `GradScaler` does both,
    skips a step whose gradients are not finite, and adapts the number.

    - Gradients left over from before must not matter: clear them.
    - Forward and loss run under autocast (with the default 16-bit type of the device), ``backward`` does not.
    - Scaling, stepping and updating all go through ``scaler``.

    Args:
        model: gives logits ``(n, classes)``.
        x: the batch, on the model's device.
        y: class indices ``(n,)``. The loss is the cross-entropy, mean over the batch.
        optimizer: an optimizer of the model's parameters.
        scaler: a `GradScaler`, perhaps a disabled one.
        device_type: "cuda" or "cpu".

    Returns:
        The loss before the step as a Python float, not multiplied by anything.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> loss = amp_step(model, torch.ones(3, 2), torch.tensor([0, 1, 1]), optimizer, GradScaler("cpu"), "cpu")
        >>> type(loss)
        <class 'float'>

    Read: PyTorch docs, 'Automatic Mixed Precision package' and 'Automatic Mixed Precision examples'; "Deep Learning
    with GPU" lecture notes, training checklist.
    """
    # the recipe of torch's own documentation
    raise NotImplementedError("write `amp_step` here")


def accumulate_step(model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer) -> float:
    """One training step on a batch that does not fit into memory at once.

    The batch comes in micro-batches. The step must be the one that the whole batch in one piece would give: with the
    gradient of the mean cross-entropy over *all examples*, even if the micro-batches differ in size.
    The memory of each graph must be freed before the next one is made, so call ``backward`` for each micro-batch.

    Gradients left over from before the call must not matter: clear them.

    Args:
        model: gives logits ``(n, classes)``.
        micro_batches: pairs of inputs and class indices ``(n,)``; at least one, each with at least one example.
        optimizer: an optimizer of the model's parameters; it makes one step.

    Returns:
        The mean loss per example, before the step, as a Python float.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> micro_batches = [(torch.ones(3, 2), torch.tensor([0, 1, 1])), (torch.zeros(1, 2), torch.tensor([1]))]
        >>> type(accumulate_step(model, micro_batches, optimizer))
        <class 'float'>

    Read: "Deep Learning with GPU" lecture notes, training checklist (gradient accumulation); PyTorch docs,
    'Automatic Mixed Precision examples', section on gradient accumulation.
    """
    raise NotImplementedError("write `accumulate_step` here")


def fast_loader(dataset: Dataset[Any], batch_size: int, device: torch.device, num_workers: int) -> DataLoader[Any]:
    """A loader that keeps the device busy.

    Batches in pinned (page-locked) memory reach a CUDA device faster; for any other device pinning only costs time, so
    it is on for CUDA only. Workers prepare batches in other processes while the device computes; starting them again
    for each epoch takes time, so they are persistent (but only if there are any: a loader without workers refuses that
    setting).

    Args:
        dataset: the rows. All of them come, in batches of `batch_size`; in which order is up to you.
        batch_size: rows in a batch.
        device: where the batches will be used.
        num_workers: how many worker processes, 0 for none.

    Example:
        >>> loader = fast_loader(list(range(4)), 2, torch.device("cpu"), 0)
        >>> loader.pin_memory, loader.persistent_workers
        (False, False)

    Read: PyTorch docs, `torch.utils.data.DataLoader`, section 'Memory Pinning'; "Deep Learning with GPU" lecture notes,
    training checklist.
    """
    raise NotImplementedError("write `fast_loader` here")


def align_up(n: int, multiple: int = 8) -> int:
    """The smallest multiple of a number that is not below n.

    Tensor cores are fastest with sizes that are multiples of 8: a vocabulary of 50257 runs faster as 50264.

    Args:
        n: a size, any integer from 0, however large.
        multiple: from 1.

    Raises:
        ValueError: if ``n < 0`` or ``multiple < 1``.

    Example:
        >>> align_up(50257), align_up(64), align_up(1, 64)
        (50264, 64, 64)

    Read: "Deep Learning with GPU" lecture notes, training checklist (shapes for tensor cores); PyTorch 'Performance
    Tuning Guide'.
    """
    # integers only, no float division
    raise NotImplementedError("write `align_up` here")


def configure_cudnn(fixed_shapes: bool) -> None:
    """Tells cuDNN whether to look for the fastest algorithm.

    Trying out algorithms for a shape pays if the same shapes come again and again, and costs time if they change.

    Args:
        fixed_shapes: whether inputs always have the same shapes. ``torch.backends.cudnn.benchmark`` becomes
            this value: on when True, off when False, whatever it was before.

    Example:
        >>> configure_cudnn(True)
        >>> torch.backends.cudnn.benchmark
        True
        >>> configure_cudnn(False)
        >>> torch.backends.cudnn.benchmark
        False

    Read: PyTorch docs, `torch.backends.cudnn.benchmark`; PyTorch 'Performance Tuning Guide'.
    """
    # one line
    raise NotImplementedError("write `configure_cudnn` here")


def wrap_data_parallel(model: nn.Module) -> nn.Module:
    """Spreads each batch over the GPUs, where that makes sense.

    Args:
        model: any module, already where it should be.

    Returns:
        ``nn.DataParallel`` around the model if this machine has more than one CUDA device; with one or none, the model
        itself.

    Example (with 1 GPU):
        >>> model = nn.Linear(2, 1)
        >>> wrap_data_parallel(model) is model
        True

    Read: PyTorch docs, `nn.DataParallel` and `torch.cuda.device_count`; "Deep Learning with GPU" lecture notes, section
    on DataParallel.
    """
    raise NotImplementedError("write `wrap_data_parallel` here")


def clear_grads(optimizer: Optimizer) -> None:
    """Clears the gradients of all parameters that an optimizer has, and frees their memory.

    A gradient of zeros takes as much memory as the parameter. After this, ``.grad`` is None. Other parameters keep
    their gradients, and the optimizer keeps its state (such as momentum).

    Args:
        optimizer: any optimizer, with any number of parameter groups.

    Example:
        >>> layer = nn.Linear(1, 1)
        >>> layer(torch.ones(1)).backward()
        >>> clear_grads(torch.optim.SGD(layer.parameters(), lr=0.1))
        >>> print(layer.weight.grad)
        None

    Read: PyTorch docs, `Optimizer.zero_grad` (set_to_none); PyTorch 'Performance Tuning Guide'.
    """
    # one line
    raise NotImplementedError("write `clear_grads` here")


def inference(model: nn.Module, x: Tensor) -> Tensor:
    """The output of a model for a batch, computed at the lowest cost: new is ``torch.inference_mode``.

    The model runs in eval mode, so that Dropout and BatchNorm behave as they do after training; and under
    ``torch.inference_mode``, which records no graph and avoids even the bookkeeping that ``no_grad`` still does.

    Args:
        model: any module. Afterwards its training flag, and that of each submodule, are what they were, and so is
            all else about it; gradients are recorded if they were before (``from autograd import evaluating``, if you
            have written it).
        x: the batch.

    Returns:
        The model's output for `x`.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.Dropout())
        >>> inference(model, torch.ones(1, 2)).requires_grad
        False
        >>> model.training
        True

    Read: PyTorch docs, `torch.inference_mode` and 'Autograd mechanics', section 'Inference Mode'.
    """
    # save each flag, and restore each one
    raise NotImplementedError("write `inference` here")
