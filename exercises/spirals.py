"""The project: three spirals that no line can separate, and all that you have written, joined to solve them.

Nothing here is new. Your `split` sets rows aside, your loop trains, your schedule and your groups of parameters steer
the optimizer, your checkpoints let a run stop and go on, and your ranks share the work. Import your own modules inside
the functions, as in ``from training import evaluate``.

``python spirals.py`` trains and reports. With a path, as in ``run(0, 60, "spirals.pt")``, you can stop it with Ctrl-C;
call it again, and it goes on. ``torchrun --nproc-per-node=2 spirals.py`` trains on two ranks.

Read:
- PyTorch tutorial, Saving and Loading a General Checkpoint: https://docs.pytorch.org/tutorials/recipes/recipes/saving_and_loading_a_general_checkpoint.html
- PyTorch docs, Reproducibility: https://docs.pytorch.org/docs/stable/notes/randomness.html
- PyTorch docs, torch.optim.AdamW: https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html
- Andrej Karpathy, A Recipe for Training Neural Networks: https://karpathy.github.io/2019/04/25/recipe/
"""

from __future__ import annotations

import math
import os
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Subset, TensorDataset

N_PER_CLASS, NOISE, VAL_FRACTION = 200, 0.1, 0.2
"""The data of `run` and `run_on_ranks`: points of each class, their noise, and the part set aside for validation."""
HIDDEN, DEPTH = 32, 2
"""The network."""
BATCH_SIZE, WEIGHT_DECAY = 60, 0.01
"""The training: rows in each step, and the decay of matrices."""
WARMUP, PEAK, FLOOR = 3, 0.02, 0.0002
"""The learning rate: epochs of warm-up, the highest rate, and the last one."""


def make_spirals(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    """Three interleaved spirals in the plane.

    Point ``i`` of class ``k`` is ``(r * cos(a), r * sin(a))``: its radius ``r`` grows evenly from 0 for the first point
    to 1 for the last, ``r = i / (n_per_class - 1)``, and its angle in radians is ``a = 4 * r + 2 * pi * k / 3 + noise *
    z``, with a standard normal number ``z`` of its own.

    Args:
        n_per_class: points of each class, at least 2.
        noise: how far the angles scatter (radians), 0 or more.
        seed: of a new ``torch.Generator``. It gives the numbers ``z``: ``torch.randn(n_per_class, generator=...)`` for
            class 0, then for class 1, then for class 2. Nothing is drawn from torch's global generator.

    Returns:
        ``(features, labels)``: float32 of shape ``(3 * n_per_class, 2)``, and int64 of shape ``(3 * n_per_class,)``.
        First come all points of class 0, then those of class 1, then those of class 2.

    Raises:
        ValueError: if ``n_per_class`` is less than 2, or ``noise`` negative.

    Example:
        >>> features, labels = make_spirals(2, 0.0, seed=0)
        >>> features.shape, labels
        (torch.Size([6, 2]), tensor([0, 0, 1, 1, 2, 2]))
        >>> features[1]
        tensor([-0.6536, -0.7568])

    Read: PyTorch docs, `torch.Generator` and `torch.randn`.
    """
    # class after class
    raise NotImplementedError("write `make_spirals` here")


class SpiralNet(nn.Module):
    """A network for points in the plane: some hidden layers, and three logits.

    Args:
        hidden: the width of each hidden layer.
        depth: how many hidden layers there are, at least 1.

    It has ``depth + 1`` layers of class ``nn.Linear`` (with biases), made in the order in which they are used: from 2
    to ``hidden``, from ``hidden`` to ``hidden``, and from ``hidden`` to 3. After each hidden layer comes a tanh or a
    ReLU of torch, as you like; after the last layer comes nothing. There is nothing else in it that is random or is
    trained.

    Your `training.init_weights` gives the first weights, with a new generator of the seed 0, so any two new nets of the
    same size are equal.

    Example:
        >>> net = SpiralNet(hidden=8, depth=2)
        >>> net(torch.zeros(5, 2)).shape
        torch.Size([5, 3])
        >>> [tuple(p.shape) for p in net.parameters()]
        [(8, 2), (8,), (8, 8), (8,), (3, 8), (3,)]

    Read: PyTorch docs, `nn.Sequential`.
    """

    def __init__(self, hidden: int, depth: int) -> None:
        # a list of layers, then your init_weights
        raise NotImplementedError("write `SpiralNet.__init__` here")

    def forward(self, x: Tensor) -> Tensor:
        """Logits of shape ``(n, 3)`` for points ``x`` of shape ``(n, 2)``."""
        # raw logits
        raise NotImplementedError("write `SpiralNet.forward` here")


def train_spirals(seed: int, epochs: int) -> dict[str, Any]:
    """Trains a `SpiralNet` on spirals, and keeps the best weights.

    It needs `make_spirals` and `SpiralNet` from above, and of your own modules ``split`` (datasets), ``train_epoch``,
    ``evaluate``, ``parameter_groups``, ``warmup_cosine`` (training) and ``snapshot`` (checkpoints). All numbers are the
    constants at the top of this file, as they are when the function is called.

    - The data are ``make_spirals(N_PER_CLASS, NOISE, seed)``; ``split``, with `VAL_FRACTION` and the seed, sets rows
      aside.
    - The network is ``SpiralNet(HIDDEN, DEPTH)``. The optimizer is ``torch.optim.AdamW`` with the groups of
      ``parameter_groups(model, WEIGHT_DECAY)``, and torch's defaults for all else but the learning rate.
    - Epochs count from 0. The learning rate of a whole epoch, in both groups, is ``warmup_cosine(epoch, WARMUP, epochs,
      PEAK, FLOOR)``. In each epoch, `train_epoch` takes every training row once, in batches of `BATCH_SIZE` (the last
      may be short) and in another order than the epoch before; then `evaluate` measures all validation rows.
    - The seed decides everything: two calls with the same seed give the same. The simplest way: begin with
      ``torch.manual_seed(seed)``, and let ``DataLoader(..., shuffle=True)`` shuffle.

    Args:
        seed: of the data, the split and the order of the rows.
        epochs: how many, at least ``WARMUP + 2``.

    Returns:
        A dict of four entries: ``"train_losses"`` and ``"val_losses"``, lists of floats, one for each epoch (what
        `train_epoch` returned, and the loss of `evaluate`); ``"val_accuracy"`` and ``"weights"``, the accuracy and a
        `snapshot` of the epoch with the lowest validation loss.

    With the constants as they are handed out, 60 epochs reach a ``val_accuracy`` of 0.95 or more, whatever the seed is.

    Example:
        >>> history = train_spirals(seed=0, epochs=8)
        >>> len(history["train_losses"]), len(history["val_losses"])
        (8, 8)
        >>> sorted(history["weights"]) == sorted(SpiralNet(HIDDEN, DEPTH).state_dict())
        True

    Read: Karpathy, 'A Recipe for Training Neural Networks'; PyTorch docs, 'Reproducibility'.
    """
    # seed, data, two loaders, network, optimizer; then the epochs
    raise NotImplementedError("write `train_spirals` here")


def run(seed: int, epochs: int, path: str | None = None, stop_after: int | None = None) -> dict[str, Any]:
    """Trains as `train_spirals` does, with the same results, and can stop and go on.

    Data, network, schedule and results are those of `train_spirals`; how you shuffle is up to you here too. New is the
    path. You may call `train_spirals` or copy from it; of your own modules it needs ``save_checkpoint`` and ``resume``
    (checkpoints) in addition. (A loader draws a random number each time that it is iterated over, even one that does
    not shuffle; `save_checkpoint` keeps torch's global random numbers, so set no seed after the beginning.)

    **With a path** it writes a checkpoint there after each epoch, by `save_checkpoint`; if there is one already, it
    goes on from that one. The result is the same, to the last bit, as that of a run that never stopped, however often
    it was stopped, whether by ``stop_after`` or by an error or Ctrl-C at any moment: the epoch that was not finished
    begins again. `save_checkpoint` does not keep the losses of earlier epochs, nor the best weights: put these into
    files beside it, whose names begin with ``path``. (Three questions: in which moment of an epoch must the checkpoint
    be saved? Must the others be written before it, or after it? And what does a save that fails half-way, as on a full
    disk, leave behind?)

    Args:
        seed: of the data, the split and the order of the rows.
        epochs: of the whole run, at least ``WARMUP + 2``.
        path: of the checkpoint, a file of any name in a folder that exists, in which there may be other runs' files;
            with None nothing is written. A run goes on with the same seed, number of epochs and constants with which it
            began.
        stop_after: return when this many epochs of the whole run are done, those of earlier calls included; at least
            1. The schedule is still that of ``epochs``. If that many are done already, or all are, nothing is trained.

    Returns:
        A dict of four entries, also when it stops early: ``"train_losses"`` and ``"val_losses"``, lists of floats, one
        for each epoch of the run so far (what `train_epoch` returned, and the loss of `evaluate`); ``"val_accuracy"``
        and ``"weights"``, the accuracy and a `snapshot` of the epoch with the lowest validation loss.

    With the constants as they are handed out, 60 epochs reach a ``val_accuracy`` of 0.95 or more, whatever the seed is.

    Example:
        >>> import tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "spirals.pt")
        >>> history = run(seed=0, epochs=8, path=path, stop_after=3)
        >>> len(history["val_losses"])
        3
        >>> history = run(seed=0, epochs=8, path=path)    # goes on with epoch 3
        >>> len(history["val_losses"])
        8
        >>> history["val_losses"] == run(seed=0, epochs=8)["val_losses"]    # to the last bit
        True

    Read: PyTorch tutorial 'Saving and Loading a General Checkpoint'; PyTorch docs, 'Reproducibility'; Karpathy, 'A
    Recipe for Training Neural Networks'.
    """
    # each epoch has a history of its own, saved first; the checkpoint decides which one counts
    raise NotImplementedError("write `run` here")


def decision_grid(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    """Which class a model sees at each point of a square: a map of its decisions.

    Args:
        model: gives logits ``(n, C)`` for points ``(n, 2)``; in any mode, on any device, with at least one parameter.
        low, high: both coordinates go from ``low`` to ``high``.
        steps: points in each direction, at least 2, evenly spaced, both ends included.

    Returns:
        Shape ``(steps, steps)``, int64, on the model's device: the class with the largest logit at each point, laid out
        as on paper. From column to column x grows, from ``low`` to ``high``; the first row is at the **top**, ``y =
        high``, the last one at ``y = low``.

    The model is called once, with all points together, as float32 on the model's device, in eval mode and without
    gradients. Afterwards everything about it is as before, the training flags of all submodules too, and gradients are
    recorded if they were before. (`predict_labels` of your ``training.py`` promises just that, but not on which device
    its result is.)

    Example:
        >>> model = nn.Linear(2, 2, bias=False)
        >>> _ = model.load_state_dict({"weight": torch.tensor([[0.0, 0.0], [0.0, 1.0]])})    # class 1 where y > 0
        >>> decision_grid(model, -1.0, 1.0, steps=3)
        tensor([[1, 1, 1],
                [0, 0, 0],
                [0, 0, 0]])

    Read: PyTorch docs, `torch.linspace`, `torch.meshgrid` (mind ``indexing``) and `torch.cartesian_prod`.
    """
    # y goes down from row to row
    raise NotImplementedError("write `decision_grid` here")


def run_on_ranks(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    """Trains one `SpiralNet` on all ranks together, each with its share of the rows.

    The process group is set up already, and still is afterwards. Everything is on the CPU. Of your own modules it needs
    ``split``, ``train_epoch``, ``parameter_groups``, ``warmup_cosine``, ``snapshot``, ``sharded_loader``, ``wrap`` and
    ``global_accuracy``.

    Data, split, network, optimizer and learning rates are those of `run`. The training rows go to the ranks by
    ``sharded_loader`` with the seed, in batches of ``BATCH_SIZE // world_size`` rows on each rank; ``set_epoch`` is
    called before each epoch. Gradients are averaged over the ranks (`wrap` does it), so every step is the one that a
    single process would take with the batches of all ranks joined, within 1e-5.

    Args:
        rank, world_size: which rank this is, of how many.
        seed: the same on all ranks.
        epochs: at least ``WARMUP + 2``; no epoch is chosen as the best one.

    Returns:
        A dict of two entries, the same numbers on every rank: ``"weights"``, a `snapshot` of the plain `SpiralNet`
        after the last epoch, with its own names (no ``module.`` in front); and ``"val_accuracy"``, the fraction of
        **all** validation rows that it gets right, a float. (Let each rank measure a part of them: ``global_accuracy``
        counts them together.)

    Example:
        ::

            ddp_setup(rank, world_size)
            result = run_on_ranks(rank, world_size, seed=0, epochs=60)
            ddp_cleanup()

    Read: PyTorch tutorial "Getting Started with Distributed Data Parallel"; PyTorch docs, `torch.utils.data.Subset`.
    """
    # the loop of run, with a wrapped model and a share of the rows
    raise NotImplementedError("write `run_on_ranks` here")


def report(history: dict[str, Any]) -> str:
    """What came of a run, in three lines.

    Args:
        history: what `run` returns, of at least one epoch: ``"val_losses"`` and ``"val_accuracy"`` count here.

    Returns:
        Three lines, just like these, with the numbers of the history::

            best epoch: 7 of 9
            validation: loss 0.0312, accuracy 0.9917
            still improving: no

        The best epoch is the one with the lowest validation loss, the first of them if several have it; it counts from
        1. Loss and accuracy have 4 decimals. The last line ends with ``yes`` if the best epoch is the last one of the
        history, otherwise with ``no``. After it comes no newline.

    Example:
        >>> print(report({"val_losses": [0.5, 0.25], "val_accuracy": 0.875}))
        best epoch: 2 of 2
        validation: loss 0.2500, accuracy 0.8750
        still improving: yes

    Read: Python docs, 'Format Specification Mini-Language'.
    """
    # index finds the first
    raise NotImplementedError("write `report` here")


if __name__ == "__main__":
    if "RANK" in os.environ:  # torchrun has set it
        from ddp import ddp_cleanup, ddp_setup, read_env

        rank, _, world_size = read_env(os.environ)
        ddp_setup(rank, world_size)
        accuracy = run_on_ranks(rank, world_size, seed=0, epochs=60)["val_accuracy"]
        # One write with its newline: what two ranks print must not meet on one line.
        print(f"rank {rank} of {world_size}: validation accuracy {accuracy:.4f}\n", end="")
        ddp_cleanup()
    else:
        print(report(run(seed=0, epochs=60)))
