"""Repairs of debugging that do not repair, each with the message for the student who tried it; first of each exercise,
the program as it was handed out.

Never make one of them right: every one here must be caught by a check. The message about a program that does what it
did when it was handed out says how to look, and never where.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Subset

from grader.testkit import misconception

# ---------------------------------------------------------------- loss_goes_down


@misconception(
    "loss_goes_down",
    tell="Something of earlier batches is still in each step, as when the program was handed out. Train on one batch "
    "with lr=0, so that the weights stay as they are, and print the gradient of one weight in each step: it should be "
    "the same number every time.",
    seen="no_zero_grad",
)
def gradients_pile_up(model: nn.Module, loader: Any, lr: float, epochs: int) -> list[float]:
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


@misconception(
    "loss_goes_down",
    tell="Now the weights do not move at all: the gradients are cleared after backward() has made them and before "
    "step() reads them.",
    seen="zero_grad_before_step",
)
def clears_before_the_step_reads(model: nn.Module, loader: Any, lr: float, epochs: int) -> list[float]:
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        total, count = 0.0, 0
        for features, labels in loader:
            loss = F.cross_entropy(model(features), labels)
            loss.backward()
            optimizer.zero_grad()
            optimizer.step()
            total += loss.item() * len(labels)
            count += len(labels)
        losses.append(total / count)
    return losses


@misconception(
    "loss_goes_down",
    tell="You clear the gradients once in an epoch. Within the epoch each step still has the gradients of all "
    "batches before it: compare two batches, not two epochs.",
    seen="zero_grad_outside_loop",
)
def clears_once_an_epoch(model: nn.Module, loader: Any, lr: float, epochs: int) -> list[float]:
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        total, count = 0.0, 0
        for features, labels in loader:
            loss = F.cross_entropy(model(features), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            count += len(labels)
        losses.append(total / count)
    return losses


@misconception(
    "loss_goes_down",
    tell="Gradients that are clipped still add up: the steps are only shorter, and the direction is that of all "
    "batches so far. Find out why they grow.",
    seen="calls('clip_grad_norm_', 'clip_grad_value_', unless=('zero_grad', 'grad'))",
)
def clips_what_piles_up(model: nn.Module, loader: Any, lr: float, epochs: int) -> list[float]:
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        total, count = 0.0, 0
        for features, labels in loader:
            loss = F.cross_entropy(model(features), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item() * len(labels)
            count += len(labels)
        losses.append(total / count)
    return losses


# ---------------------------------------------------------------- probabilities_learn


def _adam(model: nn.Module, loader: Any, lr: float, epochs: int, loss_of: Any) -> list[float]:
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        total, count = 0.0, 0
        for features, labels in loader:
            optimizer.zero_grad()
            loss = loss_of(model(features), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            count += len(labels)
        losses.append(total / count)
    return losses


@misconception(
    "probabilities_learn",
    tell="The program still does what it did when it was handed out. Give the loss function logits by hand for "
    "which the answer is sure, such as 50, 0, 0 for class 0, and compare its result with the loss that the "
    "program prints.",
)
def softmax_twice(model: nn.Module, loader: Any, lr: float, epochs: int) -> list[float]:
    return _adam(model, loader, lr, epochs, lambda logits, labels: F.cross_entropy(logits.softmax(1), labels))


@misconception(
    "probabilities_learn",
    tell="The loss is negative now: nll_loss takes logarithms of probabilities, and you gave it the probabilities.",
)
def nll_of_probabilities(model: nn.Module, loader: Any, lr: float, epochs: int) -> list[float]:
    return _adam(model, loader, lr, epochs, lambda logits, labels: F.nll_loss(logits.softmax(1), labels))


@misconception(
    "probabilities_learn",
    tell="sigmoid in place of softmax is another squeeze: cross_entropy still gets numbers from 0 to 1 where it "
    "expects logits. Look at what its documentation says about its input.",
)
def sigmoid_instead(model: nn.Module, loader: Any, lr: float, epochs: int) -> list[float]:
    return _adam(model, loader, lr, epochs, lambda logits, labels: F.cross_entropy(logits.sigmoid(), labels))


@misconception(
    "probabilities_learn",
    tell="A softmax over another dimension is still a softmax, and now the examples of a batch compete: what the model "
    "says of one depends on the others. Print the largest number that cross_entropy gets: logits have no limit.",
    seen="dim('softmax', 0)",
)
def softmax_over_the_examples(model: nn.Module, loader: Any, lr: float, epochs: int) -> list[float]:
    return _adam(model, loader, lr, epochs, lambda logits, labels: F.cross_entropy(logits.softmax(dim=0), labels))


@misconception(
    "probabilities_learn",
    tell="A number that is added before the logarithm makes every loss a little wrong, and the large ones very wrong: "
    "no example can cost more than -log of it. Is there a function that needs no probabilities?",
    seen="logs_a_sum",
)
def adds_before_the_logarithm(model: nn.Module, loader: Any, lr: float, epochs: int) -> list[float]:
    return _adam(
        model, loader, lr, epochs, lambda logits, labels: F.nll_loss(torch.log(logits.softmax(1) + 1e-3), labels)
    )


@misconception(
    "probabilities_learn",
    tell="You sharpen the probabilities by a factor, so the floor of the loss is lower, but it is still there, and "
    "the gradients are others. Find out which numbers cross_entropy expects.",
)
def sharpens_the_probabilities(model: nn.Module, loader: Any, lr: float, epochs: int) -> list[float]:
    return _adam(model, loader, lr, epochs, lambda logits, labels: F.cross_entropy(10 * logits.softmax(1), labels))


# ---------------------------------------------------------------- memory_stays_flat


@misconception(
    "memory_stays_flat",
    tell="The program still does what it did when it was handed out (a copy that is kept, or a list of losses, "
    "keeps as much). Print every value that lives longer than one batch, with its grad_fn: each grad_fn holds "
    "a graph.",
)
def sums_graphs(model: nn.Module, loader: Any) -> float:
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


@misconception(
    "memory_stays_flat",
    tell="You detach too early: what is detached has no graph, so backward() computes nothing for the weights, and "
    "they stay as they are.",
)
def detaches_before_backward(model: nn.Module, loader: Any) -> float:
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total, count = 0.0, 0
    for features, labels in loader:
        loss = F.cross_entropy(model(features), labels).detach().requires_grad_()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        count += len(labels)
    return float(total / count)


@misconception(
    "memory_stays_flat",
    tell="You add up the plain losses of the batches and divide by the number of batches: a short last batch "
    "counts as much as a full one.",
    seen="mean_of_batch_means",
)
def mean_of_batches(model: nn.Module, loader: Any) -> float:
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total, count = 0.0, 0
    for features, labels in loader:
        loss = F.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        count += 1
    return total / count


@misconception(
    "memory_stays_flat",
    tell="You compute the loss a second time, without a graph, after the step: it is the loss of other weights. "
    "The loss before the step is there already.",
)
def measures_after_the_step(model: nn.Module, loader: Any) -> float:
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total, count = 0.0, 0
    for features, labels in loader:
        loss = F.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            total += F.cross_entropy(model(features), labels).item() * len(labels)
        count += len(labels)
    return total / count


# ---------------------------------------------------------------- evaluation_repeats


@misconception(
    "evaluation_repeats",
    tell="The program still does what it did when it was handed out. Print model.training, and the logits of one "
    "batch twice in a row: they should be the same.",
)
def evaluates_in_training_mode(model: nn.Module, loader: Any) -> float:
    right, count = 0, 0
    with torch.no_grad():
        for features, labels in loader:
            right += (model(features).argmax(dim=1) == labels).sum().item()
            count += len(labels)
    return right / count


@misconception(
    "evaluation_repeats",
    tell="The numbers are right, but the model stays in eval mode: training that goes on afterwards has no "
    "Dropout, and BatchNorm's statistics no longer move.",
    seen="stays_in_eval",
)
def stays_in_eval_mode(model: nn.Module, loader: Any) -> float:
    model.eval()
    return evaluates_in_training_mode(model, loader)


@misconception(
    "evaluation_repeats",
    tell="You put the whole model into training mode at the end. Parts of it that were in eval mode before are not "
    "any more: remember the flag of each module.",
    seen="always_back_to_train",
)
def all_into_training_mode(model: nn.Module, loader: Any) -> float:
    model.eval()
    found = evaluates_in_training_mode(model, loader)
    model.train()
    return found


@misconception(
    "evaluation_repeats",
    tell="eval() does not switch off gradients: without no_grad() a graph is recorded for every batch. It takes both.",
    seen="no_no_grad",
)
def eval_without_no_grad(model: nn.Module, loader: Any) -> float:
    flags = {module: module.training for module in model.modules()}
    model.eval()
    right, count = 0, 0
    for features, labels in loader:
        right += (model(features).argmax(dim=1) == labels).sum().item()
        count += len(labels)
    for module, training in flags.items():
        module.training = training
    return right / count


@misconception(
    "evaluation_repeats",
    tell="With a fixed seed the wrong number is the same each time. Dropout still drops, and BatchNorm's "
    "statistics still move: the model should run as it does after training.",
)
def seeds_the_dropout(model: nn.Module, loader: Any) -> float:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return evaluates_in_training_mode(model, loader)


# ---------------------------------------------------------------- honest_split


@misconception(
    "honest_split",
    tell="The program still does what it did when it was handed out. Split ten rows, print the rows of both parts "
    "side by side, and mark those that you find twice.",
)
def shuffles_twice(dataset: Any, val_fraction: float, seed: int) -> Any:
    count = len(dataset)
    held_out = round(count * val_fraction)
    generator = torch.Generator().manual_seed(seed)
    val = Subset(dataset, torch.randperm(count, generator=generator).tolist()[:held_out])
    train = Subset(dataset, torch.randperm(count, generator=generator).tolist()[held_out:])
    return train, val


@misconception(
    "honest_split",
    tell="You removed the rows for validation from the training rows, but the training rows come from another "
    "shuffle that was cut before: some rows are in neither part now.",
)
def drops_what_is_in_both(dataset: Any, val_fraction: float, seed: int) -> Any:
    count = len(dataset)
    held_out = round(count * val_fraction)
    generator = torch.Generator().manual_seed(seed)
    val = torch.randperm(count, generator=generator).tolist()[:held_out]
    train = torch.randperm(count, generator=generator).tolist()[held_out:]
    return Subset(dataset, [row for row in train if row not in val]), Subset(dataset, val)


@misconception(
    "honest_split",
    tell="The parts are right now, but you seed torch's global random numbers: whatever the caller draws next "
    "depends on your split. Keep to a generator of your own.",
    seen="seeds_the_global_stream",
)
def seeds_the_global_stream(dataset: Any, val_fraction: float, seed: int) -> Any:
    held_out = round(len(dataset) * val_fraction)
    torch.manual_seed(seed)
    order = torch.randperm(len(dataset)).tolist()
    return Subset(dataset, order[held_out:]), Subset(dataset, order[:held_out])


@misconception(
    "honest_split",
    tell="Without a shuffle the parts are disjoint, and the first rows are always those for validation, whatever "
    "the seed is. If the data are sorted, some classes are in one part only.",
)
def does_not_shuffle(dataset: Any, val_fraction: float, seed: int) -> Any:
    held_out = round(len(dataset) * val_fraction)
    return Subset(dataset, range(held_out, len(dataset))), Subset(dataset, range(held_out))


@misconception(
    "honest_split",
    tell="No row is in both parts now, but the one at the cut is in neither: one part ends before it, and the other "
    "begins after it. Split ten rows, and count those of both parts.",
)
def loses_the_row_at_the_cut(dataset: Any, val_fraction: float, seed: int) -> Any:
    held_out = round(len(dataset) * val_fraction)
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed)).tolist()
    return Subset(dataset, order[held_out + 1 :]), Subset(dataset, order[:held_out])


# ---------------------------------------------------------------- each_epoch_new


@misconception(
    "each_epoch_new",
    tell="The program still does what it did when it was handed out. Print the state of the generator (its first "
    "numbers, or a hash of get_state()) at the start of each epoch, and see whether it has moved on.",
)
def begins_again_each_epoch(dataset: Any, batch_size: int, seed: int, epochs: int) -> list[list[int]]:
    orders = []
    for _ in range(epochs):
        generator = torch.Generator().manual_seed(seed)
        loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, generator=generator)
        orders.append([row for batch in loader for row in batch.tolist()])
    return orders


@misconception(
    "each_epoch_new",
    tell="Without a seed every epoch is new, and so is every run: nobody can repeat it. All orders must come from "
    "the seed.",
)
def no_seed_at_all(dataset: Any, batch_size: int, seed: int, epochs: int) -> list[list[int]]:
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=True)
    return [[row for batch in loader for row in batch.tolist()] for _ in range(epochs)]


@misconception(
    "each_epoch_new",
    tell="You seed torch's global random numbers. The orders are right, and whatever the caller draws next depends "
    "on them. Give the loader a generator of its own.",
    seen="seeds_the_global_stream",
)
def seeds_everything(dataset: Any, batch_size: int, seed: int, epochs: int) -> list[list[int]]:
    torch.manual_seed(seed)
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=True)
    return [[row for batch in loader for row in batch.tolist()] for _ in range(epochs)]


@misconception(
    "each_epoch_new", tell="The number of the epoch alone is the seed now: every seed gives the same orders."
)
def the_epoch_is_the_seed(dataset: Any, batch_size: int, seed: int, epochs: int) -> list[list[int]]:
    orders = []
    for epoch in range(epochs):
        generator = torch.Generator().manual_seed(epoch)
        loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, generator=generator)
        orders.append([row for batch in loader for row in batch.tolist()])
    return orders


# ---------------------------------------------------------------- no_nan


@misconception(
    "no_nan",
    tell="Large logits still give inf and NaN, as when the program was handed out: somewhere a probability that is "
    "rounded to 0 meets a logarithm. Give it one row with logits 1000 and 0, and print every value on the way.",
)
def log_of_softmax(logits: Tensor, labels: Tensor) -> Tensor:
    probabilities = torch.softmax(logits, dim=1)
    return -probabilities.log()[torch.arange(len(labels)), labels].mean()


@misconception(
    "no_nan",
    tell="Clamped, or with a small number added, the logarithm is finite and wrong: a logit of -10,000 costs as much "
    "as one of -30, and its gradient is 0, so the model can no longer learn from its worst mistakes.",
)
def clamps_probabilities(logits: Tensor, labels: Tensor) -> Tensor:
    probabilities = torch.softmax(logits, dim=1).clamp_min(1e-12)
    return -probabilities.log()[torch.arange(len(labels)), labels].mean()


@misconception(
    "no_nan",
    tell="A small number that is added before the logarithm makes every loss a little wrong, and the large ones "
    "very wrong: no row can cost more than -log of that number.",
)
def adds_epsilon(logits: Tensor, labels: Tensor) -> Tensor:
    probabilities = torch.softmax(logits, dim=1) + 1e-8
    return -probabilities.log()[torch.arange(len(labels)), labels].mean()


@misconception(
    "no_nan",
    tell="You clamp the logits. What is beyond the limit counts as if it were at the limit, without a gradient.",
)
def clamps_logits(logits: Tensor, labels: Tensor) -> Tensor:
    probabilities = torch.softmax(logits.clamp(-40, 40), dim=1)
    return -probabilities.log()[torch.arange(len(labels)), labels].mean()


@misconception(
    "no_nan",
    tell="nan_to_num hides the symptom: the infinite losses become huge or zero numbers, and the gradients stay NaN.",
    seen="calls('nan_to_num')",
)
def hides_what_is_not_finite(logits: Tensor, labels: Tensor) -> Tensor:
    probabilities = torch.softmax(logits, dim=1)
    return -probabilities.log()[torch.arange(len(labels)), labels].nan_to_num(neginf=0.0).mean()


@misconception(
    "no_nan",
    tell="float64 only moves the limit: exp(-800) is 0 there too, and its logarithm is lost. No dtype is large enough "
    "for the probabilities of logits of 10,000: compute the logarithm without them.",
)
def in_double_and_back(logits: Tensor, labels: Tensor) -> Tensor:
    return log_of_softmax(logits.double(), labels).to(logits.dtype)


def _with_epsilon(logits: Tensor, labels: Tensor, epsilon: float) -> Tensor:
    return -(torch.softmax(logits, dim=1) + epsilon).log()[torch.arange(len(labels)), labels].mean()


@misconception(
    "no_nan",
    tell="A small number that is added before the logarithm makes every loss a little wrong, and the large ones "
    "very wrong: no row can cost more than -log of that number, whichever you take.",
)
def adds_1e_10(logits: Tensor, labels: Tensor) -> Tensor:
    return _with_epsilon(logits, labels, 1e-10)


@misconception(
    "no_nan",
    tell="A small number that is added before the logarithm makes every loss a little wrong, and the large ones "
    "very wrong: no row can cost more than -log of that number, whichever you take.",
)
def adds_1e_7(logits: Tensor, labels: Tensor) -> Tensor:
    return _with_epsilon(logits, labels, 1e-7)


@misconception(
    "no_nan",
    tell="A small number that is added before the logarithm makes every loss a little wrong, and the large ones "
    "very wrong: no row can cost more than -log of that number, whichever you take.",
)
def adds_1e_6(logits: Tensor, labels: Tensor) -> Tensor:
    return _with_epsilon(logits, labels, 1e-6)


# ---------------------------------------------------------------- best_weights_kept


def _train(model: nn.Module, loader: Any, optimizer: Any) -> None:
    model.train()
    for features, labels in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(features), labels).backward()
        optimizer.step()


def _val_loss(model: nn.Module, val_loader: Any) -> float:
    model.eval()
    with torch.no_grad():
        return sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in val_loader)


def _copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


@misconception(
    "best_weights_kept",
    tell="The model still ends with the weights of the last epoch, as it did when the program was handed out. "
    "Either what you keep goes on changing (print one of its weights, when you keep it and an epoch later: a new dict, "
    "by dict(...) or .copy(), may still hold the old tensors), or it never comes back into the model that was given.",
)
def keeps_live_weights(model: nn.Module, loader: Any, val_loader: Any, lr: float, epochs: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best_loss = float("inf")
    for _ in range(epochs):
        _train(model, loader, optimizer)
        loss = _val_loss(model, val_loader)
        if loss < best_loss:
            best_loss, best_weights = loss, dict(model.state_dict())
    model.load_state_dict(best_weights)


@misconception(
    "best_weights_kept",
    tell="You keep copies of the parameters only. BatchNorm's running statistics are buffers, and stay those of "
    "the last epoch: they do not fit the weights.",
    seen="calls('named_parameters', 'parameters', unless=('state_dict', 'named_buffers'))",
)
def keeps_parameters_only(model: nn.Module, loader: Any, val_loader: Any, lr: float, epochs: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best_loss = float("inf")
    for _ in range(epochs):
        _train(model, loader, optimizer)
        loss = _val_loss(model, val_loader)
        if loss < best_loss:
            best_loss, best_weights = loss, {name: p.detach().clone() for name, p in model.named_parameters()}
    model.load_state_dict(best_weights, strict=False)


@misconception(
    "best_weights_kept",
    tell="You load the best weights inside the loop, so each epoch goes on from the best one so far: that is "
    "another training. Load them once, at the end.",
)
def goes_on_from_the_best(model: nn.Module, loader: Any, val_loader: Any, lr: float, epochs: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best_loss = float("inf")
    for _ in range(epochs):
        _train(model, loader, optimizer)
        loss = _val_loss(model, val_loader)
        if loss < best_loss:
            best_loss, best_weights = loss, _copied(model)
        model.load_state_dict(best_weights)


@misconception(
    "best_weights_kept",
    tell="You copy the weights before the epoch that turns out to be the best: the model ends one epoch too early.",
)
def copies_an_epoch_too_early(model: nn.Module, loader: Any, val_loader: Any, lr: float, epochs: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best_loss = float("inf")
    for _ in range(epochs):
        weights = _copied(model)
        _train(model, loader, optimizer)
        loss = _val_loss(model, val_loader)
        if loss < best_loss:
            best_loss, best_weights = loss, weights
    model.load_state_dict(best_weights)


@misconception(
    "best_weights_kept", tell="Of epochs with the same validation loss you keep the last one; it should be the first."
)
def last_of_equal_epochs(model: nn.Module, loader: Any, val_loader: Any, lr: float, epochs: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best_loss = float("inf")
    for _ in range(epochs):
        _train(model, loader, optimizer)
        loss = _val_loss(model, val_loader)
        if loss <= best_loss:
            best_loss, best_weights = loss, _copied(model)
    model.load_state_dict(best_weights)


# ---------------------------------------------------------------- same_after_resume


def _epochs(made: Any, data: Any, count: int) -> None:
    model, optimizer, scheduler = made
    for _ in range(count):
        _train(model, data, optimizer)
        scheduler.step()


def _resumed(make: Any, data: Any, path: str, stop: int, epochs: int, saved: tuple[int, ...]) -> nn.Module:
    made = make()
    _epochs(made, data, stop)
    torch.save([made[part].state_dict() for part in saved], path)
    made = make()
    for part, state in zip(saved, torch.load(path), strict=True):
        made[part].load_state_dict(state)
    _epochs(made, data, epochs - stop)
    return made[0]


@misconception(
    "same_after_resume",
    tell="The program still does what it did when it was handed out. List everything that changes from epoch to "
    "epoch, print it just before the stop and just after the checkpoint is loaded, and compare. (A state_dict() "
    "that was called before the training has nothing of it.)",
)
def weights_only(make: Any, data: Any, path: str, stop: int, epochs: int) -> nn.Module:
    return _resumed(make, data, path, stop, epochs, (0,))


@misconception(
    "same_after_resume",
    tell="The momentum is back, but the scheduler counts from 0 again: print its last_epoch before the stop and after.",
    seen="never_loads('scheduler')",
)
def scheduler_begins_again(make: Any, data: Any, path: str, stop: int, epochs: int) -> nn.Module:
    made = make()
    _epochs(made, data, stop)
    torch.save([part.state_dict() for part in made], path)
    model, optimizer, scheduler = made = make()
    states = torch.load(path)
    model.load_state_dict(states[0])
    optimizer.load_state_dict(states[1])
    _epochs(made, data, epochs - stop)
    return model


@misconception(
    "same_after_resume",
    tell="The scheduler is back, but the optimizer is a new one: it has no momentum, and it has the learning rate "
    "of the first epoch.",
    seen="never_loads('optimizer')",
)
def momentum_begins_again(make: Any, data: Any, path: str, stop: int, epochs: int) -> nn.Module:
    made = make()
    _epochs(made, data, stop)
    torch.save([part.state_dict() for part in made], path)
    model, optimizer, scheduler = made = make()
    states = torch.load(path)
    model.load_state_dict(states[0])
    scheduler.load_state_dict(states[2])
    _epochs(made, data, epochs - stop)
    return model


@misconception(
    "same_after_resume",
    tell="After the checkpoint is loaded you train for all epochs again, not for those that are left.",
)
def trains_all_epochs_again(make: Any, data: Any, path: str, stop: int, epochs: int) -> nn.Module:
    return _resumed(make, data, path, stop, epochs + stop, (0, 1, 2))


@misconception(
    "same_after_resume",
    tell="You go on with the objects of the first part. After a real interruption they are gone: make everything "
    "anew, and take what you need from the file.",
)
def never_stops(make: Any, data: Any, path: str, stop: int, epochs: int) -> nn.Module:
    made = make()
    _epochs(made, data, stop)
    torch.save([part.state_dict() for part in made], path)
    _epochs(made, data, epochs - stop)
    return made[0]


@misconception(
    "same_after_resume",
    tell="The second part trains with the optimizer of the first, which holds the parameters of the first model: the "
    "new model does not learn. Use the new optimizer and scheduler, and load their states from the file.",
)
def optimizer_of_the_first_part(make: Any, data: Any, path: str, stop: int, epochs: int) -> nn.Module:
    made = make()
    _epochs(made, data, stop)
    torch.save(made[0].state_dict(), path)
    model, *_ = make()
    model.load_state_dict(torch.load(path))
    _epochs((model, *made[1:]), data, epochs - stop)
    return model


# ---------------------------------------------------------------- gpu_not_waiting


@misconception(
    "gpu_not_waiting",
    tell="The program still does what it did when it was handed out. Go through one pass of the loop with a "
    "pencil: for each line, does Python need the value of a tensor here? And how often has each tensor of the "
    "batch moved?",
)
def waits_at_every_batch(model: nn.Module, loader: Any, device: torch.device, lr: float) -> list[float]:
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


@misconception(
    "gpu_not_waiting",
    tell="Python still waits for the GPU at every batch: .item() needs the value at once.",
    seen="call_in_loop('item')",
)
def still_reads_every_loss(model: nn.Module, loader: Any, device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for features, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@misconception(
    "gpu_not_waiting",
    tell="Nothing is read inside the loop now, but after it you read the losses one by one: Python waits once for "
    "each. Put them together on the device, and read them all at once.",
)
def reads_one_by_one_afterwards(model: nn.Module, loader: Any, device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for features, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


@misconception(
    "gpu_not_waiting", tell="Python waits once now, but the labels still move to the device twice for each batch."
)
def still_moves_labels_twice(model: nn.Module, loader: Any, device: torch.device, lr: float) -> list[float]:
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for features, labels in loader:
        optimizer.zero_grad()
        logits = model(features.to(device))
        F.cross_entropy(logits, labels.to(device)).backward()
        optimizer.step()
        losses.append(F.cross_entropy(logits.detach(), labels.to(device)))
    return torch.stack(losses).tolist()


@misconception(
    "gpu_not_waiting",
    tell="Python waits once now, but each loss that you keep still has its graph, with what the layers computed for "
    "its batch, so the memory of the GPU fills up. Keep loss.detach().",
)
def keeps_the_graphs(model: nn.Module, loader: Any, device: torch.device, lr: float) -> list[float]:
    return torch.stack(_losses_with_graphs(model, loader, device, lr)).tolist()


@misconception(
    "gpu_not_waiting",
    tell="Two things are left. Each loss that you keep still has its graph: keep loss.detach(). And after the loop you "
    "read the losses one by one: put them together by torch.stack, and read them at once.",
)
def keeps_the_graphs_and_reads_one_by_one(
    model: nn.Module, loader: Any, device: torch.device, lr: float
) -> list[float]:
    return [loss.item() for loss in _losses_with_graphs(model, loader, device, lr)]


def _losses_with_graphs(model: nn.Module, loader: Any, device: torch.device, lr: float) -> list[Tensor]:
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for features, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses


# ---------------------------------------------------------------- ranks_agree


def _step_together(rank: int, world_size: int, model: nn.Module, dataset: Any, epochs: int, lr: float) -> None:
    own = [dataset[i] for i in range(rank, len(dataset), world_size)]
    features, labels = torch.stack([x for x, _ in own]), torch.stack([y for _, y in own])
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        optimizer.zero_grad()
        F.cross_entropy(model(features), labels).backward()
        for parameter in model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= world_size
        optimizer.step()


@misconception(
    "ranks_agree",
    tell="The program still does what it did when it was handed out. Have each rank print one weight and its "
    "gradient before the first step and after it: which of the two is equal on all ranks, and which should "
    "be? (A seed that is set in here changes nothing, as the models are made already; nor does a loop over "
    "model.children() that leaves out the parts of the parts.)",
)
def own_weights_at_the_start(
    rank: int, world_size: int, model: nn.Module, dataset: Any, epochs: int, lr: float
) -> None:
    _step_together(rank, world_size, model, dataset, epochs, lr)


@misconception(
    "ranks_agree",
    tell="The ranks agree, but on the mean of their first weights. One process that begins with rank 0's weights "
    "ends with others.",
)
def begins_with_the_mean(rank: int, world_size: int, model: nn.Module, dataset: Any, epochs: int, lr: float) -> None:
    for weight in model.state_dict().values():
        dist.all_reduce(weight)
        weight /= world_size
    _step_together(rank, world_size, model, dataset, epochs, lr)


@misconception(
    "ranks_agree",
    tell="You make the weights equal at the end. Until then each rank has trained a model of its own, with "
    "gradients of the others' models: no single process takes these steps.",
)
def agrees_at_the_end(rank: int, world_size: int, model: nn.Module, dataset: Any, epochs: int, lr: float) -> None:
    _step_together(rank, world_size, model, dataset, epochs, lr)
    for weight in model.state_dict().values():
        dist.broadcast(weight, src=0)


@misconception(
    "ranks_agree",
    tell="Only the weights that are trained are equal on all ranks; frozen ones differ, so the ranks compute "
    "different things.",
)
def sends_only_what_is_trained(
    rank: int, world_size: int, model: nn.Module, dataset: Any, epochs: int, lr: float
) -> None:
    for parameter in model.parameters():
        if parameter.requires_grad:
            dist.broadcast(parameter.data, src=0)
    _step_together(rank, world_size, model, dataset, epochs, lr)


@misconception(
    "ranks_agree",
    tell="The ranks begin alike, but each trains on all rows of the dataset, or the gradients are added up and not "
    "averaged: the steps are too long.",
)
def adds_gradients_up(rank: int, world_size: int, model: nn.Module, dataset: Any, epochs: int, lr: float) -> None:
    for weight in model.state_dict().values():
        dist.broadcast(weight, src=0)
    _step_together(rank, world_size, model, dataset, epochs, lr * world_size)


# ---------------------------------------------------------------- nobody_waits_for_ever


def _saving(rank: int, path: str, model: nn.Module) -> list[Any]:
    if rank == 0:
        try:
            torch.save(model.state_dict(), path)
        except Exception as error:
            return [error]
    return [None]


@misconception(
    "nobody_waits_for_ever",
    tell="The program still does what it did when it was handed out. Write down for each rank, one below the "
    "other, which collective calls it makes, in order. The lists must be the same on all ranks.",
)
def barrier_on_one_rank(rank: int, world_size: int, path: str, model: nn.Module) -> None:
    errors = _saving(rank, path, model)
    if rank == 0:
        dist.barrier()
    dist.broadcast_object_list(errors, src=0)
    if errors[0] is not None:
        raise errors[0]


@misconception(
    "nobody_waits_for_ever",
    tell="No call that all ranks make comes after the saving, so the others return before rank 0 has written the file, "
    "and they never learn that saving failed.",
)
def nobody_waits_at_all(rank: int, world_size: int, path: str, model: nn.Module) -> None:
    if rank == 0:
        torch.save(model.state_dict(), path)


@misconception(
    "nobody_waits_for_ever",
    tell="If saving fails, rank 0 raises before it comes to the barrier, and the others wait there for ever: test "
    "the case in which saving fails.",
)
def raises_before_the_barrier(rank: int, world_size: int, path: str, model: nn.Module) -> None:
    if rank == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()


@misconception(
    "nobody_waits_for_ever",
    tell="All ranks go on, but only rank 0 raises the error: the others believe that the file is there.",
)
def only_rank_0_raises(rank: int, world_size: int, path: str, model: nn.Module) -> None:
    errors = _saving(rank, path, model)
    dist.barrier()
    if errors[0] is not None:
        raise errors[0]


@misconception(
    "nobody_waits_for_ever",
    tell="Every rank raises, but not that error: pass on the error itself, so that its type and its text are the "
    "same on all ranks.",
)
def raises_another_error(rank: int, world_size: int, path: str, model: nn.Module) -> None:
    errors = _saving(rank, path, model)
    dist.broadcast_object_list(errors, src=0)
    if errors[0] is not None:
        raise ValueError(f"saving failed: {errors[0]}")


@misconception(
    "nobody_waits_for_ever",
    tell="Now every rank writes to the same file, and the last one wins; rank 0 alone should write.",
)
def every_rank_writes(rank: int, world_size: int, path: str, model: nn.Module) -> None:
    errors = _saving(0, path, model)
    dist.broadcast_object_list(errors, src=0)
    dist.barrier()
    if errors[0] is not None:
        raise errors[0]


@misconception(
    "nobody_waits_for_ever",
    tell="Every rank raises a RuntimeError, whatever saving has raised. Send the error itself and raise it: "
    "broadcast_object_list sends any object, so its type and its text are the same on all ranks.",
)
def always_a_runtime_error(rank: int, world_size: int, path: str, model: nn.Module) -> None:
    errors = _saving(rank, path, model)
    errors = [str(error) if error is not None else None for error in errors]
    dist.broadcast_object_list(errors, src=0)
    if errors[0] is not None:
        raise RuntimeError(errors[0])


# ---------------------------------------------------------------- forecast


def _forecast(
    series: Tensor,
    window: int,
    epochs: int,
    lr: float,
    seed: int,
    *,
    known: Callable[[Tensor, int], Tensor] = lambda series, count: series[:count],
    later: int = 1,
    from_place: int = 0,
    in_units: bool = True,
) -> dict[str, Any]:
    count = len(series) * 4 // 5
    part = known(series, count)
    mean, std = part.mean(), part.std()
    values = (series - mean) / std
    rows = values.unfold(0, window + later, 1)
    inputs, targets = rows[:, :window], rows[:, -1]
    places = torch.arange(len(rows)) + window
    is_training = places < count
    is_test = places >= count + from_place
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
        forecasts, came = inputs[is_test] @ weight + bias, targets[is_test]
        if in_units:
            forecasts, came = forecasts * std + mean, came * std + mean
    return {"losses": losses, "forecasts": forecasts.tolist(), "error": (forecasts - came).abs().mean().item()}


@misconception(
    "forecast",
    tell="The program still does what it did when it was handed out. Let the series be 0, 1, 2, ..., and print the "
    "first rows with their targets; then change its last value, and look what changes in the training.",
)
def forecast_as_handed_out(series: Tensor, window: int, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _forecast(series, window, epochs, lr, seed, known=lambda series, count: series, later=2)


@misconception(
    "forecast",
    tell="One of the two bugs is left: mean and std still come from the whole series, so the training knows something "
    "of the last fifth. Change the very last value, and look whether the losses stay.",
)
def repairs_the_target_only(series: Tensor, window: int, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _forecast(series, window, epochs, lr, seed, known=lambda series, count: series)


@misconception(
    "forecast",
    tell="One of the two bugs is left: a target is still one step too late, two places after its window. Print the "
    "first row and its target for the series 0, 1, 2, ...",
)
def repairs_the_statistics_only(series: Tensor, window: int, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _forecast(series, window, epochs, lr, seed, later=2)


@misconception(
    "forecast",
    tell="Your target is the last value of the window itself: the forecast copies what it was given. The target is the "
    "value after the window.",
)
def predicts_the_last_of_the_window(series: Tensor, window: int, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _forecast(series, window, epochs, lr, seed, later=0) if window else {}


@misconception(
    "forecast",
    tell="You take mean and std from the last fifth: that is the part which nobody knows yet. They come from the first "
    "four fifths.",
)
def statistics_of_the_test(series: Tensor, window: int, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _forecast(series, window, epochs, lr, seed, known=lambda series, count: series[count:])


@misconception(
    "forecast",
    tell="You cut the series before you make the windows, so the first values of the last fifth have no forecast. "
    "Their windows reach back into the part for training, and may: those values are known by then.",
)
def cuts_before_the_windows(series: Tensor, window: int, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _forecast(series, window, epochs, lr, seed, from_place=window)


@misconception(
    "forecast",
    tell="Your forecasts are in standardized units. Multiply by std and add mean, so that they can be compared with "
    "the series.",
)
def forecasts_in_standard_units(series: Tensor, window: int, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _forecast(series, window, epochs, lr, seed, in_units=False)


# ---------------------------------------------------------------- classify


def _classify(
    features: Tensor,
    labels: Tensor,
    epochs: int,
    lr: float,
    seed: int,
    *,
    shuffle: str = "together",
    schedule: str = "epoch",
    copies: bool = True,
) -> dict[str, Any]:
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
        if epoch > 0 and shuffle != "never":
            order = torch.randperm(len(x), generator=generator)
            x, y = x[order], y[torch.randperm(len(y), generator=generator) if shuffle == "apart" else order]
        rates.append(optimizer.param_groups[0]["lr"])
        for batch_x, batch_y in zip(x.split(8), y.split(8)):
            optimizer.zero_grad()
            F.cross_entropy(model(batch_x), batch_y).backward()
            optimizer.step()
            if schedule == "batch":
                scheduler.step()
        if schedule == "epoch":
            scheduler.step()
        with torch.no_grad():
            losses.append(F.cross_entropy(model(val_x), val_y).item())
        if losses[-1] < lowest:
            lowest = losses[-1]
            best = _copied(model) if copies else model.state_dict()
    model.load_state_dict(best)
    with torch.no_grad():
        is_right = model(val_x).argmax(dim=1) == val_y
    accuracy = [is_right[val_y == k].float().mean().nan_to_num().item() for k in range(classes)]
    return {"rates": rates, "losses": losses, "best": losses.index(lowest), "accuracy": accuracy}


@misconception(
    "classify",
    tell="The program still does what it did when it was handed out. Print the rate after each batch, and after the "
    "first shuffle a few rows with their labels.",
)
def classify_as_handed_out(features: Tensor, labels: Tensor, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _classify(features, labels, epochs, lr, seed, shuffle="apart", schedule="batch")


@misconception(
    "classify",
    tell="One of the two bugs is left: features and labels are still shuffled apart, so that after the first epoch a "
    "row has the label of another one.",
)
def repairs_the_schedule_only(features: Tensor, labels: Tensor, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _classify(features, labels, epochs, lr, seed, shuffle="apart")


@misconception(
    "classify",
    tell="One of the two bugs is left: the scheduler still steps after each batch, so the rate is halved after every "
    "second batch, not after every second epoch.",
)
def repairs_the_shuffle_only(features: Tensor, labels: Tensor, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _classify(features, labels, epochs, lr, seed, schedule="batch")


@misconception(
    "classify",
    tell="You took the shuffle out: all epochs now have the order of the first one. Keep it, with one order for "
    "features and labels.",
)
def shuffles_no_more(features: Tensor, labels: Tensor, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _classify(features, labels, epochs, lr, seed, shuffle="never")


@misconception(
    "classify", tell="You took the schedule out: the rate stays what it was. The scheduler steps once after each epoch."
)
def keeps_the_rate(features: Tensor, labels: Tensor, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _classify(features, labels, epochs, lr, seed, schedule="never")


@misconception(
    "classify",
    tell="Your accuracies are those of the network after the last epoch. Load the weights of the best one first, and "
    "keep copies of them: state_dict() gives the model's own tensors.",
)
def measures_the_last_network(features: Tensor, labels: Tensor, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    return _classify(features, labels, epochs, lr, seed, copies=False)
