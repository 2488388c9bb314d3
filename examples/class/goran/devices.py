"""Devices: where tensors are, and how to bring data and models to the same one.

Every tensor is on a device. Torch computes only with tensors that are on the same device, and it never moves them by
itself: your code makes each move. A good program works on any machine, moves things once, and does not make the GPU
wait for Python.

Read:
- PyTorch docs, CUDA semantics: https://docs.pytorch.org/docs/stable/notes/cuda.html
- PyTorch docs, Tensor.to: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
- PyTorch docs, MPS backend: https://docs.pytorch.org/docs/stable/notes/mps.html
- Raschka, PyTorch in One Hour, section 9: https://sebastianraschka.com/teaching/pytorch-1h/
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset


def cpu() -> torch.device:
    """The device of the CPU.

    Returns:
        A ``torch.device``, not a string, and the CPU also on a machine with GPUs.

    Example:
        >>> cpu()
        device(type='cpu')

    Read: Dive into Deep Learning, 'GPUs', section "Computing Devices"; PyTorch docs, `torch.device`.
    """
    # one line
    raise NotImplementedError("write `cpu` here")


def gpu(i: int = 0) -> torch.device:
    """The device of CUDA GPU number i.

    A ``torch.device`` is only a name: this works on every machine, also on one that does not have this GPU.

    Args:
        i: the index of the GPU, from 0.

    Example:
        >>> gpu(), gpu(1)
        (device(type='cuda', index=0), device(type='cuda', index=1))

    Read: Dive into Deep Learning, 'GPUs', section "Computing Devices".
    """
    # one line
    raise NotImplementedError("write `gpu` here")


def num_gpus() -> int:
    """How many CUDA devices this machine has; 0 where there are none.

    Read: PyTorch docs, `torch.cuda.device_count`.
    """
    # one line
    raise NotImplementedError("write `num_gpus` here")


def try_gpu(i: int = 0) -> torch.device:
    """GPU i if this machine has it, else the CPU.

    Example (with 2 GPUs):
        >>> try_gpu(1), try_gpu(2)
        (device(type='cuda', index=1), device(type='cpu'))

    Read: Dive into Deep Learning, 'GPUs', section "Computing Devices".
    """
    # GPUs are counted from 0
    raise NotImplementedError("write `try_gpu` here")


def try_all_gpus() -> list[torch.device]:
    """The devices of all GPUs, in order; ``[cpu]``, a list with the CPU's device, where there are none.

    Read: Dive into Deep Learning, 'GPUs', section "Computing Devices".
    """
    raise NotImplementedError("write `try_all_gpus` here")


def pick_device() -> torch.device:
    """The best device that this machine has.

    Returns:
        A ``torch.device``: "cuda" if CUDA is available; else "mps" if that is (the GPU of Apple computers); else "cpu".

    Read: PyTorch docs, `torch.cuda.is_available` and 'MPS backend'; Raschka, "Build a Large Language Model (From
    Scratch)", appendix A.9.
    """
    raise NotImplementedError("write `pick_device` here")


def to_device(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    """Moves all tensors of a batch, however it is nested.

    Args:
        batch: a tensor; or a dict, list, tuple or named tuple of batches; or anything else.
        device: where to move the tensors.
        non_blocking: passed on to each move. If True, the CPU does not wait for moves from pinned memory.

    Returns:
        The same structure, made anew, with each tensor on ``device``: a dict for a dict (same keys), a list for a list,
        a tuple for a tuple, a named tuple of the same type for a named tuple. A tensor that is there already is
        returned itself, not copied. Anything that is neither (None, numbers, strings, an object that has a ``to`` of
        its own, ...) stays as it is.

    Example:
        >>> to_device({"x": torch.ones(2), "names": ["a", None]}, torch.device("cpu"))
        {'x': tensor([1., 1.]), 'names': ['a', None]}

    Read: PyTorch docs, `Tensor.to`; Python docs, `collections.namedtuple`.
    """
    # it calls itself on the parts; a named tuple is a tuple whose class takes its fields one by one
    raise NotImplementedError("write `to_device` here")


def add_across(x: Tensor, y: Tensor) -> Tensor:
    """``x + y``, on the device of ``x``, wherever ``y`` is. Its dtype is that of ``x + y``.

    Example:
        >>> add_across(torch.ones(2), torch.ones(2))
        tensor([2., 2.])

    Read: Dive into Deep Learning, 'GPUs', section "Copying".
    """
    # one line
    raise NotImplementedError("write `add_across` here")


class ScaledAttentionMask(nn.Module):
    """Scales attention scores and hides the future.

    A token may look at itself and at earlier tokens. The module keeps a causal mask as a *buffer*: a tensor that is
    part of the module (``.to(device)`` moves it, ``state_dict()`` has it) but not a parameter (no optimizer trains it).

    Args:
        size: the largest number of tokens.

    Example:
        >>> ScaledAttentionMask(4)(torch.ones(4, 4))
        tensor([[0.5000,   -inf,   -inf,   -inf],
                [0.5000, 0.5000,   -inf,   -inf],
                [0.5000, 0.5000, 0.5000,   -inf],
                [0.5000, 0.5000, 0.5000, 0.5000]])

    Read: PyTorch docs, `nn.Module.register_buffer`; Raschka, "Build a Large Language Model (From Scratch)", chapter 3.5
    "Hiding future words with causal attention".
    """

    mask: Tensor

    def __init__(self, size: int) -> None:
        """Makes the mask for up to ``size`` tokens."""
        super().__init__()
        # a matrix of True above the diagonal
        raise NotImplementedError("write `ScaledAttentionMask.__init__` here")

    def forward(self, scores: Tensor) -> Tensor:
        """``scores`` of shape ``(..., t, t)`` with ``t <= size``: divided by the square root of ``t``, with minus
        infinity above the diagonal. The result is on the same device as ``scores`` (where the module is, too), and
        gradients flow through it to ``scores``."""
        # take the part of the mask that is needed
        raise NotImplementedError("write `ScaledAttentionMask.forward` here")


def prepare(model: nn.Module, device: torch.device, lr: float) -> tuple[nn.Module, Optimizer]:
    """Moves a model and makes the optimizer for it.

    Args:
        model: a model on any device.
        device: where it must be.
        lr: the learning rate.

    Returns:
        ``(model, optimizer)``: the moved model, unchanged but for its place, and a plain ``torch.optim.SGD`` over
        exactly the parameters of that model.

    Read: PyTorch docs, `torch.optim` ("Constructing it") and `nn.Module.to`.
    """
    raise NotImplementedError("write `prepare` here")


def train_on(model: nn.Module, loader: Iterable[tuple[Tensor, Tensor]], device: torch.device, lr: float) -> list[float]:
    """One epoch of training on a device, without making the device wait.

    Plain SGD on the cross-entropy (mean over each batch). A GPU works through a queue that Python fills. Reading a
    value (``.item()``, ``.cpu()``, ``print``) makes Python wait until the queue is empty: a *synchronisation*. So:

    - the model moves to the device once,
    - each tensor of a batch (features and labels) moves to it exactly once,
    - nothing is read back inside the loop. Keep the losses on the device; after the last batch, read all of them at
      once: one synchronisation for the whole epoch. Keep them without their graphs, which would fill the memory.

    Args:
        model: gives logits ``(n, classes)``; it is trained, and ends on ``device``.
        loader: gives at least one pair of features and labels ``(n,)``, on the CPU. One epoch is one pass through it.
            Any iterable: it may have neither a length nor a dataset.
        device: where to train.
        lr: the learning rate.

    Returns:
        The loss of each batch before its step, in order, as Python floats.

    Example:
        >>> len(train_on(nn.Linear(2, 2), [(torch.ones(3, 2), torch.tensor([0, 1, 1]))], torch.device("cpu"), 0.1))
        1

    Read: PyTorch docs, 'CUDA semantics', section 'Asynchronous execution'; "Deep Learning with GPU" lecture notes,
    section on a single GPU.
    """
    # detach each loss (it holds its graph), and stack them at the end
    raise NotImplementedError("write `train_on` here")


class DeviceTrainer:
    """A trainer that knows its device, in parts that a subclass can replace.

    Args:
        device: where models and batches go.

    Example:
        >>> trainer = DeviceTrainer(torch.device("cpu"))
        >>> batch = (torch.ones(3, 2), torch.tensor([0, 1, 1]))
        >>> len(trainer.fit(nn.Linear(2, 2), [batch], epochs=4, lr=0.1))
        4

    Read: Dive into Deep Learning, 'GPUs', section "Neural Networks and GPUs".
    """

    def __init__(self, device: torch.device) -> None:
        """Stores the device."""
        raise NotImplementedError("write `DeviceTrainer.__init__` here")

    def prepare_model(self, model: nn.Module) -> nn.Module:
        """The model, on the device."""
        raise NotImplementedError("write `DeviceTrainer.prepare_model` here")

    def prepare_batch(self, batch: Any) -> Any:
        """The batch with its tensors on the device."""
        raise NotImplementedError("write `DeviceTrainer.prepare_batch` here")

    def fit(self, model: nn.Module, loader: Iterable[Any], epochs: int, lr: float) -> list[float]:
        """Trains by plain SGD on the cross-entropy.

        The model goes through ``self.prepare_model``, each batch through ``self.prepare_batch``, and what these return
        is what is used: a subclass may do anything there, as long as it returns a model, and a pair of features and
        labels.

        Args:
            model: gives logits ``(n, classes)``.
            loader: gives batches; one pass through it is an epoch. Any iterable: it may have no length.
            epochs: how many passes.
            lr: the learning rate.

        Returns:
            The loss of every batch before its step, in order over all epochs, as Python floats.
        """
        raise NotImplementedError("write `DeviceTrainer.fit` here")


def loader_for(dataset: Dataset[Any], batch_size: int, device: torch.device) -> DataLoader[Any]:
    """A loader for training on a device.

    From pinned (page-locked) memory, batches reach a CUDA device faster. For other devices pinning only costs time.

    Args:
        dataset: the rows. All of them come, in batches of `batch_size`; in which order is up to you.
        batch_size: rows in a batch.
        device: where the batches will be used.

    Returns:
        A ``DataLoader`` that pins memory if ``device`` is a CUDA device (with any index), and only then.

    Example:
        >>> loader_for(list(range(4)), 2, torch.device("cuda", 1)).pin_memory
        True

    Read: PyTorch docs, `torch.utils.data.DataLoader`, section 'Memory Pinning'.
    """
    # one line
    raise NotImplementedError("write `loader_for` here")


def time_matmul(n: int, device: torch.device, repeats: int = 3) -> float:
    """How long a matrix product takes on a device.

    Correct timing has three rules. The first product takes longer (kernels are loaded, memory is allocated), so make
    one before you begin: a warm-up. Other programs slow the computer down, so repeat and take the *best* time. And a
    GPU works while Python goes on: read the clock only after ``torch.cuda.synchronize`` with that GPU, before and after
    each product. (Instead of the clock, two ``torch.cuda.Event`` of that GPU are as good; they count milliseconds.)

    Args:
        n: both matrices are n × n, made on the device before the clock starts.
        device: the CPU or a CUDA device. On the CPU there is nothing to synchronise.
        repeats: how many products to time, each on its own.

    Returns:
        The shortest wall-clock time of one product (s).

    Example:
        >>> time_matmul(16, torch.device("cpu")) > 0
        True

    Read: "Deep Learning with GPU" lecture notes, section on a single GPU; PyTorch docs, 'CUDA semantics', section
    'Asynchronous execution'; Python docs, `time.perf_counter`.
    """

    raise NotImplementedError("write `time_matmul` here")
