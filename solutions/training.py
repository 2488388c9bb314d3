"""The training loop: forward, loss, backward, step; and evaluating a model without changing it.

The loop has five lines, and a mistake in any of them may still let the model train, only a little worse. So always know
in which mode the model is, what is in ``.grad``, and over how many examples a mean is taken.

Read:
- PyTorch tutorial, the training loop: https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html
- PyTorch docs, F.cross_entropy: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.cross_entropy.html
- PyTorch docs, torch.optim: https://docs.pytorch.org/docs/stable/optim.html
- Raschka, PyTorch in One Hour, section 7: https://sebastianraschka.com/teaching/pytorch-1h/
"""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader

TRAIN_FEATURES = [[-1.2, 3.1], [-0.9, 2.9], [-0.5, 2.6], [2.3, -1.1], [2.7, -1.5]]
TRAIN_LABELS = [0, 0, 0, 1, 1]
TEST_FEATURES = [[-0.8, 2.8], [2.6, -1.6]]
TEST_LABELS = [0, 1]


def train_step(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    """One step of training on one batch.

    The loss is the cross-entropy of the model's output (logits, not probabilities), mean over the batch.

    Args:
        model: in training mode; gives logits of shape ``(n, C)``.
        features: shape ``(n, ...)``, the model's input.
        labels: shape ``(n,)``, class indices.
        optimizer: holds the model's parameters. Use this one: it may remember earlier steps (momentum).

    Returns:
        The loss of this batch **before** the step, a Python float. Gradients left over from earlier must not
        make a difference to the step.

    Example:
        >>> model = nn.Linear(1, 2, bias=False)
        >>> _ = nn.init.zeros_(model.weight)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        >>> round(train_step(model, torch.tensor([[2.0]]), torch.tensor([1]), optimizer), 4)
        0.6931
        >>> model.weight.detach()
        tensor([[-1.],
                [ 1.]])

    Read: Raschka, "Build a Large Language Model (From Scratch)", appendix A.7 "A typical training loop"; PyTorch
    docs, `F.cross_entropy` (what does it expect as input?) and "Optimizing Model Parameters".
    """
    # solution: clear, loss, backward, step
    optimizer.zero_grad()
    loss = F.cross_entropy(model(features), labels)
    loss.backward()
    optimizer.step()
    return loss.item()
    # end


def train_epoch(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    """One pass over the training data: one step per batch, in the loader's order.

    Args:
        model: in any mode. The whole model is in training mode while it is trained, and when this function returns.
        loader: gives ``(features, labels)``; at least one batch. The last batch may be shorter than the others, or
            the loader may leave it out (so ``len(loader.dataset)`` need not be the number of examples seen).
        optimizer: holds the model's parameters.

    Returns:
        The mean loss per example over the epoch, a Python float: each example counts as much as any other, whatever
        batch it was in. The loss of an example is the one its batch had before its step.

    Example:
        >>> model = nn.Linear(1, 2)
        >>> data = [(torch.tensor([1.0]), 0), (torch.tensor([-1.0]), 1), (torch.tensor([2.0]), 0)]
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        >>> first = train_epoch(model, DataLoader(data, batch_size=2), optimizer)
        >>> train_epoch(model, DataLoader(data, batch_size=2), optimizer) < first
        True

    Read: Raschka, appendix A.7 "A typical training loop"; PyTorch docs, `nn.Module.train`.
    """
    # solution: train_step does the work; keep sums, and divide once
    model.train()
    total, count = 0.0, 0
    for features, labels in loader:
        total += train_step(model, features, labels, optimizer) * len(labels)
        count += len(labels)
    return total / count
    # end


def fit(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    """Train a model with plain SGD (no momentum) on the cross-entropy of its logits.

    Args:
        model: in training mode; gives logits.
        loader: gives ``(features, labels)``. Iterate over it once per epoch, from beginning to end.
        epochs: how many times, 0 or more.
        lr: the learning rate.

    Returns:
        The loss of every batch before its step, in order, as Python floats: ``epochs * len(loader)`` of them.

    Example:
        >>> data = [(torch.tensor([1.0]), 0), (torch.tensor([-1.0]), 1)]
        >>> model = nn.Linear(1, 2, bias=False)
        >>> _ = nn.init.zeros_(model.weight)
        >>> losses = fit(model, DataLoader(data, batch_size=1), epochs=3, lr=0.5)
        >>> len(losses), losses[0] > losses[-1]
        (6, True)

    Read: Raschka, appendix A.7 "A typical training loop", which gets 0.75, 0.65, 0.44, 0.13, 0.03, 0.00 on its toy
    data; PyTorch docs, `torch.optim.SGD`.
    """
    # solution: one optimizer, two loops
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        for features, labels in loader:
            losses.append(train_step(model, features, labels, optimizer))
    return losses
    # end


def evaluate(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    """Measure a model on a whole loader: new is how losses and right answers of uneven batches are added up.

    Args:
        model: in any mode; some of its submodules may be in training mode and others not. It runs in eval
            mode and records no gradients (call the model itself, so that its hooks run). Afterwards
            parameters, buffers, gradients and every submodule's ``training`` and ``requires_grad`` flags are what they
            were, and gradients are recorded if they were before (``from autograd import evaluating``, if you have
            written it).
        loader: gives ``(features, labels)``; at least one batch, perhaps of different sizes.

    Returns:
        ``(loss, accuracy)``, two Python floats: the mean cross-entropy per example, and the fraction of examples, from
        0 to 1, whose largest logit is that of their label. Each example counts the same, whatever batch it is in.

    Example:
        >>> model = nn.Linear(2, 2, bias=False)
        >>> _ = nn.init.eye_(model.weight)
        >>> data = [(torch.tensor([1.0, 0.0]), 0), (torch.tensor([0.0, 1.0]), 1), (torch.tensor([1.0, 0.0]), 1)]
        >>> loss, accuracy = evaluate(model, DataLoader(data, batch_size=2))
        >>> round(loss, 4), round(accuracy, 4), model.training
        (0.6466, 0.6667, True)

    Read: Raschka, appendix A.7 "A typical training loop"; PyTorch docs, `nn.Module.eval`, `torch.no_grad`.
    """
    # solution: save the flags; add up; restore the flags whatever happens
    flags = {module: module.training for module in model.modules()}
    model.eval()
    loss, right, count = 0.0, 0, 0
    try:
        with torch.no_grad():
            for features, labels in loader:
                logits = model(features)
                loss += F.cross_entropy(logits, labels, reduction="sum").item()
                right += (logits.argmax(dim=1) == labels).sum().item()
                count += len(labels)
    finally:
        for module, training in flags.items():
            module.training = training
    return loss / count, right / count
    # end


def predict_proba(model: nn.Module, x: Tensor) -> Tensor:
    """The probability of each class: new is only the softmax, over the right dimension.

    Args:
        model: in any mode; gives logits. It runs in eval mode and records no gradients meanwhile; afterwards the
            ``training`` flag of the model and of every submodule is what it was, and so is all else about the model;
            gradients are recorded if they were before (``from autograd import evaluating``, if you have written it).
        x: shape ``(n, ...)``, the model's input.

    Returns:
        Shape ``(n, C)``: each row is the softmax of the example's logits, so it sums to 1.

    Example:
        >>> model = nn.Linear(2, 2, bias=False)
        >>> _ = nn.init.eye_(model.weight)
        >>> predict_proba(model, torch.tensor([[0.0, 0.0], [1.0, 0.0]]))
        tensor([[0.5000, 0.5000],
                [0.7311, 0.2689]])

    Read: Raschka, appendix A.5 "Implementing multilayer neural networks" (its end: predictions) and A.7; PyTorch
    docs, `torch.softmax` (which dim?).
    """
    # solution: the flags as in evaluate
    flags = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            return torch.softmax(model(x), dim=1)
    finally:
        for module, training in flags.items():
            module.training = training
    # end


def predict_labels(model: nn.Module, x: Tensor) -> Tensor:
    """The most probable class of each example: new is only that the largest number is looked for.

    Args:
        model: in any mode; gives logits. It runs in eval mode and records no gradients meanwhile; afterwards the
            ``training`` flag of the model and of every submodule is what it was, and so is all else about the model;
            gradients are recorded if they were before (``from autograd import evaluating``, if you have written it).
        x: shape ``(n, ...)``, the model's input.

    Returns:
        Shape ``(n,)``, int64: the class indices.

    Example:
        >>> model = nn.Linear(2, 2, bias=False)
        >>> _ = nn.init.eye_(model.weight)
        >>> predict_labels(model, torch.tensor([[0.0, 3.0], [1.0, 0.0]]))
        tensor([1, 0])

    Read: Raschka, appendix A.7 "A typical training loop" (its end: predictions); PyTorch docs, `torch.argmax`.
    """
    # solution: the largest probability is where the largest logit is
    return predict_proba(model, x).argmax(dim=1)
    # end


def fit_best(model: nn.Module, train_loader: DataLoader, val_loader: DataLoader, epochs: int, lr: float) -> float:
    """Train, and keep the model of the best epoch rather than the last one.

    Every epoch trains once through ``train_loader`` (plain SGD without momentum, cross-entropy of the logits, the
    model in training mode), then measures the validation loss (mean per example, the model in eval mode).

    Args:
        model: gives logits.
        train_loader: gives ``(features, labels)``.
        val_loader: the same; its last batch may be short. It is not trained on: it changes neither parameters nor
            buffers.
        epochs: at least 1.
        lr: the learning rate.

    Returns:
        The lowest validation loss that was measured after an epoch, a Python float. The model has the parameters
        **and buffers** that it had then; if two epochs have the same loss, those of the first. The model as it was
        before the first epoch is not a candidate.

    Example:
        >>> data = [(torch.tensor([1.0]), 0), (torch.tensor([-1.0]), 1)]
        >>> model, loader = nn.Linear(1, 2), DataLoader(data, batch_size=2)
        >>> best = fit_best(model, loader, loader, epochs=3, lr=0.1)
        >>> best == evaluate(model, loader)[0]
        True

    Read: PyTorch docs, `nn.Module.state_dict` (what does it return: copies, or the tensors themselves?) and
    `copy.deepcopy`; *Deep Learning with GPU*, training checklist.
    """
    # solution: a copy at each new best, and load it in the end
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best, state = float("inf"), model.state_dict()
    for _ in range(epochs):
        train_epoch(model, train_loader, optimizer)
        loss, _ = evaluate(model, val_loader)
        if loss < best:
            best, state = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(state)
    return best
    # end


def clip_and_step(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    """One step with clipped gradients: if they are too large, all of them are scaled down together.

    Args:
        model: its parameters get their gradients here; a parameter may be frozen.
        loss: a scalar with a graph, from the model. There are no gradients left over from before:
            the caller clears them.
        optimizer: holds the model's parameters.
        max_norm: if the norm of **all** gradients together, as one long vector, is larger than this, then all are
            multiplied by the one factor that makes it this large; otherwise they stay.

    Returns:
        That norm before clipping, a Python float.

    Example:
        >>> model = nn.Linear(2, 1, bias=False)
        >>> _ = nn.init.zeros_(model.weight)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        >>> clip_and_step(model, model(torch.tensor([3.0, 4.0])).sum(), optimizer, max_norm=1.0)
        5.0
        >>> model.weight.detach()
        tensor([[-0.6000, -0.8000]])

    Read: PyTorch docs, `torch.nn.utils.clip_grad_norm_` (what does it return?); Raschka, appendix D.3 "Gradient
    clipping".
    """
    # solution: backward makes the gradients, then they can be clipped, then used
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return norm.item()
    # end


def init_weights(model: nn.Module, generator: torch.Generator) -> None:
    """Give every linear layer first weights that suit a ReLU after it.

    Kaiming's rule keeps the size of the signal about the same from layer to layer: a weight is uniform between
    ``-bound`` and ``bound``, where ``bound`` is the square root of ``6 / fan_in``, and ``fan_in`` the layer's number
    of inputs.

    Args:
        model: every ``nn.Linear`` in it, at any depth, gets new weights, one after the other in the order of
            ``model.modules()``. Biases, if a layer has them, become 0. All other layers stay as they are. Some
            parameters may be frozen: they get new values too, and stay frozen. All parameters stay the same tensors,
            with other numbers in them, because an optimizer may have them already. Gradients are recorded afterwards
            if they were before.
        generator: the weights are drawn from it, and nothing from torch's global generator.

    Example:
        >>> model = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2))
        >>> init_weights(model, torch.Generator().manual_seed(0))
        >>> model[0].weight.abs().max() <= 1, model[2].bias.tolist()
        (tensor(True), [0.0, 0.0])

    Read: PyTorch docs, `torch.nn.init.kaiming_uniform_` (mind ``nonlinearity``); *Dive into Deep Learning*,
    "Numerical Stability and Initialization".
    """
    # solution: torch.nn.init writes in place, outside of the graph
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.kaiming_uniform_(module.weight, nonlinearity="relu", generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    # end


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """The model's parameters in two groups, so that only the matrices decay.

    Weight decay pulls weights towards 0. Biases, and the scales of normalization layers, are better left alone.

    Args:
        model: any model. Some parameters may be frozen, or shared between layers.
        weight_decay: for the parameters with two or more dimensions.

    Returns:
        Two dicts as ``torch.optim.Optimizer`` takes them, with ``"params"`` (a list of parameters) and
        ``"weight_decay"``: the parameters with two or more dimensions, with ``weight_decay``, and all others, with 0.0.
        Each trainable parameter is in one of them, once; frozen parameters are in none.

    Example:
        >>> groups = parameter_groups(nn.Linear(3, 2), weight_decay=0.1)
        >>> sorted((len(group["params"]), group["weight_decay"]) for group in groups)
        [(1, 0.0), (1, 0.1)]
        >>> optimizer = torch.optim.AdamW(groups, lr=0.01)

    Read: PyTorch docs, `torch.optim`, "Per-parameter options".
    """
    # solution: parameters() gives shared ones once
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [
        {"params": [parameter for parameter in trainable if parameter.dim() >= 2], "weight_decay": weight_decay},
        {"params": [parameter for parameter in trainable if parameter.dim() < 2], "weight_decay": 0.0},
    ]
    # end


def warmup_cosine(step: int, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    """The learning rate of a step: a short way up, then half a cosine down.

    Args:
        step: from 0.
        warmup: the rate rises for this many steps, by the same amount each time, and is
            ``peak * (step + 1) / (warmup + 1)``: not 0 in the first step, and ``peak`` in step ``warmup``.
        total: steps in all, at least ``warmup + 2``.
        peak: the highest rate.
        floor: the lowest rate after the peak. Step ``total - 1`` has it, and so have all steps after it.

    Returns:
        A Python float. From step ``warmup`` to step ``total - 1`` it follows half a cosine: slowly at first,
        steepest in the middle, where it is ``(peak + floor) / 2``, and slowly again at the end.

    Raises:
        ValueError: if ``warmup`` is negative, or ``total`` is not larger than ``warmup``.

    Example:
        >>> [round(warmup_cosine(step, warmup=3, total=8, peak=1.0), 3) for step in range(9)]
        [0.25, 0.5, 0.75, 1.0, 0.854, 0.5, 0.146, 0.0, 0.0]

    Read: PyTorch docs, `torch.optim.lr_scheduler.CosineAnnealingLR` (its formula); Raschka, appendix D.1 "Learning
    rate warmup" and D.2 "Cosine decay".
    """
    # solution: three parts
    if warmup < 0 or total <= warmup:
        raise ValueError(f"no schedule of {total} steps with {warmup} of warm-up")
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    if step >= total - 1:
        return floor
    progress = (step - warmup) / (total - 1 - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2
    # end


def experiment(seed: int = 123) -> dict[str, object]:
    """Train and measure your own network on your own dataset: all that you have written so far, joined.

    It needs ``ToyDataset`` of your ``datasets.py`` and ``NeuralNetwork`` of your ``parameters.py`` (import them here,
    in the function), and `fit` and `evaluate` from above. The data are the four lists at the top of this file, as they
    are when the function is called; make float32 tensors of the features, and int64 tensors of the labels.

    The results follow from the seed, if the network begins with the weights that ``nn.Linear`` draws (leave them as
    they are in your ``parameters.py``), and random numbers are drawn in this order:

    1. ``torch.manual_seed(seed)``, and right after it the network, with 2 inputs and 2 outputs;
    2. `fit`, for 3 epochs with a learning rate of 0.5, over a ``DataLoader`` of the training rows: batches of 2,
       shuffled, without a short last batch, without workers, and without a generator of its own.

    Args:
        seed: decides the first weights, and the order of the rows in each epoch.

    Returns:
        A dict with four entries: ``"losses"``, what `fit` returns; ``"train_accuracy"`` and ``"test_accuracy"``, after
        the training, over all rows of each kind, from 0 to 1; ``"probabilities"``, shape ``(n, 2)``, those of all
        training rows after the training, in the order of the list, with no graph.

    Example:
        >>> [round(loss, 2) for loss in experiment()["losses"]]
        [0.75, 0.65, 0.44, 0.13, 0.03, 0.0]

    Read: Raschka, appendix A.7 "A typical training loop", whose experiment this is.
    """
    # solution: the parts are there already; put them together in the right order
    from datasets import ToyDataset
    from parameters import NeuralNetwork

    x = torch.tensor(TRAIN_FEATURES)
    train = ToyDataset(x, torch.tensor(TRAIN_LABELS))
    test = ToyDataset(torch.tensor(TEST_FEATURES), torch.tensor(TEST_LABELS))
    torch.manual_seed(seed)
    model = NeuralNetwork(2, 2)
    losses = fit(model, DataLoader(train, batch_size=2, shuffle=True, drop_last=True), epochs=3, lr=0.5)
    return {
        "losses": losses,
        "train_accuracy": evaluate(model, DataLoader(train, batch_size=2))[1],
        "test_accuracy": evaluate(model, DataLoader(test, batch_size=2))[1],
        "probabilities": predict_proba(model, x),
    }
    # end
