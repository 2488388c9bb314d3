"""Classic wrong answers of training, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import SGD, Optimizer
from torch.utils.data import DataLoader, Dataset

from grader.testkit import misconception

# ---------------------------------------------------------------- what is right, for wrong answers to differ from


def _step(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(features), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def _epoch(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    model.train()
    total = count = 0
    for features, labels in loader:
        total += _step(model, features, labels, optimizer) * len(labels)
        count += len(labels)
    return total / count


@contextmanager
def _eval_mode(model: nn.Module) -> Iterator[None]:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in flags:
            module.training = training


def _measure(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    loss = right = count = 0
    for features, labels in loader:
        logits = model(features)
        loss += F.cross_entropy(logits, labels, reduction="sum").item()
        right += (logits.argmax(1) == labels).sum().item()
        count += len(labels)
    return loss / count, right / count


def _evaluate(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    with _eval_mode(model), torch.no_grad():
        return _measure(model, loader)


def _predict(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model(x).softmax(dim=1)


# ---------------------------------------------------------------- train_step


@misconception(
    "train_step",
    tell="backward() adds to what is in .grad. Without zero_grad() you step on the sum of all gradients so far.",
    seen="no_zero_grad",
)
def no_zero_grad(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    loss = F.cross_entropy(model(features), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


@misconception(
    "train_step",
    tell="The weights did not move: between backward() and step() you cleared the gradients (or one of the two is "
    "missing). Clear before backward(), or after step().",
    seen="zero_grad_before_step",
)
def zero_grad_before_the_step(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    loss = F.cross_entropy(model(features), labels)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


@misconception(
    "train_step",
    tell="nll_loss takes logarithms of probabilities, and the model gives logits: cross_entropy takes those, and is "
    "nll_loss of their log_softmax.",
    seen="calls('nll_loss', unless=['log_softmax', 'LogSoftmax', 'logsumexp', 'log'])",
)
def nll_of_logits(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    loss = F.nll_loss(model(features), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@misconception(
    "train_step",
    tell="You clear the gradients after the step only. Gradients from before the first call are still part of that "
    "step: clear before backward().",
)
def zero_grad_after_the_step_only(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    loss = F.cross_entropy(model(features), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


@misconception(
    "train_step",
    tell="F.cross_entropy has the softmax inside. Give it the logits as they are: a second softmax makes all losses "
    "alike, and learning slow.",
    seen="softmax_before_loss",
)
def softmax_before_cross_entropy(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(features).softmax(1), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


@misconception(
    "train_step",
    tell="You return the loss as a tensor. A tensor keeps its whole graph, with every intermediate value, in memory. "
    ".item() gives the number.",
)
def returns_the_loss_tensor(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> Tensor:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(features), labels)
    loss.backward()
    optimizer.step()
    return loss


@misconception(
    "train_step",
    tell="You return the loss after the step. That needs a second forward, which also changes BatchNorm's statistics. "
    "Return the loss that you called backward on.",
)
def loss_after_the_step(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    _step(model, features, labels, optimizer)
    return F.cross_entropy(model(features), labels).item()


@misconception(
    "train_step",
    tell="Your loss is the sum over the batch, so larger batches make larger steps. The loss is the mean.",
    seen="passes('sum', 'reduction')",
)
def sum_over_the_batch(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(features), labels, reduction="sum")
    loss.backward()
    optimizer.step()
    return loss.item()


@misconception(
    "train_step",
    tell="You train in eval mode: no dropout, and BatchNorm neither uses nor learns the statistics of the batch.",
)
def steps_in_eval_mode(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    with _eval_mode(model):
        return _step(model, features, labels, optimizer)


@misconception(
    "train_step",
    tell="model.forward(x) skips the model's hooks. Call the model itself: model(x).",
    seen="reads('forward')",
)
def calls_forward(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    optimizer.zero_grad()
    loss = F.cross_entropy(model.forward(features), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


@misconception(
    "train_step",
    tell="You make a new optimizer for the step, so the state of the optimizer that was given (its momentum) is never "
    "used. Step with the given one.",
    seen="calls('SGD', 'Adam', 'AdamW')",
)
def own_optimizer(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    return _step(model, features, labels, SGD(model.parameters(), lr=optimizer.param_groups[0]["lr"]))


@misconception(
    "train_step",
    tell="You reshape the features to (n, -1). A model may need their other dimensions: give it the features as they "
    "are, and let it flatten them if it wants to.",
)
def flattens_the_features(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    return _step(model, features.reshape(len(features), -1), labels, optimizer)


@misconception(
    "train_step",
    tell="You clip the gradients. That is a good habit in some trainings, but it was not asked for: large gradients "
    "make another step.",
    seen="calls('clip_grad_norm_', 'clip_grad_value_')",
)
def clips_without_being_asked(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(features), labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


@misconception(
    "train_step",
    tell="You leave the model in eval mode. It came in training mode, and the next step needs that.",
    seen="calls('eval')",
)
def step_ends_in_eval_mode(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    model.train()
    loss = _step(model, features, labels, optimizer)
    model.eval()
    return loss


@misconception(
    "train_step",
    tell="You changed the batch in place. It belongs to the caller, perhaps to the dataset itself: augment a copy, "
    "before the forward.",
)
def augments_the_batch_in_place(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    loss = _step(model, features, labels, optimizer)
    features *= 0.9
    return loss


@misconception(
    "train_step",
    tell="Your loss is the squared error between logits and class numbers. Classes have no distance: use "
    "F.cross_entropy.",
    seen="calls('mse_loss', 'MSELoss')",
)
def squared_error_of_classes(model: nn.Module, features: Tensor, labels: Tensor, optimizer: Optimizer) -> float:
    optimizer.zero_grad()
    loss = F.mse_loss(model(features), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


# ---------------------------------------------------------------- train_epoch


@misconception(
    "train_epoch",
    tell="You averaged the batches' mean losses. In a short last batch each example then counts more than the others: "
    "weight every batch by its number of examples.",
    seen="mean_of_batch_means",
)
def mean_of_batch_means(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    model.train()
    losses = [_step(model, features, labels, optimizer) for features, labels in loader]
    return sum(losses) / len(losses)


@misconception(
    "train_epoch",
    tell="You divide by len(loader.dataset). A loader that drops its last batch gives fewer examples than the dataset "
    "has: count the examples that you get.",
    seen="divides_by('dataset')",
)
def divides_by_the_dataset(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    model.train()
    total = sum(_step(model, features, labels, optimizer) * len(labels) for features, labels in loader)
    return total / len(loader.dataset)


@misconception(
    "train_epoch",
    tell="You weight every batch by the loader's batch_size, but the last one may be shorter. Use len(labels).",
    seen="reads('batch_size')",
)
def last_batch_counted_as_full(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    model.train()
    total = count = 0
    for features, labels in loader:
        total += _step(model, features, labels, optimizer) * loader.batch_size
        count += len(labels)
    return total / count


@misconception(
    "train_epoch",
    tell="You return the sum of the batches' losses. It grows with the number of batches; the mean does not.",
)
def sum_of_losses(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    model.train()
    return sum(_step(model, features, labels, optimizer) for features, labels in loader)


@misconception(
    "train_epoch", tell="You return the loss of the last batch alone. The mean is over all examples of the epoch."
)
def loss_of_the_last_batch(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    model.train()
    for features, labels in loader:
        loss = _step(model, features, labels, optimizer)
    return loss


@misconception(
    "train_epoch",
    tell="You never call model.train(). A model that comes from an evaluation is in eval mode, and then learns without "
    "dropout and without BatchNorm's batch statistics.",
    seen="no_train",
)
def never_back_to_train(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    total = count = 0
    for features, labels in loader:
        total += _step(model, features, labels, optimizer) * len(labels)
        count += len(labels)
    return total / count


@misconception(
    "train_epoch",
    tell="`model.training = True` sets the flag of the outermost module alone. Dropout and BatchNorm look at their "
    "own; model.train() sets all of them.",
    seen="outermost_flag_only",
)
def only_the_outermost_flag(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    model.training = True
    total = count = 0
    for features, labels in loader:
        total += _step(model, features, labels, optimizer) * len(labels)
        count += len(labels)
    return total / count


@misconception(
    "train_epoch",
    tell="You end with model.eval(), so later training would run in eval mode. An epoch of training ends in training "
    "mode.",
    seen="calls('eval')",
)
def ends_in_eval_mode(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    loss = _epoch(model, loader, optimizer)
    model.eval()
    return loss


@misconception(
    "train_epoch",
    tell="You never clear the gradients: each step is taken on the sum of all gradients so far.",
    seen="no_zero_grad",
)
def never_zero_grad(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    model.train()
    total = count = 0
    for features, labels in loader:
        total += no_zero_grad(model, features, labels, optimizer) * len(labels)
        count += len(labels)
    return total / count


@misconception(
    "train_epoch",
    tell="You clear the gradients once per epoch. They must be cleared before every backward(), or the gradients of "
    "the batches add up.",
    seen="zero_grad_outside_loop",
)
def zero_grad_once_per_epoch(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    optimizer.zero_grad()
    return never_zero_grad(model, loader, optimizer)


@misconception("train_epoch", tell="You step once per epoch. Each batch gets a step of its own.")
def one_step_per_epoch(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    model.train()
    optimizer.zero_grad()
    total = count = 0
    for features, labels in loader:
        loss = F.cross_entropy(model(features), labels)
        loss.backward()
        total += loss.item() * len(labels)
        count += len(labels)
    optimizer.step()
    return total / count


@misconception(
    "train_epoch",
    tell="You make a new optimizer instead of using the one that was given: its state (momentum) is lost.",
    seen="calls('SGD', 'Adam', 'AdamW')",
)
def new_optimizer_every_step(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    model.train()
    total = count = 0
    for features, labels in loader:
        total += own_optimizer(model, features, labels, optimizer) * len(labels)
        count += len(labels)
    return total / count


@misconception(
    "train_epoch",
    tell="You add up loss tensors, and return one. Each keeps its graph in memory, so memory grows with every batch. "
    "loss.item() is a plain number.",
)
def keeps_loss_tensors(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> Tensor:
    model.train()
    total, count = torch.tensor(0.0), 0
    for features, labels in loader:
        total = total + returns_the_loss_tensor(model, features, labels, optimizer) * len(labels)
        count += len(labels)
    return total / count


@misconception(
    "train_epoch",
    tell="You apply a softmax before the cross-entropy, which has one inside already.",
    seen="softmax_before_loss",
)
def softmax_in_the_epoch(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    model.train()
    total = count = 0
    for features, labels in loader:
        total += softmax_before_cross_entropy(model, features, labels, optimizer) * len(labels)
        count += len(labels)
    return total / count


@misconception(
    "train_epoch",
    tell="You iterate over the loader a second time, to count or to look at the batches. One that shuffles then gives "
    "another order, and loads everything twice. Count while you train.",
)
def iterates_twice(model: nn.Module, loader: DataLoader, optimizer: Optimizer) -> float:
    count = sum(len(labels) for _, labels in loader)
    model.train()
    return sum(_step(model, features, labels, optimizer) * len(labels) for features, labels in loader) / count


# ---------------------------------------------------------------- fit


def _fit(step, model: nn.Module, loader: DataLoader, epochs: int, optimizer: Optimizer) -> list:
    return [step(model, features, labels, optimizer) for _ in range(epochs) for features, labels in loader]


@misconception("fit", tell="You return one loss per epoch. Return the loss of every batch, in order.")
def one_loss_per_epoch(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    optimizer = SGD(model.parameters(), lr=lr)
    return [_epoch(model, loader, optimizer) for _ in range(epochs)]


@misconception("fit", tell="You make a new list in every epoch, so only the last epoch's losses are left.")
def only_the_last_epoch(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    optimizer, losses = SGD(model.parameters(), lr=lr), []
    for _ in range(epochs):
        losses = _fit(_step, model, loader, 1, optimizer)
    return losses


@misconception(
    "fit",
    tell="You never clear the gradients, so each step is taken on the sum of all that came before.",
    seen="no_zero_grad",
)
def fit_without_zero_grad(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    return _fit(no_zero_grad, model, loader, epochs, SGD(model.parameters(), lr=lr))


@misconception(
    "fit",
    tell="The weights never move: gradients are cleared between backward() and step(), or step() is missing.",
    seen="zero_grad_before_step",
)
def fit_clears_before_stepping(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    return _fit(zero_grad_before_the_step, model, loader, epochs, SGD(model.parameters(), lr=lr))


@misconception(
    "fit",
    tell="You apply a softmax before the cross-entropy, which has one inside already: the losses come out too large "
    "and learning is slow.",
    seen="softmax_before_loss",
)
def fit_with_softmax(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    return _fit(softmax_before_cross_entropy, model, loader, epochs, SGD(model.parameters(), lr=lr))


@misconception(
    "fit",
    tell="Your list holds loss tensors. Each keeps its whole graph alive, and memory grows with every batch: "
    "append loss.item().",
)
def list_of_loss_tensors(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[Tensor]:
    return _fit(returns_the_loss_tensor, model, loader, epochs, SGD(model.parameters(), lr=lr))


@misconception("fit", tell="You record each loss after its step. Keep the loss that you called backward on.")
def fit_notes_losses_after_steps(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    return _fit(loss_after_the_step, model, loader, epochs, SGD(model.parameters(), lr=lr))


@misconception("fit", tell="You added momentum. Use plain SGD: lr, and nothing else.", seen="keyword('momentum')")
def sgd_with_momentum(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    return _fit(_step, model, loader, epochs, SGD(model.parameters(), lr=lr, momentum=0.9))


@misconception(
    "fit",
    tell="You make a new optimizer in each epoch, with momentum: its velocity is lost each time. "
    "Make one plain SGD before the loop, with lr and nothing else.",
)
def momentum_begins_anew_each_epoch(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    losses = []
    for _ in range(epochs):
        losses += _fit(_step, model, loader, 1, SGD(model.parameters(), lr=lr, momentum=0.9))
    return losses


@misconception(
    "fit",
    tell="You used Adam. Its steps differ from SGD's at the same learning rate. Use SGD.",
    seen="calls('Adam', 'AdamW', 'RMSprop')",
)
def adam_for_sgd(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    return _fit(_step, model, loader, epochs, torch.optim.Adam(model.parameters(), lr=lr))


@misconception(
    "fit",
    tell="You take next(iter(loader)) again and again: that is always a first batch, and the others are never used.",
)
def always_the_first_batch(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    optimizer = SGD(model.parameters(), lr=lr)
    return [_step(model, *next(iter(loader)), optimizer) for _ in range(epochs * len(loader))]


@misconception(
    "fit", tell="model.forward(x) skips the model's hooks. Call the model itself: model(x).", seen="reads('forward')"
)
def fit_calls_forward(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    return _fit(calls_forward, model, loader, epochs, SGD(model.parameters(), lr=lr))


@misconception("fit", tell="You round the losses. Round when you print, not what you return.", seen="calls('round')")
def rounds_the_losses(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    return [round(loss, 2) for loss in _fit(_step, model, loader, epochs, SGD(model.parameters(), lr=lr))]


@misconception(
    "fit",
    tell="You read the batches once and use them in every epoch. A loader that shuffles gives other batches each time: "
    "iterate over it in each epoch.",
)
def caches_the_first_epoch(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    return _fit(_step, model, list(loader), epochs, SGD(model.parameters(), lr=lr))


@misconception(
    "fit", tell="You added weight decay. Use plain SGD: lr, and nothing else.", seen="keyword('weight_decay')"
)
def sgd_with_weight_decay(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    return _fit(_step, model, loader, epochs, SGD(model.parameters(), lr=lr, weight_decay=1e-4))


@misconception(
    "fit",
    tell="You clip the gradients, which nobody asked for: large ones make another step.",
    seen="calls('clip_grad_norm_', 'clip_grad_value_')",
)
def fit_clips(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    return _fit(clips_without_being_asked, model, loader, epochs, SGD(model.parameters(), lr=lr))


@misconception("fit", tell="Your learning rate changes from epoch to epoch. Use lr for every step.")
def decays_the_rate(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    losses = []
    for epoch in range(epochs):
        losses += _fit(_step, model, loader, 1, SGD(model.parameters(), lr=lr * 0.9**epoch))
    return losses


@misconception(
    "fit",
    tell="The list of losses is made anew in every epoch, so only those of the last epoch are left. Make it "
    "once, before the loop.",
)
def losses_of_the_last_epoch(model: nn.Module, loader: DataLoader, epochs: int, lr: float) -> list[float]:
    optimizer = SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        losses = [_step(model, features, labels, optimizer) for features, labels in loader]
    return losses


# ---------------------------------------------------------------- evaluate


@misconception(
    "evaluate",
    tell="The model is measured in training mode: dropout is on, and BatchNorm uses the batch's own statistics "
    "(and learns from your test data).",
    seen="no_eval",
)
def evaluates_in_training_mode(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    with torch.no_grad():
        return _measure(model, loader)


@misconception(
    "evaluate",
    tell="eval() does not stop the recording: every batch builds a graph that is not needed. Use no_grad as well.",
    seen="no_no_grad",
)
def evaluates_without_no_grad(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    with _eval_mode(model):
        return _measure(model, loader)


@misconception(
    "evaluate",
    tell="The model is left in eval mode, so the training that goes on afterwards runs without dropout. Restore every "
    "flag.",
    seen="stays_in_eval",
)
def evaluate_leaves_eval_mode(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    model.eval()
    with torch.no_grad():
        return _measure(model, loader)


@misconception(
    "evaluate",
    tell="You end with model.train(), whatever the mode was before. A model, or a part of it, that was in eval mode"
    " must still be.",
    seen="always_back_to_train",
)
def evaluate_always_back_to_train(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    model.eval()
    with torch.no_grad():
        found = _measure(model, loader)
    model.train()
    return found


@misconception(
    "evaluate",
    tell="Every part of the model ends with the flag of the model itself: train(flag) sets all submodules, too, but "
    "each has a flag of its own.",
)
def evaluate_one_flag_for_all(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    was_training = model.training
    model.eval()
    with torch.no_grad():
        found = _measure(model, loader)
    model.train(was_training)
    return found


def _by_batch(model: nn.Module, loader: DataLoader) -> list[tuple[float, float, int]]:
    with _eval_mode(model), torch.no_grad():
        return [(*_measure(model, [batch]), len(batch[1])) for batch in loader]


@misconception(
    "evaluate",
    tell="You averaged the batches' mean losses and accuracies: in a short last batch each example counts more. Add up "
    "over examples, and divide once.",
)
def evaluate_mean_of_batch_means(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    found = _by_batch(model, loader)
    return sum(loss for loss, _, _ in found) / len(found), sum(right for _, right, _ in found) / len(found)


@misconception(
    "evaluate",
    tell="Your accuracy is right, but the loss is a mean of batch means: weight each batch by its number of examples.",
    seen="mean_of_batch_means",
)
def loss_is_a_mean_of_means(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    with _eval_mode(model), torch.no_grad():
        losses = [F.cross_entropy(model(features), labels).item() for features, labels in loader]
    return sum(losses) / len(losses), _evaluate(model, loader)[1]


@misconception(
    "evaluate",
    tell="Your loss is right, but the accuracy is a mean over batches: count what is right, and divide by all "
    "examples.",
)
def accuracy_is_a_mean_of_means(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    found = _by_batch(model, loader)
    return _evaluate(model, loader)[0], sum(right for _, right, _ in found) / len(found)


@misconception(
    "evaluate",
    tell="You divide by len(loader.dataset), but a loader may leave rows out. Count the examples that you get.",
    seen="divides_by('dataset')",
)
def evaluate_divides_by_the_dataset(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    found = _by_batch(model, loader)
    n = len(loader.dataset)
    return sum(loss * k for loss, _, k in found) / n, sum(right * k for _, right, k in found) / n


@misconception("evaluate", tell="That is a percentage. A fraction lies between 0 and 1.", seen="multiplies_by(100)")
def accuracy_in_percent(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    loss, accuracy = _evaluate(model, loader)
    return loss, 100 * accuracy


@misconception(
    "evaluate", tell="You return how many are right. The accuracy is that number divided by the number of examples."
)
def accuracy_is_a_count(model: nn.Module, loader: DataLoader) -> tuple[float, int]:
    loss, _ = _evaluate(model, loader)
    return loss, int(sum(round(right * k) for _, right, k in _by_batch(model, loader)))


@misconception("evaluate", tell="You return tensors. .item() turns them into plain numbers.")
def evaluate_returns_tensors(model: nn.Module, loader: DataLoader) -> tuple[Tensor, Tensor]:
    loss, accuracy = _evaluate(model, loader)
    return torch.tensor(loss), torch.tensor(accuracy)


@misconception(
    "evaluate",
    tell="You apply a softmax before the cross-entropy, which has one inside already.",
    seen="softmax_before_loss",
)
def evaluate_with_softmax(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    loss = count = 0
    with _eval_mode(model), torch.no_grad():
        for features, labels in loader:
            loss += F.cross_entropy(model(features).softmax(1), labels, reduction="sum").item()
            count += len(labels)
    return loss / count, _evaluate(model, loader)[1]


@misconception("evaluate", tell="The two results are the wrong way round: the loss comes first, then the accuracy.")
def accuracy_first(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    loss, accuracy = _evaluate(model, loader)
    return accuracy, loss


@misconception(
    "evaluate",
    tell="model.forward(x) skips the model's hooks. Call the model itself: model(x).",
    seen="reads('forward')",
)
def evaluate_calls_forward(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    with _eval_mode(model), torch.no_grad():
        return _measure(model.forward, loader)


@misconception(
    "evaluate",
    tell="You switch the recording of gradients off and never on again: nothing can be trained afterwards. Use "
    "torch.no_grad() in a with statement.",
    seen="recording_stays_off",
)
def recording_stays_off(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    torch.set_grad_enabled(False)
    with _eval_mode(model):
        return _measure(model, loader)


@misconception(
    "evaluate",
    tell="You clear the gradients. Measuring a model must not change it, its gradients included.",
    seen="calls('zero_grad')",
)
def evaluate_clears_gradients(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    model.zero_grad()
    return _evaluate(model, loader)


@misconception(
    "evaluate",
    tell="You freeze the parameters so that nothing is recorded, and they stay frozen: nothing can be trained "
    "afterwards. Use torch.no_grad().",
)
def evaluate_freezes(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    model.requires_grad_(False)
    return _evaluate(model, loader)


@misconception("evaluate", tell="Only the first batch is measured. Go through the whole loader.")
def measures_one_batch(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    return _evaluate(model, [next(iter(loader))])


@misconception(
    "evaluate",
    tell="The loss of a batch is a mean. You add up these means and divide by the number of examples: multiply each by "
    "the size of its batch first.",
)
def batch_means_over_examples(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    total = right = count = 0
    with _eval_mode(model), torch.no_grad():
        for features, labels in loader:
            logits = model(features)
            total += F.cross_entropy(logits, labels).item()
            right += (logits.argmax(dim=1) == labels).sum().item()
            count += len(labels)
    return total / count, right / count


@misconception(
    "evaluate",
    tell="The loss of a batch is a mean. You add up these means and divide by the number of examples: multiply each by "
    "the size of its batch first. And you end with model.train(), whatever the mode was before.",
)
def batch_means_over_examples_then_train(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    total = right = count = 0
    model.eval()
    with torch.no_grad():
        for features, labels in loader:
            logits = model(features)
            total += F.cross_entropy(logits, labels).item()
            right += (logits.argmax(dim=1) == labels).sum().item()
            count += len(labels)
    model.train()
    return total / count, right / count


# ---------------------------------------------------------------- predict_proba


@misconception("predict_proba", tell="You return the logits. Softmax turns them into probabilities.")
def returns_logits(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model(x)


@misconception(
    "predict_proba",
    tell="Your columns sum to 1, not your rows: the softmax goes over the classes of one example, dim 1, not over the "
    "batch.",
    seen="dim('softmax', 0)",
)
def softmax_over_the_batch(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model(x).softmax(dim=0)


@misconception(
    "predict_proba",
    tell="sigmoid treats every class separately, and a row does not sum to 1. For classes that exclude each other use "
    "softmax.",
    seen="calls('sigmoid', 'Sigmoid')",
)
def sigmoid_for_softmax(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model(x).sigmoid()


@misconception(
    "predict_proba",
    tell="You return logarithms of probabilities: use softmax, not log_softmax.",
    seen="calls('log_softmax', unless=('exp',))",
)
def returns_log_probabilities(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model(x).log_softmax(dim=1)


@misconception(
    "predict_proba",
    tell="The model predicts in training mode: dropout is on, and BatchNorm uses (and learns) the batch's statistics. "
    "no_grad does not change that.",
    seen="no_eval",
)
def probabilities_in_training_mode(model: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return model(x).softmax(dim=1)


@misconception(
    "predict_proba",
    tell="Gradients are recorded while the model runs, without need. eval() does not stop that, no_grad does; a "
    "detach() afterwards is too late.",
    seen="no_no_grad",
)
def probabilities_without_no_grad(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model):
        return model(x).softmax(dim=1).detach()


@misconception(
    "predict_proba", tell="The model is left in eval mode. Restore the flag of every submodule.", seen="stays_in_eval"
)
def probabilities_leave_eval_mode(model: nn.Module, x: Tensor) -> Tensor:
    model.eval()
    with torch.no_grad():
        return model(x).softmax(dim=1)


@misconception(
    "predict_proba",
    tell="You end with model.train(), whatever the mode was before. Restore the flags that were there.",
    seen="always_back_to_train",
)
def probabilities_always_back_to_train(model: nn.Module, x: Tensor) -> Tensor:
    found = probabilities_leave_eval_mode(model, x)
    model.train()
    return found


@misconception(
    "predict_proba",
    tell="model.forward(x) skips the model's hooks. Call the model itself: model(x).",
    seen="reads('forward')",
)
def probabilities_by_forward(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model.forward(x).softmax(dim=1)


@misconception(
    "predict_proba",
    tell="exp of a large logit is infinite, and infinity divided by infinity is nan. torch.softmax subtracts the "
    "largest logit of each row before.",
)
def probabilities_overflow(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        powers = model(x).exp()
        return powers / powers.sum(dim=1, keepdim=True)


@misconception("predict_proba", tell="You reshape x to (n, -1). Give the model its input as it is.")
def probabilities_of_flat_features(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model(x.flatten(1)).softmax(dim=1)


@misconception(
    "predict_proba",
    tell="You switch the recording of gradients off and never on again. Use torch.no_grad() in a with statement.",
    seen="recording_stays_off",
)
def probabilities_recording_stays_off(model: nn.Module, x: Tensor) -> Tensor:
    torch.set_grad_enabled(False)
    with _eval_mode(model):
        return model(x).softmax(dim=1)


@misconception(
    "predict_proba",
    tell="You wrote into the caller's x. Whoever calls you still needs it: leave what you are given as it is.",
)
def writes_the_input_anew(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        probabilities = model(x).softmax(dim=1)
        x.zero_()
        return probabilities


# ---------------------------------------------------------------- predict_labels


@misconception(
    "predict_labels",
    tell="You take the argmax over the batch: which example is best for each class. It must be over the classes, "
    "dim 1.",
    seen="dim('argmax', 0)",
)
def argmax_over_the_batch(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model(x).argmax(dim=0)


@misconception(
    "predict_labels",
    tell="You return the largest logits. The label is the position of the largest one: argmax, or max(...).indices.",
)
def largest_values(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model(x).max(dim=1).values


@misconception(
    "predict_labels",
    tell="argmax without a dim gives one number for the whole batch. Pass the dimension of the classes.",
    seen="dim('argmax', None)",
)
def argmax_of_everything(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model(x).argmax()


@misconception(
    "predict_labels",
    tell="Your labels have a second dimension (keepdim): (n, 1) instead of (n,). Compared with labels of shape (n,)"
    " that broadcasts to (n, n).",
)
def keeps_the_dimension(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model(x).argmax(dim=1, keepdim=True)


@misconception(
    "predict_labels",
    tell="You compare with 0.5 or round the probabilities. That works with one output for two classes; "
    "here it is the largest of several.",
)
def rounds_probabilities(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return (model(x).softmax(dim=1)[:, 1] > 0.5).long()


@misconception("predict_labels", tell="You return a list. The result is a tensor of shape (n,).")
def labels_in_a_list(model: nn.Module, x: Tensor) -> list[int]:
    with _eval_mode(model), torch.no_grad():
        return model(x).argmax(dim=1).tolist()


@misconception(
    "predict_labels",
    tell="The model predicts in training mode: dropout is on, and BatchNorm uses (and learns) the batch's statistics.",
    seen="no_eval",
)
def labels_in_training_mode(model: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return model(x).argmax(dim=1)


@misconception(
    "predict_labels",
    tell="Gradients are recorded while the model runs, without need: argmax drops the graph only afterwards. eval() "
    "does not stop the recording, no_grad does.",
    seen="no_no_grad",
)
def labels_without_no_grad(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model):
        return model(x).argmax(dim=1)


@misconception(
    "predict_labels", tell="The model is left in eval mode. Restore the flag of every submodule.", seen="stays_in_eval"
)
def labels_leave_eval_mode(model: nn.Module, x: Tensor) -> Tensor:
    model.eval()
    with torch.no_grad():
        return model(x).argmax(dim=1)


@misconception(
    "predict_labels",
    tell="You end with model.train(), whatever the mode was before. Restore the flags that were there.",
    seen="always_back_to_train",
)
def labels_always_back_to_train(model: nn.Module, x: Tensor) -> Tensor:
    found = labels_leave_eval_mode(model, x)
    model.train()
    return found


@misconception(
    "predict_labels",
    tell="model.forward(x) skips the model's hooks. Call the model itself: model(x).",
    seen="reads('forward')",
)
def labels_by_forward(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model.forward(x).argmax(dim=1)


@misconception("predict_labels", tell="You reshape x to (n, -1). Give the model its input as it is.")
def labels_of_flat_features(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        return model(x.flatten(1)).argmax(dim=1)


@misconception(
    "predict_labels",
    tell="You switch the recording of gradients off and never on again. Use torch.no_grad() in a with statement.",
    seen="recording_stays_off",
)
def labels_recording_stays_off(model: nn.Module, x: Tensor) -> Tensor:
    torch.set_grad_enabled(False)
    with _eval_mode(model):
        return model(x).argmax(dim=1)


@misconception(
    "predict_labels",
    tell="You wrote into the caller's x. Whoever calls you still needs it: leave what you are given as it is.",
)
def writes_the_input_anew_for_labels(model: nn.Module, x: Tensor) -> Tensor:
    with _eval_mode(model), torch.no_grad():
        labels = model(x).argmax(dim=1)
        x.zero_()
        return labels


# ---------------------------------------------------------------- fit_best


def _fit_best(
    model: nn.Module,
    train_loader: DataLoader,
    val_loader: DataLoader,
    epochs: int,
    lr: float,
    *,
    train=_epoch,
    measure=lambda model, loader: _evaluate(model, loader)[0],
    better=lambda loss, best: loss < best,
) -> float:
    optimizer = SGD(model.parameters(), lr=lr)
    best, state = float("inf"), None
    for _ in range(epochs):
        train(model, train_loader, optimizer)
        loss = measure(model, val_loader)
        if better(loss, best):
            best, state = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(state)
    return best


@misconception(
    "fit_best",
    tell="The loss is right, but the model is the one of the last epoch. state_dict() returns the tensors themselves, "
    "which later steps change: keep a copy (and load it at the end).",
    seen="no_copy",
)
def live_reference(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    optimizer = SGD(model.parameters(), lr=lr)
    best, state = float("inf"), None
    for _ in range(epochs):
        _epoch(model, train_loader, optimizer)
        loss, _ = _evaluate(model, val_loader)
        if loss < best:
            best, state = loss, model.state_dict()
    model.load_state_dict(state)
    return best


@misconception(
    "fit_best",
    tell="The weights are those of the best epoch, but the buffers (BatchNorm's running statistics) are those of the "
    "last one. state_dict has both, parameters() does not.",
)
def parameters_only(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    optimizer = SGD(model.parameters(), lr=lr)
    best, weights = float("inf"), []
    for _ in range(epochs):
        _epoch(model, train_loader, optimizer)
        loss, _ = _evaluate(model, val_loader)
        if loss < best:
            best, weights = loss, [p.detach().clone() for p in model.parameters()]
    with torch.no_grad():
        for p, value in zip(model.parameters(), weights):
            p.copy_(value)
    return best


@misconception(
    "fit_best",
    tell="You return the validation loss of the last epoch. Return the lowest one, which belongs to the model that "
    "you restored.",
)
def returns_the_last_loss(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    losses = []

    def measure(model, loader):
        losses.append(_evaluate(model, loader)[0])
        return losses[-1]

    _fit_best(model, train_loader, val_loader, epochs, lr, measure=measure)
    return losses[-1]


@misconception(
    "fit_best",
    tell="Of two epochs with the same loss you keep the later one. Compare with <, not with <=, so that the first one "
    "is kept.",
)
def last_of_equals(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    return _fit_best(model, train_loader, val_loader, epochs, lr, better=lambda loss, best: loss <= best)


@misconception(
    "fit_best", tell="You also compare the model as it was before training. Compare only the models after each epoch."
)
def untrained_model_takes_part(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    optimizer = SGD(model.parameters(), lr=lr)
    best, state = _evaluate(model, val_loader)[0], copy.deepcopy(model.state_dict())
    for _ in range(epochs):
        _epoch(model, train_loader, optimizer)
        loss, _ = _evaluate(model, val_loader)
        if loss < best:
            best, state = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(state)
    return best


@misconception(
    "fit_best",
    tell="You measure before each epoch's training instead of after it: the last epoch is never measured, and the "
    "untrained model is.",
)
def measures_before_training(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    optimizer = SGD(model.parameters(), lr=lr)
    best, state = float("inf"), None
    for _ in range(epochs):
        loss, _ = _evaluate(model, val_loader)
        if loss < best:
            best, state = loss, copy.deepcopy(model.state_dict())
        _epoch(model, train_loader, optimizer)
    model.load_state_dict(state)
    return best


@misconception(
    "fit_best",
    tell="You choose by the training loss. It nearly always falls; the validation loss shows when the model begins to "
    "overfit.",
)
def chooses_by_training_loss(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    optimizer = SGD(model.parameters(), lr=lr)
    best, state = float("inf"), None
    for _ in range(epochs):
        loss = _epoch(model, train_loader, optimizer)
        if loss < best:
            best, state = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(state)
    return best


@misconception("fit_best", tell="You keep the epoch with the highest validation loss. Keep the one with the lowest.")
def keeps_the_worst(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    return _fit_best(
        model, train_loader, val_loader, epochs, lr, better=lambda loss, best: best == float("inf") or loss > best
    )


@misconception(
    "fit_best",
    tell="The validation loss is measured in training mode: dropout changes it, and BatchNorm updates its statistics "
    "from validation data.",
    seen="lacks('eval', 'evaluate', 'training')",
)
def validates_in_training_mode(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    def measure(model, loader):
        with torch.no_grad():
            return _measure(model, loader)[0]

    return _fit_best(model, train_loader, val_loader, epochs, lr, measure=measure)


@misconception(
    "fit_best",
    tell="After the first validation the model stays in eval mode, and all other epochs train in it. Call "
    "model.train() at the beginning of each epoch.",
)
def trains_on_in_eval_mode(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    def train(model, loader, optimizer):
        for features, labels in loader:
            _step(model, features, labels, optimizer)

    def measure(model, loader):
        model.eval()
        with torch.no_grad():
            return _measure(model, loader)[0]

    model.train()
    return _fit_best(model, train_loader, val_loader, epochs, lr, train=train, measure=measure)


@misconception(
    "fit_best",
    tell="Your validation loss is a mean of batch means, in which the examples of the short last batch count more. "
    "That can change which epoch is best.",
    seen="mean_of_batch_means",
)
def validation_mean_of_means(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    def measure(model, loader):
        with _eval_mode(model), torch.no_grad():
            losses = [F.cross_entropy(model(features), labels).item() for features, labels in loader]
        return sum(losses) / len(losses)

    return _fit_best(model, train_loader, val_loader, epochs, lr, measure=measure)


@misconception(
    "fit_best",
    tell="You stop at the first epoch that is worse than the best one, or go back to the best one there. Train all "
    "epochs: a later one may be better.",
)
def stops_too_early(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    optimizer = SGD(model.parameters(), lr=lr)
    best, state = float("inf"), None
    for _ in range(epochs):
        _epoch(model, train_loader, optimizer)
        loss, _ = _evaluate(model, val_loader)
        if loss > best:
            break
        if loss < best:
            best, state = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(state)
    return best


@misconception(
    "fit_best",
    tell="You keep the epoch with the best validation accuracy. Keep the one with the lowest validation loss.",
)
def chooses_by_accuracy(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    optimizer = SGD(model.parameters(), lr=lr)
    best, kept, state = -1.0, 0.0, None
    for _ in range(epochs):
        _epoch(model, train_loader, optimizer)
        loss, accuracy = _evaluate(model, val_loader)
        if accuracy > best:
            best, kept, state = accuracy, loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(state)
    return kept


@misconception(
    "fit_best",
    tell="You never call model.train(): a model that comes in eval mode is trained without dropout, and without "
    "BatchNorm's batch statistics.",
)
def trains_as_it_came(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    def train(model, loader, optimizer):
        for features, labels in loader:
            _step(model, features, labels, optimizer)

    return _fit_best(model, train_loader, val_loader, epochs, lr, train=train)


@misconception(
    "fit_best",
    tell="You read the training batches once and use them in every epoch. A loader that shuffles gives other batches "
    "each time: iterate over it in each epoch.",
)
def trains_on_cached_batches(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    return _fit_best(model, list(train_loader), val_loader, epochs, lr)


@misconception("fit_best", tell="You added momentum. Use plain SGD: lr, and nothing else.", seen="keyword('momentum')")
def best_with_momentum(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    optimizer = SGD(model.parameters(), lr=lr, momentum=0.9)

    def train(model, loader, _):
        _epoch(model, loader, optimizer)

    return _fit_best(model, train_loader, val_loader, epochs, lr, train=train)


@misconception(
    "fit_best", tell="You added weight decay. Use plain SGD: lr, and nothing else.", seen="keyword('weight_decay')"
)
def best_with_weight_decay(model, train_loader, val_loader, epochs: int, lr: float) -> float:
    optimizer = SGD(model.parameters(), lr=lr, weight_decay=1e-4)

    def train(model, loader, _):
        _epoch(model, loader, optimizer)

    return _fit_best(model, train_loader, val_loader, epochs, lr, train=train)


# ---------------------------------------------------------------- clip_and_step


@misconception(
    "clip_and_step",
    tell="What you clip has no gradients yet: you do it before backward(), or with a copy of the model. Those that the "
    "step uses are not clipped.",
    seen="comes_before('clip_grad_norm_', 'backward')",
)
def clips_before_backward(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    loss.backward()
    optimizer.step()
    return norm.item()


@misconception(
    "clip_and_step",
    tell="The step is taken with the unclipped gradients: you clip after it, or not at all. Clip between backward()"
    " and step().",
)
def clips_after_the_step(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.backward()
    optimizer.step()
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()


@misconception(
    "clip_and_step",
    tell="The weights did not move: you cleared the gradients before the step, or there is no step.",
    seen="zero_grad_before_step",
)
def clears_before_the_step(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.zero_grad()
    optimizer.step()
    return norm.item()


@misconception(
    "clip_and_step", tell="You measure the norm after clipping. clip_grad_norm_ returns the one that it was before."
)
def norm_measured_after_clipping(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None]).item()


@misconception(
    "clip_and_step",
    tell="You add up the norms of the parameters' gradients. The norm of all of them together, as one long vector, is "
    "the root of the sum of their squares.",
)
def adds_up_the_norms(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.stack([grad.norm() for grad in grads]).sum()
    for grad in grads:
        grad *= (max_norm / norm).clamp(max=1)
    optimizer.step()
    return norm.item()


@misconception(
    "clip_and_step",
    tell="clip_grad_value_ clips each number separately, which changes the direction of the step. Clip the norm of "
    "all gradients together.",
    seen="calls('clip_grad_value_')",
)
def clips_values(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.backward()
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    nn.utils.clip_grad_value_(model.parameters(), max_norm)
    optimizer.step()
    return norm.item()


@misconception(
    "clip_and_step",
    tell="You return None. The norm before clipping is what clip_grad_norm_ gives: return it as a number. "
    "(clip_grad_value_ gives None, and clips each number separately, which changes the direction of the step.)",
)
def clips_values_and_returns_none(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> None:
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), max_norm)
    optimizer.step()


@misconception(
    "clip_and_step",
    tell="You clip each parameter by its own norm. Use the norm of all gradients together, and one factor for all, so "
    "that the direction stays the same.",
)
def clips_each_parameter(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.backward()
    norms = [nn.utils.clip_grad_norm_(p, max_norm).item() for p in model.parameters() if p.grad is not None]
    optimizer.step()
    return sum(norm**2 for norm in norms) ** 0.5


@misconception(
    "clip_and_step",
    tell="You always scale to max_norm, also gradients that are smaller: small steps become large. Clipping may only "
    "make gradients smaller.",
)
def always_scales(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = nn.utils.get_total_norm(grads)
    for grad in grads:
        grad.mul_(max_norm / norm)
    optimizer.step()
    return norm.item()


@misconception(
    "clip_and_step",
    tell="You return the norm after clipping. Return the norm before clipping; clip_grad_norm_ returns it.",
)
def norm_after_clipping(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return min(norm.item(), max_norm)


@misconception(
    "clip_and_step",
    tell="You return the norm as a tensor. .item() gives the number.",
    seen="lacks('item', 'float', 'tolist', at='clip_grad_norm_')",
)
def norm_as_a_tensor(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> Tensor:
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return norm


@misconception("clip_and_step", tell="You clip the loss. Clip the norm of the gradients.")
def clips_the_loss(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.clamp(max=max_norm).backward()
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    optimizer.step()
    return norm.item()


@misconception(
    "clip_and_step",
    tell="You clip the first parameter group of the optimizer only. Clip all parameters of the model together.",
)
def clips_the_first_group(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.backward()
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], max_norm)
    optimizer.step()
    return norm.item()


@misconception(
    "clip_and_step",
    tell="You clip each parameter group by its own norm. Use the norm of all gradients together, and one factor.",
)
def clips_each_group(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.backward()
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    for group in optimizer.param_groups:
        nn.utils.clip_grad_norm_(group["params"], max_norm)
    optimizer.step()
    return norm.item()


@misconception(
    "clip_and_step",
    tell="A parameter without a gradient (.grad is None) raises an error in your version. Leave it out of the norm.",
)
def needs_every_gradient(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.requires_grad]
    norm = torch.stack([grad.norm() for grad in grads]).norm()
    for grad in grads:
        grad.mul_(min(1.0, max_norm / norm.item()))
    optimizer.step()
    return norm.item()


# ---------------------------------------------------------------- init_weights


def _linear(model: nn.Module) -> list[nn.Linear]:
    return [module for module in model.modules() if isinstance(module, nn.Linear)]


def _no_biases(model: nn.Module) -> None:
    for layer in _linear(model):
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


@misconception(
    "init_weights",
    tell="Your bound is that of a leaky ReLU with a steep slope, a=sqrt(5), which nn.Linear takes by default. Leave a "
    "at 0: the bound is then the square root of 6 / fan_in.",
)
def bound_for_a_leaky_relu(model: nn.Module, generator: torch.Generator) -> None:
    for layer in _linear(model):
        nn.init.kaiming_uniform_(layer.weight, a=5**0.5, generator=generator)
    _no_biases(model)


@misconception(
    "init_weights",
    tell="You draw the weights from torch's global generator. Hand on the one that you are given: a net is then made "
    "again, weight by weight, whatever else draws numbers.",
    seen="lacks('generator', at='kaiming_uniform_')",
)
def draws_from_the_global_generator(model: nn.Module, generator: torch.Generator) -> None:
    for layer in _linear(model):
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
    _no_biases(model)


@misconception("init_weights", tell="The biases are as they were. Make them 0.", seen="lacks('bias', 'zeros_')")
def biases_left(model: nn.Module, generator: torch.Generator) -> None:
    for layer in _linear(model):
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)


@misconception(
    "init_weights",
    tell="A layer made with bias=False has None for its bias, and your function raises an error there. Ask first.",
)
def needs_a_bias(model: nn.Module, generator: torch.Generator) -> None:
    for layer in _linear(model):
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)
        nn.init.zeros_(layer.bias)


@misconception(
    "init_weights",
    tell="You meet the model's direct children only: linear layers deeper inside keep their weights, and so does a "
    "model that is a linear layer itself. model.modules() has all of them.",
)
def children_only(model: nn.Module, generator: torch.Generator) -> None:
    for layer in model.children():
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


@misconception(
    "init_weights",
    tell="You give new numbers to every parameter with two dimensions or more, also to those of embeddings and "
    "convolutions. Only linear layers get them: isinstance(module, nn.Linear).",
)
def all_matrices(model: nn.Module, generator: torch.Generator) -> None:
    for parameter in model.parameters():
        if parameter.dim() >= 2:
            nn.init.kaiming_uniform_(parameter, nonlinearity="relu", generator=generator)
    _no_biases(model)


@misconception(
    "init_weights",
    tell="Your weights are normal, not uniform between -bound and bound.",
    seen="calls('normal_', 'kaiming_normal_', 'randn')",
)
def normal_weights(model: nn.Module, generator: torch.Generator) -> None:
    for layer in _linear(model):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
    _no_biases(model)


@misconception(
    "init_weights",
    tell="Your bound is that of Xavier's rule, from inputs and outputs together. Here only the inputs count: the "
    "square root of 6 / fan_in.",
    seen="calls('xavier_uniform_')",
)
def bound_of_xavier(model: nn.Module, generator: torch.Generator) -> None:
    for layer in _linear(model):
        nn.init.xavier_uniform_(layer.weight, generator=generator)
    _no_biases(model)


@misconception(
    "init_weights",
    tell="fan_in is the number of inputs; you take the outputs. A weight has the shape (outputs, inputs).",
)
def outputs_for_inputs(model: nn.Module, generator: torch.Generator) -> None:
    for layer in _linear(model):
        nn.init.kaiming_uniform_(layer.weight, mode="fan_out", nonlinearity="relu", generator=generator)
    _no_biases(model)


@misconception(
    "init_weights", tell="You leave out frozen layers. They get new weights as all others do, and stay frozen."
)
def frozen_ones_left(model: nn.Module, generator: torch.Generator) -> None:
    for layer in _linear(model):
        if layer.weight.requires_grad:
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


@misconception(
    "init_weights",
    tell="You make new parameters: an optimizer that was made before goes on with the old ones. Write the numbers into "
    "the parameters that are there, under no_grad or by nn.init.",
)
def new_parameters(model: nn.Module, generator: torch.Generator) -> None:
    for layer in _linear(model):
        weight = nn.init.kaiming_uniform_(torch.empty_like(layer.weight), nonlinearity="relu", generator=generator)
        layer.weight = nn.Parameter(weight, requires_grad=layer.weight.requires_grad)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


# ---------------------------------------------------------------- parameter_groups


def _two_groups(decays: list[nn.Parameter], others: list[nn.Parameter], weight_decay: float) -> list[dict[str, Any]]:
    return [{"params": decays, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]


def _by_dims(parameters: list[nn.Parameter], weight_decay: float) -> list[dict[str, Any]]:
    return _two_groups([p for p in parameters if p.dim() >= 2], [p for p in parameters if p.dim() < 2], weight_decay)


@misconception(
    "parameter_groups",
    tell="You go by the name: a BatchNorm's weight is called weight, too, but has one dimension. Go by the number of "
    "dimensions.",
)
def by_name(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    is_bias = [(name.endswith("bias"), p) for name, p in named]
    return _two_groups([p for bias, p in is_bias if not bias], [p for bias, p in is_bias if bias], weight_decay)


@misconception(
    "parameter_groups",
    tell="Frozen parameters are in your groups. Leave out those with requires_grad False: an optimizer has no business "
    "with them.",
)
def frozen_ones_too(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    return _by_dims(list(model.parameters()), weight_decay)


@misconception(
    "parameter_groups",
    tell="A parameter that two layers share is in your groups twice. model.parameters() gives it once.",
)
def shared_ones_twice(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    named = model.named_parameters(remove_duplicate=False)
    return _by_dims([parameter for _, parameter in named if parameter.requires_grad], weight_decay)


@misconception(
    "parameter_groups", tell="Your groups are the wrong way round: the matrices do not decay, and all others do."
)
def the_wrong_way_round(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    parameters = [p for p in model.parameters() if p.requires_grad]
    return _two_groups([p for p in parameters if p.dim() < 2], [p for p in parameters if p.dim() >= 2], weight_decay)


@misconception(
    "parameter_groups",
    tell="The weights of your linear layers are in the group that does not decay: they have 2 dimensions, and 2 are "
    "enough. Ask for >= 2, not for > 2.",
)
def more_than_two_dims(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    parameters = [p for p in model.parameters() if p.requires_grad]
    return _two_groups([p for p in parameters if p.dim() > 2], [p for p in parameters if p.dim() <= 2], weight_decay)


@misconception(
    "parameter_groups",
    tell="The second group has no weight_decay of its own: it gets that of the optimizer. Write 0.0 into it.",
)
def no_zero_for_the_others(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    groups = _by_dims([p for p in model.parameters() if p.requires_grad], weight_decay)
    return [groups[0], {"params": groups[1]["params"]}]


@misconception(
    "parameter_groups",
    tell="Only linear layers are in your groups: parameters of all other layers would never be trained.",
)
def linear_layers_only(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    parameters = [p for module in model.modules() if isinstance(module, nn.Linear) for p in module.parameters()]
    return _by_dims([p for p in dict.fromkeys(parameters) if p.requires_grad], weight_decay)


@misconception(
    "parameter_groups",
    tell="Only parameters with exactly two dimensions decay in your version. The weights of a convolution have three "
    "or four: two or more.",
)
def exactly_two_dims(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    parameters = [p for p in model.parameters() if p.requires_grad]
    return _two_groups([p for p in parameters if p.dim() == 2], [p for p in parameters if p.dim() != 2], weight_decay)


@misconception("parameter_groups", tell="All parameters are in one group, and all of them decay.")
def all_in_one_group(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    return [{"params": [p for p in model.parameters() if p.requires_grad], "weight_decay": weight_decay}]


@misconception(
    "parameter_groups",
    tell="You decide by the name. The scale of a normalization layer is called weight, too, and should not decay: ask "
    "for the number of dimensions.",
)
def weights_by_name(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    return [
        {"params": [p for name, p in named if "weight" in name], "weight_decay": weight_decay},
        {"params": [p for name, p in named if "weight" not in name], "weight_decay": 0.0},
    ]


# ---------------------------------------------------------------- warmup_cosine


def _schedule(
    step: float, warmup: int, total: float, peak: float, floor: float, up: float | None = None, late: int = 0
) -> float:
    if warmup < 0 or total <= warmup:
        raise ValueError("bad counts")
    if step < warmup:
        return peak * (step + 1) / (warmup + 1) if up is None else up
    total += late
    progress = min(1.0, (step - warmup) / max(1, total - 1 - warmup))
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2


@misconception(
    "warmup_cosine",
    tell="Your first rate is 0, so the first step is lost. The rate of a step in the warm-up is "
    "peak * (step + 1) / (warmup + 1).",
)
def first_step_is_lost(step: int, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    return _schedule(step, warmup, total, peak, floor, peak * step / max(1, warmup))


@misconception(
    "warmup_cosine",
    tell="Your rate is at the peak one step early: the last step of the warm-up is still below it, and step warmup has "
    "it. Divide by warmup + 1.",
)
def peak_one_step_early(step: int, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    return _schedule(step, warmup, total, peak, floor, peak * (step + 1) / max(1, warmup))


@misconception(
    "warmup_cosine",
    tell="Your cosine comes to the floor one step late: it should be there in step total - 1, the last one. The way "
    "down has total - 1 - warmup steps.",
)
def floor_one_step_late(step: int, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    return _schedule(step, warmup, total, peak, floor, late=1)


@misconception(
    "warmup_cosine",
    tell="Your cosine gets degrees: math.cos takes radians, so half a cosine goes from 0 to pi, not to 180.",
)
def cosine_of_degrees(step: int, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    if warmup < 0 or total <= warmup:
        raise ValueError("bad counts")
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    if step >= total - 1:
        return floor
    part = (step - warmup) / (total - 1 - warmup)
    return floor + (peak - floor) * (1 + math.cos(180 * part)) / 2


@misconception(
    "warmup_cosine", tell="After the last step your rate rises again: the cosine goes on. Stay at the floor."
)
def rises_again(step: int, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    if warmup < 0 or total <= warmup:
        raise ValueError("bad counts")
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    return floor + (peak - floor) * (1 + math.cos(math.pi * (step - warmup) / (total - 1 - warmup))) / 2


@misconception(
    "warmup_cosine",
    tell="Your rate falls in a straight line. Half a cosine is slow at both ends and steep in the middle.",
)
def straight_line_down(step: int, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    if warmup < 0 or total <= warmup:
        raise ValueError("bad counts")
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    return peak + (floor - peak) * min(1.0, (step - warmup) / (total - 1 - warmup))


@misconception(
    "warmup_cosine",
    tell="Your cosine goes from peak down to 0, and the floor only cuts it off. Stretch it from peak to floor.",
)
def floor_cuts_off(step: int, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    return max(floor if step >= warmup else 0.0, _schedule(step, warmup, total, peak, 0.0))


@misconception(
    "warmup_cosine",
    tell="You add the floor to a whole cosine: at the peak the rate is peak + floor. Stretch it from peak to floor.",
)
def floor_is_added(step: int, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    up = peak * (step + 1) / max(1, warmup + 1)
    return _schedule(step, warmup, total, peak + floor, floor, up)


@misconception(
    "warmup_cosine",
    tell="Your cosine counts the steps from 0, not from the end of the warm-up: after it the rate jumps down.",
)
def cosine_from_the_first_step(step: int, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    if warmup < 0 or total <= warmup:
        raise ValueError("bad counts")
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    return floor + (peak - floor) * (1 + math.cos(math.pi * min(1.0, step / (total - 1)))) / 2


@misconception(
    "warmup_cosine",
    tell="Impossible counts give a rate in your version. Raise a ValueError if warmup is negative, or total is not "
    "larger than warmup.",
)
def any_counts(step: int, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    progress = min(1.0, (step - warmup) / max(1, total - 1 - warmup))
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2


# ---------------------------------------------------------------- experiment


def _rows(kind: str) -> Dataset:
    import training
    from datasets import ToyDataset

    features, labels = (getattr(training, f"{kind}_{what}") for what in ("FEATURES", "LABELS"))
    return ToyDataset(torch.tensor(features), torch.tensor(labels))


def _network() -> nn.Module:
    from parameters import NeuralNetwork

    return NeuralNetwork(2, 2)


def _train_loader() -> DataLoader:
    return DataLoader(_rows("TRAIN"), batch_size=2, shuffle=True, drop_last=True)


def _results(model: nn.Module, losses: list[float], probabilities=_predict) -> dict[str, object]:
    return {
        "losses": losses,
        "train_accuracy": _evaluate(model, DataLoader(_rows("TRAIN"), batch_size=2))[1],
        "test_accuracy": _evaluate(model, DataLoader(_rows("TEST"), batch_size=2))[1],
        "probabilities": probabilities(model, torch.stack([x for x, _ in _listed(_rows("TRAIN"))])),
    }


def _listed(dataset: Dataset) -> list[tuple[Tensor, Tensor]]:
    return [dataset[index] for index in range(len(dataset))]


@misconception(
    "experiment",
    tell="The seed comes too late: the network's first weights are drawn before it. Call torch.manual_seed(seed) "
    "first, and make the network right after it.",
)
def seeds_after_the_network(seed: int = 123) -> dict[str, object]:
    model = _network()
    torch.manual_seed(seed)
    return _results(model, _fit(_step, model, _train_loader(), 3, SGD(model.parameters(), lr=0.5)))


@misconception("experiment", tell="You always use the seed 123. Use the argument.")
def ignores_the_argument(seed: int = 123) -> dict[str, object]:
    torch.manual_seed(123)
    model = _network()
    return _results(model, _fit(_step, model, _train_loader(), 3, SGD(model.parameters(), lr=0.5)))


@misconception("experiment", tell="You do not shuffle the training rows.")
def trains_in_the_order_of_the_list(seed: int = 123) -> dict[str, object]:
    torch.manual_seed(seed)
    model = _network()
    loader = DataLoader(_rows("TRAIN"), batch_size=2, drop_last=True)
    return _results(model, _fit(_step, model, loader, 3, SGD(model.parameters(), lr=0.5)))


@misconception("experiment", tell="The short last batch is trained on as well. Leave it out (drop_last).")
def trains_on_the_short_batch(seed: int = 123) -> dict[str, object]:
    torch.manual_seed(seed)
    model = _network()
    loader = DataLoader(_rows("TRAIN"), batch_size=2, shuffle=True)
    return _results(model, _fit(_step, model, loader, 3, SGD(model.parameters(), lr=0.5)))


@misconception(
    "experiment",
    tell="You set the seed again after you made the network: the order of the rows then begins anew. Set it once.",
)
def seeds_twice(seed: int = 123) -> dict[str, object]:
    torch.manual_seed(seed)
    model = _network()
    torch.manual_seed(seed)
    return _results(model, _fit(_step, model, _train_loader(), 3, SGD(model.parameters(), lr=0.5)))


@misconception(
    "experiment",
    tell="Your accuracy of the training rows leaves rows out: it is measured with the loader that drops a short batch. "
    "Make another loader to measure with.",
)
def measures_with_the_train_loader(seed: int = 123) -> dict[str, object]:
    torch.manual_seed(seed)
    model = _network()
    found = _results(model, _fit(_step, model, _train_loader(), 3, SGD(model.parameters(), lr=0.5)))
    return {**found, "train_accuracy": _evaluate(model, _train_loader())[1]}


@misconception("experiment", tell="Both accuracies are of the training rows. Measure the test rows, too.")
def measures_the_training_rows_twice(seed: int = 123) -> dict[str, object]:
    torch.manual_seed(seed)
    model = _network()
    found = _results(model, _fit(_step, model, _train_loader(), 3, SGD(model.parameters(), lr=0.5)))
    return {**found, "test_accuracy": found["train_accuracy"]}


@misconception("experiment", tell="The probabilities are logits. predict_proba turns them into probabilities.")
def gives_logits(seed: int = 123) -> dict[str, object]:
    torch.manual_seed(seed)
    model = _network()

    def logits(model: nn.Module, x: Tensor) -> Tensor:
        with torch.no_grad():
            return model(x)

    return _results(model, _fit(_step, model, _train_loader(), 3, SGD(model.parameters(), lr=0.5)), logits)


@misconception("experiment", tell="The probabilities are those of the network before the training.")
def predicts_before_training(seed: int = 123) -> dict[str, object]:
    torch.manual_seed(seed)
    model = _network()
    x = torch.stack([x for x, _ in _listed(_rows("TRAIN"))])
    probabilities = _predict(model, x)
    losses = _fit(_step, model, _train_loader(), 3, SGD(model.parameters(), lr=0.5))
    return {**_results(model, losses), "probabilities": probabilities}


@misconception(
    "experiment",
    tell="You return the published losses, or what you got with the data of the book. With other data in the lists, "
    "the results are others: read the lists when the function is called.",
)
def knows_the_book(seed: int = 123) -> dict[str, object]:
    from datasets import ToyDataset

    torch.manual_seed(seed)
    model = _network()
    x = torch.tensor([[-1.2, 3.1], [-0.9, 2.9], [-0.5, 2.6], [2.3, -1.1], [2.7, -1.5]])
    train = ToyDataset(x, torch.tensor([0, 0, 0, 1, 1]))
    loader = DataLoader(train, batch_size=2, shuffle=True, drop_last=True)
    losses = _fit(_step, model, loader, 3, SGD(model.parameters(), lr=0.5))
    return {"losses": losses, "train_accuracy": 1.0, "test_accuracy": 1.0, "probabilities": _predict(model, x)}


# ---------------------------------------------------------------- what is as before


def _measured(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    loss, right, count = 0.0, 0, 0
    for features, labels in loader:
        logits = model(features)
        loss += F.cross_entropy(logits, labels, reduction="sum").item()
        right += int((logits.argmax(dim=1) == labels).sum())
        count += len(labels)
    return loss / count, right / count


@misconception(
    "predict_proba",
    tell="Only the model and its direct children get their training flags back: parts of parts stay in eval "
    "mode. model.modules() has all of them, at any depth.",
)
def predict_proba_puts_back_the_children_only(model: nn.Module, x: Tensor) -> Tensor:
    flags = {part: part.training for part in [model, *model.children()]}
    model.eval()
    try:
        with torch.no_grad():
            return torch.softmax(model(x), dim=1)
    finally:
        for part, training in flags.items():
            part.training = training


@misconception(
    "predict_proba",
    tell="You set requires_grad to True for every parameter afterwards, also for those that were frozen "
    "before. With no_grad you need not touch it at all.",
)
def predict_proba_thaws_what_was_frozen(model: nn.Module, x: Tensor) -> Tensor:
    flags = {part: part.training for part in model.modules()}
    model.eval()
    model.requires_grad_(False)
    try:
        with torch.no_grad():
            return torch.softmax(model(x), dim=1)
    finally:
        model.requires_grad_(True)
        for part, training in flags.items():
            part.training = training


@misconception(
    "predict_proba",
    tell="You switch the recording of gradients on afterwards, also if the caller had it off. `with "
    "torch.no_grad():` puts back what was there.",
)
def predict_proba_switches_recording_on(model: nn.Module, x: Tensor) -> Tensor:
    flags = {part: part.training for part in model.modules()}
    model.eval()
    torch.set_grad_enabled(False)
    try:
        return torch.softmax(model(x), dim=1)
    finally:
        torch.set_grad_enabled(True)
        for part, training in flags.items():
            part.training = training


@misconception(
    "predict_labels",
    tell="Only the model and its direct children get their training flags back: parts of parts stay in eval "
    "mode. model.modules() has all of them, at any depth.",
)
def predict_labels_puts_back_the_children_only(model: nn.Module, x: Tensor) -> Tensor:
    flags = {part: part.training for part in [model, *model.children()]}
    model.eval()
    try:
        with torch.no_grad():
            return model(x).argmax(dim=1)
    finally:
        for part, training in flags.items():
            part.training = training


@misconception(
    "predict_labels",
    tell="You set requires_grad to True for every parameter afterwards, also for those that were frozen "
    "before. With no_grad you need not touch it at all.",
)
def predict_labels_thaws_what_was_frozen(model: nn.Module, x: Tensor) -> Tensor:
    flags = {part: part.training for part in model.modules()}
    model.eval()
    model.requires_grad_(False)
    try:
        with torch.no_grad():
            return model(x).argmax(dim=1)
    finally:
        model.requires_grad_(True)
        for part, training in flags.items():
            part.training = training


@misconception(
    "predict_labels",
    tell="You switch the recording of gradients on afterwards, also if the caller had it off. `with "
    "torch.no_grad():` puts back what was there.",
)
def predict_labels_switches_recording_on(model: nn.Module, x: Tensor) -> Tensor:
    flags = {part: part.training for part in model.modules()}
    model.eval()
    torch.set_grad_enabled(False)
    try:
        return model(x).argmax(dim=1)
    finally:
        torch.set_grad_enabled(True)
        for part, training in flags.items():
            part.training = training


@misconception(
    "evaluate",
    tell="Only the model and its direct children get their training flags back: parts of parts stay in eval "
    "mode. model.modules() has all of them, at any depth.",
)
def evaluate_puts_back_the_children_only(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    flags = {part: part.training for part in [model, *model.children()]}
    model.eval()
    try:
        with torch.no_grad():
            return _measured(model, loader)
    finally:
        for part, training in flags.items():
            part.training = training


@misconception(
    "evaluate",
    tell="You set requires_grad to True for every parameter afterwards, also for those that were frozen "
    "before. With no_grad you need not touch it at all.",
)
def evaluate_thaws_what_was_frozen(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    flags = {part: part.training for part in model.modules()}
    model.eval()
    model.requires_grad_(False)
    try:
        with torch.no_grad():
            return _measured(model, loader)
    finally:
        model.requires_grad_(True)
        for part, training in flags.items():
            part.training = training


@misconception(
    "evaluate",
    tell="You switch the recording of gradients on afterwards, also if the caller had it off. `with "
    "torch.no_grad():` puts back what was there.",
)
def evaluate_switches_recording_on(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    flags = {part: part.training for part in model.modules()}
    model.eval()
    torch.set_grad_enabled(False)
    try:
        return _measured(model, loader)
    finally:
        torch.set_grad_enabled(True)
        for part, training in flags.items():
            part.training = training
