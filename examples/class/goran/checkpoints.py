"""Saving and loading: state dicts, files that are never half-written, and training that continues where it stopped.

What is worth keeping of a model is its ``state_dict``: names and tensors, no code. To continue training, you also need
the optimizer, the epoch and the state of the random numbers. And a computer may stop at any moment, also in the middle
of a save.

Read:
- PyTorch tutorial, Saving and Loading Models: https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
- PyTorch docs, Serialization semantics: https://docs.pytorch.org/docs/stable/notes/serialization.html
- Python docs, os.replace: https://docs.python.org/3/library/os.html#os.replace
"""

from __future__ import annotations

import os

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


def save_weights(model: nn.Module, path: str) -> None:
    """Saves the weights of a model, so that a crash cannot leave a broken file.

    The file holds the model's ``state_dict`` and nothing else, as ``torch.save`` writes it: not the model object,
    whose pickle depends on the code that made it and runs code when it is loaded.

    The save is *atomic*. If the process is killed in the middle, then ``path`` holds what it held before, or the
    whole new file: never a part of it. Writing straight to ``path`` cannot promise that. So write to another name in
    the same folder, and when the file is complete, rename it to ``path`` in one single step: ``os.replace`` is such a
    step. (A leftover file with that other name is fine.)

    Args:
        model: any module.
        path: where to save, a file of any name; an older file there is replaced. The folder exists.

    Example:
        >>> import tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "weights.pt")
        >>> save_weights(nn.Linear(2, 1), path)
        >>> list(torch.load(path))
        ['weight', 'bias']

    Read: PyTorch docs, 'Serialization semantics' and the tutorial 'Saving and Loading Models'; Python docs,
    `os.replace`; Raschka, "Build a Large Language Model (From Scratch)", appendix A.8 "Saving and loading models".
    """
    # write to another name first
    raise NotImplementedError("write `save_weights` here")


def load_weights(model: nn.Module, path: str, device: torch.device) -> nn.Module:
    """Loads weights that `save_weights` saved, wherever they were saved.

    - Nothing but weights is loaded: a file that holds other objects must be refused, without running any code in it.
    - The weights may have been saved from a GPU that this computer does not have. They must load anyway.
    - The file must fit the model: a missing entry, an extra entry, or an entry of another shape raises an error.

    Args:
        model: a model of the same architecture, with other weights, on any device.
        path: the file.
        device: where the model must be afterwards.

    Returns:
        The same model object, with the weights of the file, on ``device``.

    Example:
        >>> import tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "weights.pt")
        >>> torch.save({"weight": torch.tensor([[2.0]]), "bias": torch.tensor([1.0])}, path)
        >>> load_weights(nn.Linear(1, 1), path, torch.device("cpu")).weight
        Parameter containing:
        tensor([[2.]], requires_grad=True)

    Read: PyTorch docs, `torch.load` (weights_only, map_location) and `nn.Module.load_state_dict` (strict).
    """
    raise NotImplementedError("write `load_weights` here")


def save_checkpoint(model: nn.Module, optimizer: Optimizer, epoch: int, path: str) -> None:
    """Saves everything that `resume` needs to continue training (this exercise is both functions together).

    That is: the model's ``state_dict``, the optimizer's ``state_dict`` (momentum, learning rates...), the number of
    the epoch, and the state of torch's CPU random number generator (it decides about shuffling and dropout).

    The save is atomic, just as in `save_weights`. It changes nothing: training may go on afterwards as if nothing had
    been saved.

    Args:
        model: any module.
        optimizer: an optimizer of its parameters.
        epoch: the number of the epoch that has just ended.
        path: where to save, a file of any name; an older file there is replaced. Beside it may be other checkpoints.

    Example: see `resume`.

    Read: PyTorch tutorial 'Saving and loading a general checkpoint'; PyTorch docs, `torch.get_rng_state`.
    """
    # one dict, whose keys are your choice
    raise NotImplementedError("write `save_checkpoint` here")


def resume(model: nn.Module, optimizer: Optimizer, path: str) -> int:
    """Restores everything that `save_checkpoint` saved: the second half of the exercise `save_checkpoint`.

    Training that goes on from here gives exactly the numbers that it would have given without a stop.

    Args:
        model: a model of the same architecture, with other weights.
        optimizer: an optimizer of its parameters, of the same kind, perhaps with other settings.
        path: a file that `save_checkpoint` wrote, perhaps in a process that has ended since: all that counts is in it.

    Returns:
        The number of the next epoch: the one to go on with.

    Example:
        >>> import tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "checkpoint.pt")
        >>> model = nn.Linear(2, 1)
        >>> save_checkpoint(model, torch.optim.Adam(model.parameters()), 4, path)
        >>> fresh = nn.Linear(2, 1)
        >>> resume(fresh, torch.optim.Adam(fresh.parameters()), path)
        5
        >>> torch.equal(fresh.weight, model.weight)
        True

    Read: PyTorch docs, `torch.set_rng_state` and `Optimizer.load_state_dict`.
    """
    raise NotImplementedError("write `resume` here")


def strip_prefix(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Removes a prefix from the names of a state dict.

    Wrappers put one there: the weights of a model inside ``DistributedDataParallel`` are all called
    ``module.something``. The prefix is removed where a name *begins* with it, once, and nowhere else. Other names stay
    as they are.

    Args:
        state: names and tensors. It is not changed.
        prefix: the exact characters to remove, with the dot if there is one: ``"module."``.

    Returns:
        A new dict with the tensors in the same order.

    Example:
        >>> strip_prefix({"module.weight": torch.ones(1), "bias": torch.zeros(1)}, "module.")
        {'weight': tensor([1.]), 'bias': tensor([0.])}

    Read: Python docs, `str.removeprefix`; PyTorch docs, `nn.Module.state_dict`.
    """
    # one line
    raise NotImplementedError("write `strip_prefix` here")


def snapshot(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a model as they are now, kept in memory.

    ``model.state_dict()`` gives the model's own tensors. An optimizer changes tensors in place, so "best weights so
    far" kept in that way would go on changing.

    Args:
        model: any module; it is not changed.

    Returns:
        A dict with the names and values of ``model.state_dict()`` (parameters and buffers), which later training of
        the model does not change. ``model.load_state_dict`` accepts it.

    Example:
        >>> layer = nn.Linear(1, 1)
        >>> kept = snapshot(layer)
        >>> with torch.no_grad():
        ...     _ = layer.weight.add_(1)
        >>> torch.equal(kept["weight"], layer.weight)
        False

    Read: PyTorch docs, `nn.Module.state_dict` and `Tensor.clone`; Python docs, `copy.deepcopy`.
    """
    # one line
    raise NotImplementedError("write `snapshot` here")
