"""Debugging: find the bug.

Each function below is a complete program that runs to its end, or waits for ever, and gives wrong results, because of
**one** bug; the two long ones at the end have two. Its docstring says what should happen, and what is seen instead.
Make it do what it should.

Nothing raises an error, so there is no line to look at. What helps:

- Make it small: two rows, one layer, two steps, numbers that you can work out by hand.
- Print what you believe: shapes, losses, norms of gradients, ``model.training``. The bug is where the number that is
  printed and the number that you expect first differ.
- Change one thing at a time, and say before you run it what you will see if you are right.
- Stop at a line and look around: put ``breakpoint()`` there, and run ``grader debug``.

Read:
- Karpathy, A Recipe for Training Neural Networks: https://karpathy.github.io/2019/04/25/recipe/
- PyTorch docs, Frequently Asked Questions: https://docs.pytorch.org/docs/stable/notes/faq.html
- PyTorch docs, Reproducibility: https://docs.pytorch.org/docs/stable/notes/randomness.html
- Python docs, The Python Debugger: https://docs.python.org/3/library/pdb.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, Dataset, Subset

Batches = Iterable[tuple[Tensor, Tensor]]
"""Pairs of features ``(n, ...)`` and class indices ``(n,)``, int64, as a loader gives them; at least one pair."""


def loss_goes_down(model: nn.Module, loader: Batches, lr: float, epochs: int) -> list[float]:
    """Trains with plain SGD, and returns the loss of each epoch.

    What should happen: each step moves the weights by ``lr`` times the gradient of that batch's cross-entropy (the mean
    over the batch), and by nothing else. With a small ``lr`` the loss goes down from epoch to epoch.

    What is seen instead: the loss goes down for a while, then it swings up and down and grows. A smaller ``lr`` only
    delays that.

    Args:
        model: gives logits ``(n, classes)``. It is trained in training mode, whatever mode it comes in, and has no
            gradients when it comes.
        loader: the batches, perhaps of different sizes; one epoch is one pass through it.
        lr: the learning rate.
        epochs: how many passes, from 0.

    Returns:
        For each epoch the mean loss per example, as a Python float: every example counts the same, with the loss that
        its batch had before its step.

    Example:
        >>> model = nn.Linear(1, 2, bias=False)
        >>> _ = nn.init.zeros_(model.weight)
        >>> batch = (torch.tensor([[1.0], [-1.0]]), torch.tensor([0, 1]))
        >>> [round(loss, 3) for loss in loss_goes_down(model, [batch], lr=1.0, epochs=4)]
        [0.693, 0.313, 0.195, 0.14]

    Read: Raschka, "Build a Large Language Model (From Scratch)", appendix A.7 "A typical training loop".
    """
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        total, count = 0.0, 0
        for features, labels in loader:
            loss = F.cross_entropy(model(features), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            count += len(labels)
        losses.append(total / count)
    return losses


def probabilities_learn(model: nn.Module, loader: Batches, lr: float, epochs: int) -> list[float]:
    """Trains with Adam, and returns the loss of each epoch.

    What should happen: for each batch there is one step of ``torch.optim.Adam`` on the cross-entropy between the
    model's logits and the labels (the mean over the batch). Its learning rate is ``lr``, its other settings are the
    defaults. On rows that are easy to tell apart the loss comes close to 0.

    What is seen instead: the loss goes down for a while, and then it stays where it is, far above 0, however long the
    training goes on, although the model gets every row right. With three classes it stops at 0.551.

    Args:
        model: gives logits ``(n, classes)``. It is trained in training mode, whatever mode it comes in, and has no
            gradients when it comes.
        loader: the batches, perhaps of different sizes; one epoch is one pass through it.
        lr: the learning rate.
        epochs: how many passes, from 0. One optimizer trains through all of them.

    Returns:
        For each epoch the mean loss per example, as a Python float: every example counts the same, with the loss that
        its batch had before its step.

    Example:
        >>> model = nn.Linear(1, 2, bias=False)
        >>> _ = nn.init.zeros_(model.weight)
        >>> batch = (torch.tensor([[1.0], [-1.0]]), torch.tensor([0, 1]))
        >>> [round(loss, 3) for loss in probabilities_learn(model, [batch], lr=1.0, epochs=4)]
        [0.693, 0.127, 0.026, 0.007]

    Read: PyTorch docs, `torch.nn.functional.cross_entropy`: what it takes; Raschka, appendix A.4 and A.7.
    """
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        total, count = 0.0, 0
        for features, labels in loader:
            optimizer.zero_grad()
            probabilities = torch.softmax(model(features), dim=1)
            loss = F.cross_entropy(probabilities, labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            count += len(labels)
        losses.append(total / count)
    return losses


def memory_stays_flat(model: nn.Module, loader: Batches) -> float:
    """Trains for one epoch, and returns the mean loss.

    What should happen: plain SGD on the cross-entropy (the mean over each batch) with learning rate 0.1, one step for
    each batch. The memory in use is the same at every batch: when the model is called for a batch, the graph of at most
    one earlier batch is still there (that of the latest one).

    What is seen instead: the result is right, but the memory grows with every batch. With many batches the program is
    ended because no memory is left.

    Args:
        model: gives logits ``(n, classes)``. It is trained in training mode, whatever mode it comes in, and has no
            gradients when it comes.
        loader: the batches, perhaps of different sizes.

    Returns:
        The mean loss per example, as a Python float: every example counts the same, with the loss that its batch had
        before its step.

    Example:
        >>> model = nn.Linear(1, 2, bias=False)
        >>> _ = nn.init.zeros_(model.weight)
        >>> batch = (torch.tensor([[1.0], [-1.0]]), torch.tensor([0, 1]))
        >>> round(memory_stays_flat(model, [batch, batch]), 3)
        0.669

    Read: PyTorch docs, "Frequently Asked Questions", section "My model reports cuda runtime error: out of memory".
    """
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total, count = 0.0, 0
    for features, labels in loader:
        loss = F.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss * len(labels)
        count += len(labels)
    return float(total / count)


def evaluation_repeats(model: nn.Module, loader: Batches) -> float:
    """Measures the accuracy of a model.

    What should happen: the model runs as it does after training, without recording a graph. A second call gives the
    same number. Nothing about the model changes: its weights and buffers, its gradients, and the training flag of each
    of its modules are afterwards what they were, and gradients are recorded again if they were before. (What is left
    behind if the model raises an error is up to you.)

    What is seen instead: with a model that has Dropout, two calls give two different numbers. With one that has
    BatchNorm, the numbers change as well, and so do the model's buffers.

    Args:
        model: gives logits ``(n, classes)``; in any mode, perhaps with some modules in eval mode and others not.
        loader: the batches, perhaps of different sizes; the same ones in each pass.

    Returns:
        The fraction of examples whose largest logit is that of their label, a Python float from 0 to 1.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Dropout(0.9))
        >>> _ = nn.init.eye_(model[0].weight)
        >>> batch = (torch.tensor([[2.0, 1.0], [1.0, 2.0], [3.0, 1.0], [1.0, 4.0]]), torch.tensor([0, 1, 0, 0]))
        >>> evaluation_repeats(model, [batch]), evaluation_repeats(model, [batch]), model.training
        (0.75, 0.75, True)

    Read: PyTorch docs, `nn.Module.eval` and "Autograd mechanics", section on evaluation mode.
    """
    right, count = 0, 0
    with torch.no_grad():
        for features, labels in loader:
            predicted = model(features).argmax(dim=1)
            right += (predicted == labels).sum().item()
            count += len(labels)
    return right / count


def honest_split(dataset: Dataset, val_fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    """Splits a dataset at random into rows for training and rows for validation.

    What should happen: every row is in one of the two parts, and in one only. Which rows are for validation is drawn at
    random from the seed: one seed gives one split, other seeds give others. Torch's global random numbers are neither
    used nor changed.

    What is seen instead: the validation loss is too good to be true, and new data are worse. Some rows are in both
    parts, and others are in none.

    Args:
        dataset: has ``len(dataset)`` and ``dataset[i]``.
        val_fraction: how much goes to validation, from 0 to 1.
        seed: decides the split.

    Returns:
        ``(train, val)``, two datasets. ``val`` has ``round(len(dataset) * val_fraction)`` rows, ``train`` the others;
        in which order is up to you.

    Example:
        >>> train, val = honest_split(range(10), 0.3, seed=1)
        >>> len(train), len(val), sorted([*train, *val])
        (7, 3, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])

    Read: PyTorch docs, `torch.utils.data.Subset` and `torch.randperm`.
    """
    count = len(dataset)
    held_out = round(count * val_fraction)
    generator = torch.Generator().manual_seed(seed)
    val = Subset(dataset, torch.randperm(count, generator=generator).tolist()[:held_out])
    train = Subset(dataset, torch.randperm(count, generator=generator).tolist()[held_out:])
    return train, val


def each_epoch_new(dataset: Dataset, batch_size: int, seed: int, epochs: int) -> list[list[int]]:
    """The order in which each epoch goes over a dataset that is shuffled.

    What should happen: each epoch has every row once, in an order of its own. All orders come from the seed: the same
    seed gives the same orders again, another seed gives others. Torch's global random numbers are neither used nor
    changed.

    What is seen instead: the order is random and can be repeated, but it is the same one in every epoch.

    Args:
        dataset: its rows are integers, all different, such as ``range(100)``.
        batch_size: rows in a batch of the loader; it changes no order.
        seed: decides all orders.
        epochs: how many, from 0.

    Returns:
        For each epoch the list of its rows, as Python ints, in the order in which they came.

    Example:
        >>> first, second = each_epoch_new(range(8), batch_size=4, seed=1, epochs=2)
        >>> sorted(first) == sorted(second) == list(range(8)), first == second
        (True, False)

    Read: PyTorch docs, "Reproducibility", section on DataLoader; `torch.utils.data.DataLoader`, ``generator``.
    """
    orders = []
    for _ in range(epochs):
        generator = torch.Generator().manual_seed(seed)
        loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, generator=generator)
        order = []
        for batch in loader:
            order += batch.tolist()
        orders.append(order)
    return orders


def no_nan(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean negative log-likelihood of labels.

    What should happen: for each row the result has minus the logarithm of the probability that softmax gives to the
    row's label, and the mean of these over the rows. Value and gradient are right and finite for logits up to ±10,000.

    What is seen instead: with small logits all is right. With large ones, such as a model has late in training, the
    loss is inf, and the gradients are NaN.

    Args:
        logits: shape ``(n, classes)``, floating point, n from 1. It is not changed.
        labels: shape ``(n,)``, int64, each in ``[0, classes)``.

    Returns:
        A scalar with logits' dtype; gradients flow back to the logits.

    Example:
        >>> no_nan(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))
        tensor(0.6931)
        >>> no_nan(torch.tensor([[1000.0, -1000.0]]), torch.tensor([1]))
        tensor(2000.)

    Read: PyTorch docs, `torch.log_softmax`: the sentence about numerical stability; Raschka, appendix A.2 to A.4.
    """
    probabilities = torch.softmax(logits, dim=1)
    log_probabilities = torch.log(probabilities)
    rows = torch.arange(len(labels), device=labels.device)
    of_labels = log_probabilities[rows, labels]
    return -of_labels.mean()


def best_weights_kept(model: nn.Module, loader: Batches, val_loader: Batches, lr: float, epochs: int) -> None:
    """Trains with plain SGD, and leaves in the model the weights of its best epoch.

    What should happen: after each epoch the loss on the validation rows is measured, in eval mode. At the end the model
    has the parameters and buffers that it had after the epoch with the lowest validation loss, the first of equal ones.
    (What happens if a loss is NaN is up to you.)

    What is seen instead: the best epoch is found, but the model ends with the weights of the last one.

    Args:
        model: gives logits ``(n, classes)``. It is trained in training mode, whatever mode it comes in, and has no
            gradients when it comes. In which mode it ends is up to you.
        loader: the training batches; one epoch is one pass, with a step of SGD on the cross-entropy for each batch.
        val_loader: the validation batches, perhaps of different sizes, the same in each pass. The loss is the mean
            cross-entropy over all of their rows.
        lr: the learning rate.
        epochs: how many, from 1.

    Example:
        >>> model = nn.Linear(1, 2)
        >>> x, y = torch.tensor([[1.0], [2.0]]), torch.tensor([0, 1])
        >>> best_weights_kept(model, [(x, y)], [(x, 1 - y)], lr=0.1, epochs=3)

    Read: PyTorch docs, `nn.Module.state_dict`; PyTorch tutorial "Saving and Loading Models", the note on
    ``best_model_state``.
    """
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best_loss = float("inf")
    for _ in range(epochs):
        model.train()
        for features, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(features), labels).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val_loss = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in val_loader)
        if val_loss < best_loss:
            best_loss = val_loss
            best_weights = model.state_dict()
    model.load_state_dict(best_weights)


def same_after_resume(
    make: Callable[[], tuple[nn.Module, Optimizer, LRScheduler]],
    data: Sequence[tuple[Tensor, Tensor]],
    path: str,
    stop: int,
    epochs: int,
) -> nn.Module:
    """Trains, stops, and goes on from a checkpoint, as a program that was interrupted and started again.

    What should happen: training runs for `stop` epochs and saves a checkpoint. Then everything is made anew, as in a
    new program, so that only the file is left of the first part. The checkpoint is loaded, and training goes on to the
    last epoch. The model ends with the weights of a run of `epochs` epochs that was never stopped.

    What is seen instead: after the stop the loss is higher than in a run that was not stopped, for some epochs, and the
    model ends with other weights.

    Args:
        make: gives a new model (without dropout), an optimizer of its parameters, perhaps one with momentum, and a
            scheduler of that optimizer's learning rate. The two models that it gives may have different weights. Call
            it once for each of the two parts: the second call makes the objects of the first part useless.
        data: the batches of every epoch. The loss is the cross-entropy (the mean over each batch); one step of the
            optimizer for each batch, and one of the scheduler after each epoch.
        path: where to save the checkpoint.
        stop: how many epochs the first part has, from 0 to `epochs`.
        epochs: how many there are in all.

    Returns:
        The model of the second part.

    Example:
        ::

            def make():
                model = nn.Linear(4, 3)
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
                return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)

            model = same_after_resume(make, data, "checkpoint.pt", stop=3, epochs=6)

    Read: PyTorch tutorial "Saving and loading a general checkpoint in PyTorch".
    """

    def train(count: int) -> None:
        for _ in range(count):
            for features, labels in data:
                optimizer.zero_grad()
                F.cross_entropy(model(features), labels).backward()
                optimizer.step()
            scheduler.step()

    model, optimizer, scheduler = make()
    train(stop)
    parts = {"model": model}
    torch.save({name: part.state_dict() for name, part in parts.items()}, path)

    model, optimizer, scheduler = make()
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    train(epochs - stop)
    return model


def gpu_not_waiting(model: nn.Module, loader: Batches, device: torch.device, lr: float) -> list[float]:
    """Trains for one epoch on a device, and returns the loss of each batch.

    What should happen: the model moves to the device once, and so does each tensor of a batch. Python waits for the GPU
    (a *synchronisation*: it reads a value back) once in the whole epoch. The memory in use is the same at every batch:
    the graph of at most one earlier batch is still there.

    What is seen instead: all numbers are right, but the GPU is idle half of the time. Python waits for it at every
    batch, and some tensors of a batch move to it twice.

    Args:
        model: gives logits ``(n, classes)``, in training mode. It is trained, and ends on the device.
        loader: the batches, on the CPU, at least one; any iterable: it may have no length. One epoch is one pass, with
            a step of SGD on the cross-entropy (the mean over each batch) for each batch.
        device: where to train.
        lr: the learning rate.

    Returns:
        The loss of each batch before its step, in order, as Python floats.

    Example:
        >>> batch = (torch.ones(3, 2), torch.tensor([0, 1, 1]))
        >>> len(gpu_not_waiting(nn.Linear(2, 2), [batch, batch], torch.device("cpu"), 0.1))
        2

    Read: PyTorch docs, "CUDA semantics", section "Asynchronous execution"; PyTorch "Performance Tuning Guide", "Avoid
    unnecessary CPU-GPU synchronization".
    """
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for features, labels in loader:
        optimizer.zero_grad()
        logits = model(features.to(device))
        loss = F.cross_entropy(logits, labels.to(device))
        loss.backward()
        optimizer.step()
        losses.append(F.cross_entropy(logits, labels.to(device)).item())
    return losses


def ranks_agree(
    rank: int, world_size: int, model: nn.Module, dataset: Sequence[tuple[Tensor, Tensor]], epochs: int, lr: float
) -> None:
    """Trains one model on several ranks; gradients are averaged by hand, without DistributedDataParallel.

    What should happen: each rank takes its share of the rows, and in each epoch all ranks make one step of SGD
    together, with the gradient of the mean cross-entropy over all rows. All ranks end with the same weights: those of
    one process that begins with rank 0's weights and takes all rows in each step.

    What is seen instead: the gradients are equal on all ranks in each step, but the weights are not, neither before nor
    after; and a model that was trained alone ends with other weights.

    Args:
        rank, world_size: which rank this is, of how many. The process group is set up already.
        model: of the same architecture on every rank, perhaps with different weights. Some of its parameters may be
            frozen. It has no buffers, and no gradients when it comes. Its own weights are trained.
        dataset: pairs of features and a label without dims, the same on all ranks; their number is a multiple of
            `world_size`, and not 0.
        epochs: how many steps, from 0.
        lr: the learning rate.

    Example:
        ::

            torch.manual_seed(rank)
            model = nn.Linear(4, 3)
            ranks_agree(rank, world_size, model, dataset, epochs=10, lr=0.1)
            # now model.weight is equal on all ranks

    Read: PyTorch tutorial "Writing Distributed Applications with PyTorch", section "Distributed Training"; PyTorch
    docs, "Distributed Data Parallel", section "Internal Design": what happens when it is made.
    """
    own = [dataset[i] for i in range(rank, len(dataset), world_size)]
    features = torch.stack([x for x, _ in own])
    labels = torch.stack([y for _, y in own])
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        optimizer.zero_grad()
        F.cross_entropy(model(features), labels).backward()
        for parameter in model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= world_size
        optimizer.step()


def nobody_waits_for_ever(rank: int, world_size: int, path: str, model: nn.Module) -> None:
    """Saves a model once for all ranks; all of them call it.

    What should happen: rank 0 writes the model's ``state_dict`` to the file, and no other rank writes. No rank returns
    before the file is complete. If saving raises an error on rank 0, every rank raises that error: of the same type,
    and with the same text. Afterwards the ranks can go on to communicate, also after an error.

    What is seen instead: the file is written, and then the program stands still. No rank ever returns.

    Args:
        rank, world_size: which rank this is, of how many. The process group is set up already.
        path: the file, the same on all ranks; a file that is there is replaced.
        model: a plain module, perhaps with different weights on each rank: rank 0's are saved.

    Example:
        ::

            nobody_waits_for_ever(rank, world_size, "weights.pt", model)
            state = torch.load("weights.pt", weights_only=True)    # works on every rank

    Read: PyTorch docs, "Distributed communication package": `torch.distributed.barrier`,
    `torch.distributed.broadcast_object_list`.
    """
    errors = [None]
    if rank == 0:
        try:
            torch.save(model.state_dict(), path)
        except Exception as error:
            errors = [error]
        dist.barrier()
    dist.broadcast_object_list(errors, src=0)
    if errors[0] is not None:
        raise errors[0]


def forecast(series: Tensor, window: int, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    """Learns to continue a series of measurements, and tests that on its last fifth. (This program has **two** bugs.)

    What should happen: a line is fitted that says the next value from the `window` values before it. The first four
    fifths of the series are there to learn from, the rest is for the test, and is treated as what it is: the future.

    What is seen instead: on a straight line, whose next value anyone can tell, the forecasts are one step ahead of what
    comes next. And whoever changes the very last measurement, which is in the test, gets another loss in training.

    - The first ``len(series) * 4 // 5`` values are for training. All values are standardized, ``(value - mean) / std``,
      with the mean and the unbiased standard deviation of the values for training alone.
    - An example is any `window` values in a row; its target is the value that comes right after them. Each value of the
      series that has `window` values before it is a target once. Where the target lies decides what the example is for.
    - The weights begin with ``0.1 * torch.randn(window, generator=...)``, the bias with 0. In each epoch all examples
      for training are taken once, in batches of 16 (the last may be short), in the order of ``torch.randperm``, from
      the same generator, whose seed is `seed`; each batch is a step of plain SGD on its mean squared error.

    Args:
        series: shape ``(n,)``, float32, in the order of time. It is not changed.
        window: how many values a forecast is made from, at least 1 and fewer than there are for training.
        epochs: how many passes, from 0.
        lr: the learning rate.
        seed: of the first weights and of all orders.

    Returns:
        A dict: ``"losses"``, for each epoch the mean loss of its examples, each with the loss that its batch had before
        its step, as floats; ``"forecasts"``, one for each value of the last fifth, in order, in the units of the
        series, as floats; ``"error"``, the mean absolute difference between these and what came, as a float.

    Example:
        >>> line = torch.arange(50.0)
        >>> found = forecast(line, window=2, epochs=40, lr=0.1, seed=0)
        >>> [round(value) for value in found["forecasts"]]
        [40, 41, 42, 43, 44, 45, 46, 47, 48, 49]

    Read: Dive into Deep Learning, "Working with Sequences"; Raschka, "Build a Large Language Model (From Scratch)",
    chapter 2.6 "Data sampling with a sliding window" (what a target is).
    """
    count = len(series) * 4 // 5
    known = series
    mean, std = known.mean(), known.std()
    values = (series - mean) / std

    rows = values.unfold(0, window + 2, 1)
    inputs, targets = rows[:, :window], rows[:, -1]
    places = torch.arange(len(rows)) + window
    is_training = places < count
    x, y = inputs[is_training], targets[is_training]

    generator = torch.Generator().manual_seed(seed)
    weight = (0.1 * torch.randn(window, generator=generator)).requires_grad_()
    bias = torch.zeros((), requires_grad=True)
    optimizer = torch.optim.SGD([weight, bias], lr=lr)
    losses = []
    for _ in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(x), generator=generator).split(16):
            loss = F.mse_loss(x[batch] @ weight + bias, y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        losses.append(total / len(x))

    with torch.no_grad():
        forecasts = (inputs[~is_training] @ weight + bias) * std + mean
        came = targets[~is_training] * std + mean
    return {"losses": losses, "forecasts": forecasts.tolist(), "error": (forecasts - came).abs().mean().item()}


def classify(features: Tensor, labels: Tensor, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    """Trains a small network to tell classes apart, and says how well each class is told. (This program has **two**
    bugs.)

    What should happen: a quarter of the rows, chosen at random, is set aside for validation; the others are trained on,
    in a new order in each epoch. The learning rate is halved after every second epoch. The result is that of the epoch
    with the lowest validation loss.

    What is seen instead: the first epoch is as it should be. From the second one on the training forgets what it knew,
    as if it were told the wrong classes; and the more rows there are, the sooner it stands still, as if its steps had
    become too small to be seen.

    - The rows of ``torch.randperm``'s first quarter (rounded down) are for validation, the others for training, in this
      order in the first epoch. Before each later epoch the rows for training are put in a new order by
      ``torch.randperm`` of their number: row i is then the one that stood at ``order[i]``. One generator, whose seed is
      `seed`, gives all that is drawn: first the split, then the first weights, then the orders.
    - The network is a Linear to 16, tanh, and a Linear to the number of classes (the highest label, and one). Its
      parameters begin with ``0.3 * torch.randn`` of their shape, in their order in ``parameters()``.
    - Each batch of 8 rows (the last may be short) is a step of SGD, with momentum 0.9, on its mean cross-entropy.

    Args:
        features: shape ``(n, d)``, float32. It is not changed.
        labels: shape ``(n,)``, int64, classes from 0. They are not changed.
        epochs: how many passes, at least 1.
        lr: the learning rate of the first two epochs.
        seed: of everything that is drawn.

    Returns:
        A dict: ``"rates"``, for each epoch the learning rate with which it was trained; ``"losses"``, for each epoch
        the mean cross-entropy of the rows for validation after it; ``"best"``, the first epoch with the lowest of
        these, counted from 0; ``"accuracy"``, for each class the share of its rows for validation that the network of
        that epoch tells right, 0.0 for a class without any; all as Python floats, and an int.

    Example:
        >>> features = torch.tensor([[-2.0], [2.0]]).repeat(20, 1)
        >>> found = classify(features, torch.tensor([0, 1]).repeat(20), epochs=5, lr=0.1, seed=0)
        >>> found["rates"]
        [0.1, 0.1, 0.05, 0.05, 0.025]
        >>> found["best"], found["accuracy"]
        (4, [1.0, 1.0])

    Read: Raschka, "Build a Large Language Model (From Scratch)", appendix A.7 "A typical training loop"; PyTorch docs,
    "How to adjust learning rate".
    """
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(labels), generator=generator)
    held = len(labels) // 4
    val_x, val_y = features[order[:held]], labels[order[:held]]
    x, y = features[order[held:]], labels[order[held:]]

    classes = int(labels.max()) + 1
    model = nn.Sequential(nn.Linear(features.shape[1], 16), nn.Tanh(), nn.Linear(16, classes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)

    rates, losses = [], []
    lowest, best = float("inf"), {}
    for epoch in range(epochs):
        if epoch > 0:
            x = x[torch.randperm(len(x), generator=generator)]
            y = y[torch.randperm(len(y), generator=generator)]
        rates.append(optimizer.param_groups[0]["lr"])
        model.train()
        for batch_x, batch_y in zip(x.split(8), y.split(8), strict=True):
            optimizer.zero_grad()
            F.cross_entropy(model(batch_x), batch_y).backward()
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            losses.append(F.cross_entropy(model(val_x), val_y).item())
        if losses[-1] < lowest:
            lowest = losses[-1]
            best = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    model.load_state_dict(best)
    with torch.no_grad():
        is_right = model(val_x).argmax(dim=1) == val_y
    return {
        "rates": rates,
        "losses": losses,
        "best": losses.index(lowest),
        "accuracy": [is_right[val_y == k].float().mean().nan_to_num().item() for k in range(classes)],
    }
