"""Classic wrong answers of spirals, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check. Most are the solution with one thing wrong; see
`_Run`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, random_split

from grader.testkit import misconception

# ---------------------------------------------------------------- make_spirals


def _spirals(
    n: int,
    noise: float,
    seed: int,
    r: Tensor | None = None,
    turn: float = 4.0,
    third: float = 2 * math.pi / 3,
    draw: Callable[..., Tensor] = torch.randn,
) -> tuple[Tensor, Tensor]:
    if n < 2 or noise < 0:
        raise ValueError("no spirals")
    generator = torch.Generator().manual_seed(seed)
    r = torch.arange(n) / (n - 1) if r is None else r
    points = []
    for k in range(3):
        a = turn * r + third * k + noise * draw(n, generator=generator)
        points.append(torch.stack([r * a.cos(), r * a.sin()], dim=1))
    return torch.cat(points), torch.arange(3).repeat_interleave(n)


@misconception(
    "make_spirals",
    tell="Your radius is i / n: the last point of a spiral does not reach 1. Divide by n_per_class - 1.",
    seen="divides_by('n_per_class', just=True)",
)
def radius_below_one(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    return _spirals(n_per_class, noise, seed, r=torch.arange(n_per_class) / n_per_class)


@misconception(
    "make_spirals",
    tell="The numbers z come from torch.rand, evenly spread from 0 to 1. Standard normal numbers come from "
    "torch.randn.",
)
def uniform_noise(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    return _spirals(n_per_class, noise, seed, draw=torch.rand)


@misconception(
    "make_spirals",
    tell="You seed torch's global generator: everything that draws random numbers afterwards is changed. Make a "
    "torch.Generator of your own and hand it to torch.randn.",
    seen="seeds_the_global_stream",
)
def seeds_the_global_generator(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(seed)
    return _spirals(n_per_class, noise, seed, draw=lambda n, generator: torch.randn(n))


@misconception(
    "make_spirals",
    tell="The noise is added to the points. It belongs to the angle: points then move along their circle, and never "
    "off it.",
)
def noise_on_the_points(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    features, labels = _spirals(n_per_class, 0.0, seed)
    if noise < 0:
        raise ValueError("no spirals")
    return features + noise * torch.randn(features.shape, generator=torch.Generator().manual_seed(seed)), labels


@misconception(
    "make_spirals",
    tell="All spirals get the same noise, because you make or seed the generator anew for each class. Make it once.",
)
def seeds_again_for_each_class(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    return _spirals(
        n_per_class, noise, seed, draw=lambda n, generator: torch.randn(n, generator=generator.manual_seed(seed))
    )


@misconception(
    "make_spirals",
    tell="You draw the numbers of all classes in one call: these are other numbers than those of three calls. Draw "
    "torch.randn(n_per_class, generator=...) for one class after the other.",
)
def draws_all_at_once(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    drawn = iter(torch.randn(3 * max(n_per_class, 0), generator=torch.Generator().manual_seed(seed)).split(n_per_class))
    return _spirals(n_per_class, noise, seed, draw=lambda n, generator: next(drawn))


@misconception(
    "make_spirals",
    tell="The points of the classes take turns: 0, 1, 2, 0, 1, 2 ... First come all points of class 0, then those of "
    "class 1, then those of class 2.",
)
def classes_take_turns(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    features, _ = _spirals(n_per_class, noise, seed)
    return features.reshape(3, -1, 2).transpose(0, 1).reshape(-1, 2), torch.arange(3).repeat(n_per_class)


@misconception(
    "make_spirals",
    tell="Your labels take turns: 0, 1, 2, 0, 1, 2 ... The points come class after class, so the labels must, too: "
    "repeat_interleave, not repeat.",
)
def labels_take_turns(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    return _spirals(n_per_class, noise, seed)[0], torch.arange(3).repeat(n_per_class)


@misconception(
    "make_spirals",
    tell="You go from point to point, and through the classes for each: points and random numbers take turns. First "
    "come all points of class 0 with their numbers, then those of class 1, then those of class 2.",
)
def point_by_point_through_the_classes(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z = torch.tensor([torch.randn(1, generator=generator).item() for _ in range(3 * n_per_class)]).reshape(-1, 3)
    drawn = iter(z.unbind(1))
    features, labels = _spirals(n_per_class, noise, seed, draw=lambda n, generator: next(drawn))
    return features.reshape(3, -1, 2).transpose(0, 1).reshape(-1, 2), torch.arange(3).repeat(n_per_class)


@misconception(
    "make_spirals",
    tell="The spirals are not a third of a circle apart. Class k begins at the angle 2 * pi * k / 3, in radians.",
)
def angles_in_degrees(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    return _spirals(n_per_class, noise, seed, third=120.0)


@misconception(
    "make_spirals",
    tell="Any numbers give points in your version. Raise a ValueError if n_per_class is less than 2, or noise "
    "negative.",
)
def any_numbers(n_per_class: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    if n_per_class < 2:
        return torch.zeros(0, 2), torch.zeros(0, dtype=torch.int64)
    features, labels = _spirals(n_per_class, abs(noise), seed)
    return features, labels


# ---------------------------------------------------------------- SpiralNet


class _Net(nn.Module):
    def __init__(self, layers: list[nn.Module], seed: int | None = 0) -> None:
        from training import init_weights

        super().__init__()
        self.layers = nn.Sequential(*layers)
        if seed is not None:
            init_weights(self, torch.Generator().manual_seed(seed))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


def _layers(hidden: int, depth: int, activation: type[nn.Module] = nn.ReLU) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for inputs in [2] + [hidden] * (depth - 1):
        layers += [nn.Linear(inputs, hidden), activation()]
    return [*layers, nn.Linear(hidden, 3)]


@misconception(
    "SpiralNet",
    tell="There is nothing between your linear layers: together they are one linear layer, which cannot bend. Put a "
    "tanh or a ReLU after each hidden layer.",
)
class NoActivation(_Net):
    def __init__(self, hidden: int, depth: int) -> None:
        super().__init__(_layers(hidden, depth, nn.Identity))


@misconception(
    "SpiralNet",
    tell="Your layers are in a plain list, so the module does not know them: it has no parameters, and nothing would "
    "be trained. Put them into an nn.Sequential or an nn.ModuleList.",
)
class LayersInAPlainList(nn.Module):
    def __init__(self, hidden: int, depth: int) -> None:
        super().__init__()
        self.layers = _layers(hidden, depth)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


@misconception(
    "SpiralNet",
    tell="Your network ends with a softmax. Return raw logits: cross-entropy takes the softmax itself.",
    seen="calls('softmax', 'Softmax', 'log_softmax', 'LogSoftmax')",
)
class SoftmaxAtTheEnd(_Net):
    def __init__(self, hidden: int, depth: int) -> None:
        super().__init__([*_layers(hidden, depth), nn.Softmax(dim=1)])


@misconception(
    "SpiralNet",
    tell="There is an activation after the last layer, too. Logits may be any number: the last layer comes without "
    "one.",
)
class ActivationAtTheEnd(_Net):
    def __init__(self, hidden: int, depth: int) -> None:
        super().__init__([*_layers(hidden, depth), nn.ReLU()])


@misconception(
    "SpiralNet",
    tell="You count the first hidden layer besides depth: there is one hidden layer too many. With depth = 1 there is "
    "one hidden layer.",
)
class OneLayerTooMany(_Net):
    def __init__(self, hidden: int, depth: int) -> None:
        super().__init__(_layers(hidden, depth + 1))


@misconception("SpiralNet", tell="The first weights are torch's own. Call your init_weights when all layers are there.")
class WeightsOfTorch(_Net):
    def __init__(self, hidden: int, depth: int) -> None:
        super().__init__(_layers(hidden, depth), seed=None)


@misconception(
    "SpiralNet",
    tell="Your generator has no seed, or another one than 0 each time: two nets are different. Use "
    "torch.Generator().manual_seed(0).",
)
class AnotherSeed(_Net):
    def __init__(self, hidden: int, depth: int) -> None:
        super().__init__(_layers(hidden, depth), seed=1)


@misconception(
    "SpiralNet",
    tell="All hidden layers of your network are the same layer: [layer] * n makes n references to one object. Make a "
    "new one for each place.",
)
class OneLayerManyTimes(_Net):
    def __init__(self, hidden: int, depth: int) -> None:
        middle = [nn.Linear(hidden, hidden), nn.ReLU()] * (depth - 1)
        super().__init__([nn.Linear(2, hidden), nn.ReLU(), *middle, nn.Linear(hidden, 3)])


@misconception(
    "SpiralNet",
    tell="Your layers are in a plain list, so the network does not know them: it has too few parameters. Use "
    "nn.Sequential or nn.ModuleList.",
)
class LayersInAList(nn.Module):
    def __init__(self, hidden: int, depth: int) -> None:
        from training import init_weights

        super().__init__()
        self.hidden = _layers(hidden, depth)[:-1]
        self.last = nn.Linear(hidden, 3)
        init_weights(self, torch.Generator().manual_seed(0))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.hidden:
            x = layer(x)
        return self.last(x)


# ---------------------------------------------------------------- run


class _Run:
    """A right run, in parts; a wrong answer has another part."""

    def __init__(self, seed: int, epochs: int, path: str | None, stop_after: int | None) -> None:
        import spirals

        self.constants: Any = spirals
        self.seed, self.epochs, self.path, self.stop_after = seed, epochs, path, stop_after
        self.history: dict[str, Any] = {"train_losses": [], "val_losses": []}
        self.best = math.inf

    def __call__(self) -> dict[str, Any]:
        torch.manual_seed(self.seed)
        train, val = self.split(self.data())
        train_loader = self.loader(train)
        val_loader = DataLoader(val, self.constants.BATCH_SIZE)
        model = self.constants.SpiralNet(self.constants.HIDDEN, self.constants.DEPTH)
        optimizer = self.optimizer(model)
        start = self.resume(model, optimizer) if self.path is not None and os.path.exists(self.path) else 0
        for epoch in self.numbers(start):
            self.set_rate(optimizer, self.rate(epoch, start))
            self.epoch(epoch, model, train_loader, val_loader, optimizer)
            if self.path is not None:
                self.save(model, optimizer, epoch)
        return self.finish(model)

    def set_rate(self, optimizer: Optimizer, rate: float) -> None:
        for group in optimizer.param_groups:
            group["lr"] = rate

    def data(self) -> TensorDataset:
        return TensorDataset(*self.constants.make_spirals(self.constants.N_PER_CLASS, self.constants.NOISE, self.seed))

    def split(self, dataset: Dataset) -> tuple[Dataset, Dataset]:
        from datasets import split

        return split(dataset, self.constants.VAL_FRACTION, self.seed)

    def loader(self, train: Dataset) -> DataLoader:
        return DataLoader(train, self.constants.BATCH_SIZE, shuffle=True)

    def optimizer(self, model: nn.Module) -> Optimizer:
        from training import parameter_groups

        return torch.optim.AdamW(parameter_groups(model, self.constants.WEIGHT_DECAY))

    def resume(self, model: nn.Module, optimizer: Optimizer) -> int:
        from checkpoints import resume

        start = resume(model, optimizer, self.path)
        self.load(start)
        return start

    def load(self, start: int) -> None:
        self.history = torch.load(f"{self.path}.{start - 1}", weights_only=True)

    def numbers(self, start: int) -> range:
        return range(start, min(self.epochs, self.stop_after or self.epochs))

    def rate(self, epoch: int, start: int) -> float:
        from training import warmup_cosine

        own = self.constants
        return warmup_cosine(epoch, own.WARMUP, self.epochs, own.PEAK, own.FLOOR)

    def epoch(
        self, epoch: int, model: nn.Module, train_loader: DataLoader, val_loader: DataLoader, optimizer: Optimizer
    ) -> None:
        from training import evaluate, train_epoch

        train_loss = train_epoch(model, train_loader, optimizer)
        val_loss, accuracy = evaluate(model, val_loader)
        self.note(model, train_loss, val_loss, accuracy)

    def note(self, model: nn.Module, train_loss: float, val_loss: float, accuracy: float) -> None:
        if val_loss < min(self.history["val_losses"], default=math.inf):
            self.keep(model, accuracy)
        self.history["train_losses"].append(train_loss)
        self.history["val_losses"].append(val_loss)

    def keep(self, model: nn.Module, accuracy: float) -> None:
        from checkpoints import snapshot

        self.history |= {"val_accuracy": accuracy, "weights": snapshot(model)}

    def save(self, model: nn.Module, optimizer: Optimizer, epoch: int) -> None:
        self.save_history(epoch)
        self.save_checkpoint(model, optimizer, epoch)

    def save_history(self, epoch: int) -> None:
        torch.save(self.history, f"{self.path}.{epoch}")

    def save_checkpoint(self, model: nn.Module, optimizer: Optimizer, epoch: int) -> None:
        from checkpoints import save_checkpoint

        save_checkpoint(model, optimizer, epoch, self.path)

    def finish(self, model: nn.Module) -> dict[str, Any]:
        return self.history


class _OneHistory(_Run):
    """With one file of losses and weights for all epochs."""

    def load(self, start: int) -> None:
        self.history = torch.load(f"{self.path}.history", weights_only=True)
        for losses in (self.history["train_losses"], self.history["val_losses"]):
            del losses[start:]

    def save_history(self, epoch: int) -> None:
        torch.save(self.history, f"{self.path}.history.tmp")
        os.replace(f"{self.path}.history.tmp", f"{self.path}.history")


class _RepeatsAnEpoch(_Run):
    def resume(self, model: nn.Module, optimizer: Optimizer) -> int:
        start = super().resume(model, optimizer) - 1
        self.load(start)
        return start


@misconception(
    "run",
    tell="After resuming you train the last epoch a second time. resume returns the number of the next epoch: begin "
    "with just that one.",
)
def resumes_one_epoch_twice(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _RepeatsAnEpoch(seed, epochs, path, stop_after)()


class _SkipsAnEpoch(_Run):
    def numbers(self, start: int) -> range:
        return range(start + 1 if start else 0, super().numbers(start).stop)


@misconception(
    "run",
    tell="After resuming you leave an epoch out. resume returns the number of the next epoch already: add nothing.",
)
def leaves_an_epoch_out(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _SkipsAnEpoch(seed, epochs, path, stop_after)()


class _ScheduleRestarts(_Run):
    def rate(self, epoch: int, start: int) -> float:
        return super().rate(epoch - start, start)


@misconception(
    "run",
    tell="The schedule begins anew after resuming, with the warm-up. The learning rate follows from the number of the "
    "epoch in the whole run.",
)
def schedule_restarts(seed: int, epochs: int, path: str | None = None, stop_after: int | None = None) -> dict[str, Any]:
    return _ScheduleRestarts(seed, epochs, path, stop_after)()


class _ScheduleOfTheCall(_Run):
    def rate(self, epoch: int, start: int) -> float:
        self.epochs, whole = (
            min(self.epochs, max(self.stop_after or self.epochs, self.constants.WARMUP + 2)),
            self.epochs,
        )
        try:
            return super().rate(epoch, start)
        finally:
            self.epochs = whole


@misconception(
    "run",
    tell="With stop_after the learning rate comes down within the epochs of this call. The schedule is that of the "
    "whole run: hand `epochs` to warmup_cosine.",
)
def schedule_of_the_call(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _ScheduleOfTheCall(seed, epochs, path, stop_after)()


class _BestOfTrainingLoss(_Run):
    def note(self, model: nn.Module, train_loss: float, val_loss: float, accuracy: float) -> None:
        if train_loss < min(self.history["train_losses"], default=math.inf):
            self.keep(model, accuracy)
        self.history["train_losses"].append(train_loss)
        self.history["val_losses"].append(val_loss)


@misconception(
    "run",
    tell="You return the weights of the epoch with the lowest training loss: these have learned the training "
    "rows by heart. The validation loss decides.",
)
def best_of_the_training_loss(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _BestOfTrainingLoss(seed, epochs, path, stop_after)()


class _LastWeights(_Run):
    def note(self, model: nn.Module, train_loss: float, val_loss: float, accuracy: float) -> None:
        super().note(model, train_loss, val_loss, accuracy)
        self.keep(model, accuracy)


@misconception(
    "run", tell="You return the weights of the last epoch. Keep a snapshot of those with the lowest validation loss."
)
def weights_of_the_last_epoch(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _LastWeights(seed, epochs, path, stop_after)()


class _LiveWeights(_Run):
    def keep(self, model: nn.Module, accuracy: float) -> None:
        self.history |= {"val_accuracy": accuracy, "weights": model.state_dict()}


@misconception(
    "run",
    tell="You return the weights of the last epoch: they are taken at the end, or go on changing, as the tensors of "
    "state_dict() do. Take a snapshot in the best epoch.",
    seen="keeps_live('weights')",
)
def best_weights_are_live(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _LiveWeights(seed, epochs, path, stop_after)()


class _BestSinceResuming(_Run):
    def note(self, model: nn.Module, train_loss: float, val_loss: float, accuracy: float) -> None:
        if val_loss < self.best:
            self.best = val_loss
            self.keep(model, accuracy)
        self.history["train_losses"].append(train_loss)
        self.history["val_losses"].append(val_loss)


@misconception(
    "run",
    tell="After resuming you look for the best epoch anew, and the best one from before the stop is lost. Compare "
    "with the validation losses of all epochs.",
)
def best_since_resuming(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _BestSinceResuming(seed, epochs, path, stop_after)()


class _AccuracyOfTheLast(_Run):
    def note(self, model: nn.Module, train_loss: float, val_loss: float, accuracy: float) -> None:
        super().note(model, train_loss, val_loss, accuracy)
        self.history["val_accuracy"] = accuracy


@misconception(
    "run",
    tell="Your val_accuracy is that of the last epoch. It belongs to the weights that you return: those of the best "
    "one.",
)
def accuracy_of_the_last_epoch(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _AccuracyOfTheLast(seed, epochs, path, stop_after)()


class _BestAccuracy(_Run):
    def note(self, model: nn.Module, train_loss: float, val_loss: float, accuracy: float) -> None:
        super().note(model, train_loss, val_loss, accuracy)
        self.best = min(self.best, -accuracy)
        self.history["val_accuracy"] = -self.best


@misconception(
    "run",
    tell="Your val_accuracy is the highest of all epochs. It belongs to the weights that you return: those with the "
    "lowest validation loss.",
)
def highest_accuracy(seed: int, epochs: int, path: str | None = None, stop_after: int | None = None) -> dict[str, Any]:
    return _BestAccuracy(seed, epochs, path, stop_after)()


class _RandomSplit(_Run):
    def split(self, dataset: Dataset) -> tuple[Dataset, Dataset]:
        generator = torch.Generator()
        generator.seed()
        fraction = self.constants.VAL_FRACTION
        return tuple(random_split(dataset, [1 - fraction, fraction], generator=generator))


@misconception(
    "run",
    tell="Rows are split at random again in each call: after resuming, rows that were trained on are in the "
    "validation. Use your split, with the seed.",
)
def splits_again_after_resuming(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _RandomSplit(seed, epochs, path, stop_after)()


class _ValidatesOnTraining(_Run):
    def split(self, dataset: Dataset) -> tuple[Dataset, Dataset]:
        _, val = super().split(dataset)
        return dataset, val


@misconception(
    "run",
    tell="You train on all rows, those for validation included, so the validation loss says nothing. Train on the "
    "first part that split returns.",
)
def trains_on_all_rows(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _ValidatesOnTraining(seed, epochs, path, stop_after)()


class _Unshuffled(_Run):
    def loader(self, train: Dataset) -> DataLoader:
        return DataLoader(train, self.constants.BATCH_SIZE)


@misconception(
    "run",
    tell=(
        "Every epoch takes the rows in the same order: does the loader shuffle, as DataLoader(..., "
        "shuffle=True) does, and go on with the same random numbers?"
    ),
)
def takes_the_same_order(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _Unshuffled(seed, epochs, path, stop_after)()


class _OwnGenerator(_Run):
    def loader(self, train: Dataset) -> DataLoader:
        generator = torch.Generator().manual_seed(self.seed)
        return DataLoader(train, self.constants.BATCH_SIZE, shuffle=True, generator=generator)


@misconception(
    "run",
    tell="Your loader shuffles by a generator of its own, which no checkpoint saves: after resuming the orders begin "
    "again with those of the first epochs. Shuffle by torch's global numbers, which save_checkpoint keeps.",
)
def orders_begin_again(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _OwnGenerator(seed, epochs, path, stop_after)()


class _SavesTooSoon(_Run):
    def epoch(
        self, epoch: int, model: nn.Module, train_loader: DataLoader, val_loader: DataLoader, optimizer: Optimizer
    ) -> None:
        from training import evaluate, train_epoch

        train_loss = train_epoch(model, train_loader, optimizer)
        if self.path is not None:
            self.save_checkpoint(model, optimizer, epoch)
        val_loss, accuracy = evaluate(model, val_loader)
        self.note(model, train_loss, val_loss, accuracy)

    def save(self, model: nn.Module, optimizer: Optimizer, epoch: int) -> None:
        self.save_history(epoch)


@misconception(
    "run",
    tell="After resuming the orders of the rows are others: is the checkpoint saved after all that draws "
    "random numbers in its epoch? Even a loader that does not shuffle draws one, so evaluate first, and "
    "save last.",
    seen="comes_before('save_checkpoint', 'evaluate')",
)
def saves_before_evaluating(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _SavesTooSoon(seed, epochs, path, stop_after)()


class _SeedsAfterResuming(_Run):
    def resume(self, model: nn.Module, optimizer: Optimizer) -> int:
        start = super().resume(model, optimizer)
        torch.manual_seed(self.seed)
        return start


@misconception(
    "run",
    tell="You set the seed after resuming: the orders of the first epochs come again. Set it once, at the beginning; "
    "resume puts torch's random numbers at the right place.",
)
def seeds_after_resuming(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _SeedsAfterResuming(seed, epochs, path, stop_after)()


class _SeedsLate(_Run):
    def numbers(self, start: int) -> range:
        torch.manual_seed(self.seed)
        return super().numbers(start)


@misconception(
    "run",
    tell="You set the seed just before the epochs, also after resuming: the orders of the first epochs come again. Set "
    "it once, at the beginning; resume puts torch's random numbers at the right place.",
)
def seeds_before_the_epochs(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _SeedsLate(seed, epochs, path, stop_after)()


class _WeightsOnly(_Run):
    def resume(self, model: nn.Module, optimizer: Optimizer) -> int:
        return super().resume(
            model, self.optimizer(self.constants.SpiralNet(self.constants.HIDDEN, self.constants.DEPTH))
        )


@misconception(
    "run",
    tell="After resuming your optimizer has forgotten what AdamW remembers of earlier steps: does resume get "
    "the one that you train with?",
)
def forgets_the_optimizer(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _WeightsOnly(seed, epochs, path, stop_after)()


class _NoHistory(_Run):
    def load(self, start: int) -> None:
        pass

    def finish(self, model: nn.Module) -> dict[str, Any]:
        from checkpoints import snapshot

        return {"val_accuracy": 0.0, "weights": snapshot(model), **self.history}


@misconception(
    "run",
    tell="After resuming you have lost the losses and the best weights from before. save_checkpoint does not keep "
    "them: write them into a second file beside it.",
)
def forgets_the_history(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _NoHistory(seed, epochs, path, stop_after)()


class _NeverResumes(_Run):
    def resume(self, model: nn.Module, optimizer: Optimizer) -> int:
        return 0


@misconception("run", tell="You begin anew although there is a checkpoint. If the file at path exists, resume from it.")
def begins_anew(seed: int, epochs: int, path: str | None = None, stop_after: int | None = None) -> dict[str, Any]:
    return _NeverResumes(seed, epochs, path, stop_after)()


class _StopCountsTheCall(_Run):
    def numbers(self, start: int) -> range:
        return range(start, min(self.epochs, start + (self.stop_after or self.epochs)))


@misconception(
    "run",
    tell="stop_after counts the epochs of this call in your version. It counts those of the whole run, earlier calls "
    "included.",
)
def stop_counts_the_call(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _StopCountsTheCall(seed, epochs, path, stop_after)()


class _OneFileOnly(_Run):
    def save(self, model: nn.Module, optimizer: Optimizer, epoch: int) -> None:
        if epoch == self.numbers(0).stop - 1:
            super().save(model, optimizer, epoch)


@misconception(
    "run",
    tell="You save once, at the end of the call. If the run is interrupted before that, everything is lost: save "
    "after each epoch.",
)
def saves_at_the_end_only(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _OneFileOnly(seed, epochs, path, stop_after)()


class _CheckpointFirst(_OneHistory):
    def save(self, model: nn.Module, optimizer: Optimizer, epoch: int) -> None:
        self.save_checkpoint(model, optimizer, epoch)
        self.save_history(epoch)


@misconception(
    "run",
    tell="You save the checkpoint before the losses. If the program stops between the two, the losses of an epoch are "
    "missing for ever. Save the losses first.",
)
def checkpoint_before_the_history(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _CheckpointFirst(seed, epochs, path, stop_after)()


class _InPlace(_OneHistory):
    def save_history(self, epoch: int) -> None:
        torch.save(self.history, f"{self.path}.history")


@misconception(
    "run",
    tell="You write the second file in place: if the save stops half-way, it is broken, and no call can go on. Write "
    "to another name, then os.replace, as in save_checkpoint.",
)
def history_written_in_place(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _InPlace(seed, epochs, path, stop_after)()


class _Uncut(_OneHistory):
    def load(self, start: int) -> None:
        self.history = torch.load(f"{self.path}.history", weights_only=True)


@misconception(
    "run",
    tell="If the program stops between the two saves, the losses are one epoch ahead of the checkpoint, and the epoch "
    "is in the lists twice. Cut them to the epoch that resume returned.",
)
def history_ahead_of_the_checkpoint(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _Uncut(seed, epochs, path, stop_after)()


class _DecaysEverything(_Run):
    def optimizer(self, model: nn.Module) -> Optimizer:
        return torch.optim.AdamW(model.parameters(), weight_decay=self.constants.WEIGHT_DECAY)


@misconception("run", tell="Biases decay in your run, too. Hand the two groups of parameter_groups to AdamW.")
def decays_the_biases(seed: int, epochs: int, path: str | None = None, stop_after: int | None = None) -> dict[str, Any]:
    return _DecaysEverything(seed, epochs, path, stop_after)()


class _Adam(_Run):
    def optimizer(self, model: nn.Module) -> Optimizer:
        from training import parameter_groups

        return torch.optim.Adam(parameter_groups(model, self.constants.WEIGHT_DECAY))


@misconception(
    "run",
    tell="Your optimizer is Adam, which adds the decay to the gradient. AdamW takes it off the weights.",
    seen="calls('Adam')",
)
def adam_for_adamw(seed: int, epochs: int, path: str | None = None, stop_after: int | None = None) -> dict[str, Any]:
    return _Adam(seed, epochs, path, stop_after)()


class _FirstGroupOnly(_Run):
    def set_rate(self, optimizer: Optimizer, rate: float) -> None:
        optimizer.param_groups[0]["lr"] = rate


@misconception(
    "run",
    tell="Only the first group gets the learning rate of the schedule. Set it in each of optimizer.param_groups.",
    seen="first_group_only",
)
def rate_of_the_first_group_only(
    seed: int, epochs: int, path: str | None = None, stop_after: int | None = None
) -> dict[str, Any]:
    return _FirstGroupOnly(seed, epochs, path, stop_after)()


class _ConstantRate(_Run):
    def rate(self, epoch: int, start: int) -> float:
        return float(self.constants.PEAK)


@misconception(
    "run",
    tell=(
        "The learning rate is PEAK in each epoch, where it should follow warmup_cosine: is it set in each "
        "group of the optimizer, epoch by epoch?"
    ),
)
def always_the_peak(seed: int, epochs: int, path: str | None = None, stop_after: int | None = None) -> dict[str, Any]:
    return _ConstantRate(seed, epochs, path, stop_after)()


# ---------------------------------------------------------------- train_spirals


@misconception(
    "train_spirals",
    tell="You keep the weights of the lowest training loss: these have learned the training rows by heart. The "
    "validation loss decides.",
)
def keeps_the_best_of_training(seed: int, epochs: int) -> dict[str, Any]:
    return _BestOfTrainingLoss(seed, epochs, None, None)()


@misconception(
    "train_spirals",
    tell="You return the weights of the last epoch. Keep a snapshot of those with the lowest validation loss.",
)
def keeps_the_last_weights(seed: int, epochs: int) -> dict[str, Any]:
    return _LastWeights(seed, epochs, None, None)()


@misconception(
    "train_spirals",
    tell="You return the weights of the last epoch: they are taken at the end, or go on changing, as the tensors of "
    "state_dict() do. Take a snapshot in the best epoch.",
    seen="keeps_live('weights')",
)
def keeps_live_best_weights(seed: int, epochs: int) -> dict[str, Any]:
    return _LiveWeights(seed, epochs, None, None)()


@misconception(
    "train_spirals",
    tell="Your val_accuracy is that of the last epoch. It belongs to the weights that you return: those of the best "
    "one.",
)
def says_the_last_accuracy(seed: int, epochs: int) -> dict[str, Any]:
    return _AccuracyOfTheLast(seed, epochs, None, None)()


@misconception(
    "train_spirals",
    tell="Your val_accuracy is the highest of all epochs. It belongs to the weights that you return: those with the "
    "lowest validation loss.",
)
def says_the_highest_accuracy(seed: int, epochs: int) -> dict[str, Any]:
    return _BestAccuracy(seed, epochs, None, None)()


@misconception(
    "train_spirals",
    tell="Every epoch takes the rows in the same order: does the loader shuffle? DataLoader(..., shuffle=True)",
)
def one_order_for_all_epochs(seed: int, epochs: int) -> dict[str, Any]:
    return _Unshuffled(seed, epochs, None, None)()


@misconception(
    "train_spirals",
    tell="You train on all rows, those for validation included. Train on the first part that split returns.",
)
def learns_from_all_rows(seed: int, epochs: int) -> dict[str, Any]:
    return _ValidatesOnTraining(seed, epochs, None, None)()


@misconception(
    "train_spirals", tell="Biases decay, too, in your training. Hand the two groups of parameter_groups to AdamW."
)
def all_parameters_decay(seed: int, epochs: int) -> dict[str, Any]:
    return _DecaysEverything(seed, epochs, None, None)()


@misconception(
    "train_spirals",
    tell="Your optimizer is Adam, which adds the decay to the gradient. AdamW takes it off the weights.",
    seen="calls('Adam')",
)
def trains_by_adam(seed: int, epochs: int) -> dict[str, Any]:
    return _Adam(seed, epochs, None, None)()


@misconception(
    "train_spirals",
    tell="Only the first group gets the learning rate of the schedule. Set it in each of optimizer.param_groups.",
    seen="first_group_only",
)
def sets_the_first_group_only(seed: int, epochs: int) -> dict[str, Any]:
    return _FirstGroupOnly(seed, epochs, None, None)()


class _RateOfTheNextEpoch(_Run):
    def rate(self, epoch: int, start: int) -> float:
        return super().rate(epoch + 1, start)


@misconception(
    "train_spirals", tell="Each epoch has the learning rate of the next one. Epochs count from 0 in warmup_cosine."
)
def rate_of_the_next_epoch(seed: int, epochs: int) -> dict[str, Any]:
    return _RateOfTheNextEpoch(seed, epochs, None, None)()


class _NewOptimizers(_Run):
    def set_rate(self, optimizer: Optimizer, rate: float) -> None:
        super().set_rate(optimizer, rate)
        optimizer.state.clear()


@misconception(
    "train_spirals",
    tell="You make the optimizer anew in each epoch, so it forgets what it has learned of the gradients. Make it once, "
    "before the loop.",
)
def a_new_optimizer_each_epoch(seed: int, epochs: int) -> dict[str, Any]:
    return _NewOptimizers(seed, epochs, None, None)()


class _FullBatchesOnly(_Run):
    def loader(self, train: Dataset) -> DataLoader:
        return DataLoader(train, self.constants.BATCH_SIZE, shuffle=True, drop_last=True)


@misconception(
    "train_spirals",
    tell="drop_last leaves the rows of the last, short batch out of the training. Each epoch takes every row.",
    seen="keyword('drop_last')",
)
def leaves_the_short_batch_out(seed: int, epochs: int) -> dict[str, Any]:
    return _FullBatchesOnly(seed, epochs, None, None)()


class _ExchangedParts(_Run):
    def split(self, dataset: Dataset) -> tuple[Dataset, Dataset]:
        return super().split(dataset)[::-1]


@misconception("train_spirals", tell="You train on the rows for validation. split returns first the part for training.")
def trains_on_the_validation_rows(seed: int, epochs: int) -> dict[str, Any]:
    return _ExchangedParts(seed, epochs, None, None)()


# ---------------------------------------------------------------- decision_grid


def _points(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    """The points row by row from the top, ``(steps, steps, 2)``."""
    xs = torch.linspace(low, high, steps, device=next(model.parameters()).device)
    y, x = torch.meshgrid(xs.flip(0), xs, indexing="ij")
    return torch.stack([x, y], dim=-1)


def _labels(model: nn.Module, points: Tensor) -> Tensor:
    from training import predict_labels

    return predict_labels(model, points.reshape(-1, 2)).reshape(points.shape[:-1])


@misconception(
    "decision_grid",
    tell="Your map is upside down: rows are counted from the top, but y grows upwards. Let the ys go from high to low.",
)
def upside_down(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    return _labels(model, _points(model, low, high, steps)).flip(0)


@misconception(
    "decision_grid",
    tell="x and y have changed places: your columns are y, and your rows x. A row is one y, a column is one x; mind "
    "the indexing of torch.meshgrid.",
)
def transposed(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    return _labels(model, _points(model, low, high, steps).transpose(0, 1))


@misconception(
    "decision_grid",
    tell="Your map is transposed, with y growing from left to right. Entry [i, j] is the point with the i-th y from "
    "the top and the j-th x from the left.",
)
def rows_are_x(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    return _labels(model, _points(model, low, high, steps)).flip(0).T.contiguous()


@misconception(
    "decision_grid", tell="Your points are (y, x): the model takes (x, y). Put x first when you join the two."
)
def y_before_x(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    return _labels(model, _points(model, low, high, steps).flip(-1))


@misconception(
    "decision_grid",
    tell="You ask the model point by point, or row by row. Make all points first, as one tensor of shape (steps * "
    "steps, 2), and call the model once.",
)
def row_by_row(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    return torch.stack([_labels(model, row) for row in _points(model, low, high, steps)])


@misconception(
    "decision_grid",
    tell="You ask the model point by point. Make all points first, as one tensor of shape (steps * steps, 2), and "
    "call the model once.",
)
def point_by_point(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    points = _points(model, low, high, steps).reshape(-1, 1, 2)
    return torch.stack([_labels(model, point)[0] for point in points]).reshape(steps, steps)


@misconception(
    "decision_grid",
    tell="The last point is not high: both ends belong to the grid. torch.linspace includes them, torch.arange does "
    "not.",
    seen="calls('arange')",
)
def without_the_end(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    xs = low + (high - low) * torch.arange(steps, device=next(model.parameters()).device) / steps
    y, x = torch.meshgrid(xs.flip(0), xs, indexing="ij")
    return _labels(model, torch.stack([x, y], dim=-1))


@misconception(
    "decision_grid",
    tell="The model runs in training mode: dropout makes holes in the map. Switch it to eval mode, and back "
    "afterwards.",
    seen="no_eval",
)
def in_training_mode(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    with torch.no_grad():
        return model(_points(model, low, high, steps).reshape(-1, 2)).argmax(dim=1).reshape(steps, steps)


@misconception(
    "decision_grid",
    tell="You leave the model in eval mode. Put every module's training flag back.",
    seen="stays_in_eval",
)
def stays_in_eval_mode(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    model.eval()
    with torch.no_grad():
        return model(_points(model, low, high, steps).reshape(-1, 2)).argmax(dim=1).reshape(steps, steps)


@misconception(
    "decision_grid",
    tell="Afterwards the whole model is in training mode, parts that were in eval mode, too. Note the flag of each of "
    "model.modules(), and put each one back.",
    seen="always_back_to_train",
)
def all_in_training_mode_afterwards(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    try:
        return stays_in_eval_mode(model, low, high, steps)
    finally:
        model.train()


@misconception(
    "decision_grid",
    tell="Your points are made on the CPU, where a model on a GPU cannot see them. Make them on the device of the "
    "model's parameters.",
)
def points_on_the_cpu(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    xs = torch.linspace(low, high, steps)
    y, x = torch.meshgrid(xs.flip(0), xs, indexing="ij")
    return _labels(model, torch.stack([x, y], dim=-1))


@misconception(
    "decision_grid", tell="You move the result to the CPU. It stays on the model's device.", seen="calls('cpu')"
)
def result_on_the_cpu(model: nn.Module, low: float, high: float, steps: int) -> Tensor:
    return _labels(model, _points(model, low, high, steps)).cpu()


# ---------------------------------------------------------------- run_on_ranks


class _OnRanks:
    """A right run on ranks, in parts; a wrong answer has another part."""

    def __init__(self, rank: int, world_size: int, seed: int, epochs: int) -> None:
        import spirals

        self.constants: Any = spirals
        self.rank, self.world_size, self.seed, self.epochs = rank, world_size, seed, epochs

    def __call__(self) -> dict[str, Any]:
        train, val = self.split()
        loader = self.loader(train)
        net = self.wrap(self.constants.SpiralNet(self.constants.HIDDEN, self.constants.DEPTH))
        optimizer = self.optimizer(net)
        for epoch in range(self.epochs):
            for group in optimizer.param_groups:
                group["lr"] = self.rate(epoch)
            self.begin(loader, epoch)
            self.epoch(net, loader, optimizer)
        return {"weights": self.weights(net), "val_accuracy": self.accuracy(getattr(net, "module", net), val)}

    def split(self) -> tuple[Dataset, Dataset]:
        from datasets import split

        own = self.constants
        data = TensorDataset(*own.make_spirals(own.N_PER_CLASS, own.NOISE, self.seed))
        return split(data, own.VAL_FRACTION, self.seed)

    def loader(self, train: Dataset) -> DataLoader:
        from ddp import sharded_loader

        return sharded_loader(
            train, self.constants.BATCH_SIZE // self.world_size, self.rank, self.world_size, self.seed
        )

    def wrap(self, model: nn.Module) -> nn.Module:
        from ddp import wrap

        return wrap(model, torch.device("cpu"))

    def optimizer(self, net: nn.Module) -> Optimizer:
        from training import parameter_groups

        return torch.optim.AdamW(parameter_groups(net, self.constants.WEIGHT_DECAY))

    def rate(self, epoch: int) -> float:
        from training import warmup_cosine

        own = self.constants
        return warmup_cosine(epoch, own.WARMUP, self.epochs, own.PEAK, own.FLOOR)

    def begin(self, loader: DataLoader, epoch: int) -> None:
        loader.sampler.set_epoch(epoch)

    def epoch(self, net: nn.Module, loader: DataLoader, optimizer: Optimizer) -> None:
        from training import train_epoch

        train_epoch(net, loader, optimizer)

    def weights(self, net: Any) -> dict[str, Tensor]:
        from checkpoints import snapshot

        return snapshot(getattr(net, "module", net))

    def accuracy(self, model: nn.Module, val: Dataset) -> float:
        from ddp import global_accuracy

        share = Subset(val, range(self.rank, len(val), self.world_size))
        return global_accuracy(model, DataLoader(share, self.constants.BATCH_SIZE))


class _AllRowsOnEachRank(_OnRanks):
    def loader(self, train: Dataset) -> DataLoader:
        batch_size = self.constants.BATCH_SIZE // self.world_size
        return DataLoader(train, batch_size, shuffle=True, generator=torch.Generator().manual_seed(self.seed))

    def begin(self, loader: DataLoader, epoch: int) -> None:
        pass


@misconception(
    "run_on_ranks",
    tell="Every rank trains on all rows, so all do the same work. Each rank gets its share by sharded_loader.",
)
def all_rows_on_each_rank(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    return _AllRowsOnEachRank(rank, world_size, seed, epochs)()


class _WholeBatches(_OnRanks):
    def loader(self, train: Dataset) -> DataLoader:
        from ddp import sharded_loader

        return sharded_loader(train, self.constants.BATCH_SIZE, self.rank, self.world_size, self.seed)


@misconception(
    "run_on_ranks",
    tell="Each rank takes BATCH_SIZE rows in a step, so all together take too many, in too few steps. A rank's part "
    "is BATCH_SIZE // world_size.",
)
def whole_batches_on_each_rank(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    return _WholeBatches(rank, world_size, seed, epochs)()


class _SeedOfItsOwn(_OnRanks):
    def loader(self, train: Dataset) -> DataLoader:
        from ddp import sharded_loader

        return sharded_loader(train, self.constants.BATCH_SIZE // self.world_size, self.rank, self.world_size, 0)


@misconception(
    "run_on_ranks",
    tell="The rows are shuffled in the same way for every seed: is the seed passed on to sharded_loader?",
)
def shuffles_by_a_fixed_seed(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    return _SeedOfItsOwn(rank, world_size, seed, epochs)()


class _NoSetEpoch(_OnRanks):
    def begin(self, loader: DataLoader, epoch: int) -> None:
        pass


@misconception(
    "run_on_ranks",
    tell="Every epoch takes the rows in the same order: does loader.sampler.set_epoch get another number "
    "each time, before each epoch?",
)
def never_sets_the_epoch(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    return _NoSetEpoch(rank, world_size, seed, epochs)()


class _Apart(_OnRanks):
    def wrap(self, model: nn.Module) -> nn.Module:
        return model


@misconception(
    "run_on_ranks",
    tell="No gradient is averaged, so each rank ends with weights of its own. Wrap the network, and train the wrapped "
    "one, not the module inside it.",
)
def ranks_train_apart(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    return _Apart(rank, world_size, seed, epochs)()


class _SeedOfTheRank(_OnRanks):
    def split(self) -> tuple[Dataset, Dataset]:
        self.seed += self.rank
        return super().split()


@misconception(
    "run_on_ranks",
    tell="Each rank has a seed of its own, and so other data and another split. All ranks use the same seed; "
    "sharded_loader gives each its part.",
)
def a_seed_for_each_rank(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    return _SeedOfTheRank(rank, world_size, seed, epochs)()


class _NamesOfTheWrapper(_OnRanks):
    def weights(self, net: Any) -> dict[str, Tensor]:
        from checkpoints import snapshot

        return snapshot(net)


@misconception(
    "run_on_ranks",
    tell="The names of your weights begin with `module.`: they are those of the wrapped network. Take a snapshot of "
    "net.module.",
)
def names_of_the_wrapper(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    return _NamesOfTheWrapper(rank, world_size, seed, epochs)()


class _AccuracyOfItsShare(_OnRanks):
    def accuracy(self, model: nn.Module, val: Dataset) -> float:
        from training import evaluate

        share = Subset(val, range(self.rank, len(val), self.world_size))
        return evaluate(model, DataLoader(share, self.constants.BATCH_SIZE))[1]


@misconception(
    "run_on_ranks",
    tell="Each rank returns the accuracy of its own validation rows. global_accuracy counts the rows of all ranks.",
)
def accuracy_of_its_share(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    return _AccuracyOfItsShare(rank, world_size, seed, epochs)()


class _RemainderLeftOut(_OnRanks):
    def accuracy(self, model: nn.Module, val: Dataset) -> float:
        from ddp import global_accuracy, sharded_loader

        loader = sharded_loader(val, self.constants.BATCH_SIZE, self.rank, self.world_size, self.seed)
        return global_accuracy(model, loader)


@misconception(
    "run_on_ranks",
    tell="sharded_loader drops the rows that the ranks cannot share equally, so some validation rows are never "
    "measured. Every row counts: Subset(val, range(rank, len(val), world_size)).",
)
def validation_rows_dropped(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    return _RemainderLeftOut(rank, world_size, seed, epochs)()


class _LeavesTheGroup(_OnRanks):
    def __call__(self) -> dict[str, Any]:
        found = super().__call__()
        dist.destroy_process_group()
        return found


@misconception(
    "run_on_ranks",
    tell="You leave the process group. Whoever set it up does that: it is still there afterwards.",
    seen="calls('destroy_process_group', 'ddp_cleanup')",
)
def leaves_the_group(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    return _LeavesTheGroup(rank, world_size, seed, epochs)()


class _ScaledRate(_OnRanks):
    def rate(self, epoch: int) -> float:
        return super().rate(epoch) * self.world_size


@misconception(
    "run_on_ranks",
    tell="You multiply the learning rate by the number of ranks. All ranks together take BATCH_SIZE rows, as one "
    "process does, so the rate stays as it is.",
)
def rate_times_ranks(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    return _ScaledRate(rank, world_size, seed, epochs)()


# ---------------------------------------------------------------- report


def _lines(best: int, count: int, loss: float, accuracy: float, improving: bool) -> str:
    return (
        f"best epoch: {best} of {count}\n"
        f"validation: loss {loss:.4f}, accuracy {accuracy:.4f}\n"
        f"still improving: {'yes' if improving else 'no'}"
    )


@misconception("report", tell="You count epochs from 0. People count from 1.")
def counts_from_zero(history: dict[str, Any]) -> str:
    losses = history["val_losses"]
    best = losses.index(min(losses))
    return _lines(best, len(losses), losses[best], history["val_accuracy"], best == len(losses) - 1)


@misconception("report", tell="Your best epoch is the one with the lowest training loss. The validation loss decides.")
def best_of_training(history: dict[str, Any]) -> str:
    losses = history["val_losses"]
    best = history["train_losses"].index(min(history["train_losses"]))
    return _lines(best + 1, len(losses), losses[best], history["val_accuracy"], best == len(losses) - 1)


@misconception(
    "report", tell="If several epochs have the lowest loss, you name the last of them. The first one counts."
)
def last_of_equals(history: dict[str, Any]) -> str:
    losses = history["val_losses"]
    best = max(index for index, loss in enumerate(losses) if loss == min(losses))
    return _lines(best + 1, len(losses), losses[best], history["val_accuracy"], best == len(losses) - 1)


@misconception("report", tell="You report the loss of the last epoch. It is that of the best one.")
def loss_of_the_last(history: dict[str, Any]) -> str:
    losses = history["val_losses"]
    best = losses.index(min(losses))
    return _lines(best + 1, len(losses), losses[-1], history["val_accuracy"], best == len(losses) - 1)


@misconception(
    "report",
    tell="You compare the last loss with the one before it. Training is still improving if the best epoch is the last.",
)
def compares_the_last_two(history: dict[str, Any]) -> str:
    losses = history["val_losses"]
    best = losses.index(min(losses))
    improving = len(losses) < 2 or losses[-1] < losses[-2]
    return _lines(best + 1, len(losses), losses[best], history["val_accuracy"], improving)


@misconception("report", tell="The accuracy is in percent. Write the fraction, with 4 decimals.")
def accuracy_in_percent(history: dict[str, Any]) -> str:
    losses = history["val_losses"]
    best = losses.index(min(losses))
    return _lines(best + 1, len(losses), losses[best], 100 * history["val_accuracy"], best == len(losses) - 1)


@misconception(
    "report",
    tell="round(x, 4) leaves zeros out: 0.25 stays 0.25. Format with :.4f, which writes 0.2500.",
    seen="calls('round')",
)
def rounds_for_formats(history: dict[str, Any]) -> str:
    losses = history["val_losses"]
    best = losses.index(min(losses))
    return (
        f"best epoch: {best + 1} of {len(losses)}\n"
        f"validation: loss {round(losses[best], 4)}, accuracy {round(history['val_accuracy'], 4)}\n"
        f"still improving: {'yes' if best == len(losses) - 1 else 'no'}"
    )


@misconception(
    "report", tell="You print the three lines and return nothing. Return them as one string.", seen="calls('print')"
)
def prints_it(history: dict[str, Any]) -> None:
    losses = history["val_losses"]
    best = losses.index(min(losses))
    print(_lines(best + 1, len(losses), losses[best], history["val_accuracy"], best == len(losses) - 1))
