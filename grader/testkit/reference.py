"""Reference trajectories: the results of right training, worked out by the judge.

Runs in the judge alone, as these are expected answers: never in a process that runs submitted code, so never in a kit.
A check passes on models, loaders and optimizers that its recipes made locally.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import Optimizer

from grader.testkit import probes

Batches = Iterable[Any]
"""Pairs of features and labels, as a loader yields them."""


@contextmanager
def global_stream(seed: int) -> Iterator[None]:
    """Torch's global CPU generator at the place to which `probes.start_global` puts it; afterwards it is as before."""
    with torch.random.fork_rng(devices=[]):
        probes.start_global(seed)
        yield


def train(model: nn.Module, batches: Batches, optimizer: Optimizer) -> tuple[list[float], list[int]]:
    """One pass of training in training mode.

    Returns:
        The loss of each batch before its step, and how many examples each batch has.
    """
    model.train()
    losses, counts = [], []
    for features, labels in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features), labels)
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
        counts.append(len(labels))
    return losses, counts


def per_example(losses: Sequence[float], counts: Sequence[int]) -> float:
    """The mean over all examples of batches with these mean losses."""
    return sum(loss * count for loss, count in zip(losses, counts, strict=True)) / sum(counts)


def measure(model: nn.Module, batches: Batches) -> tuple[float, float]:
    """Mean loss per example, and the fraction right, in eval mode (in which the model stays)."""
    model.eval()
    with torch.no_grad():
        logits, labels = zip(*((model(features), labels) for features, labels in batches), strict=True)
    every, targets = torch.cat(logits), torch.cat(labels)
    loss = F.cross_entropy(every.double(), targets).item()
    return loss, int((every.argmax(1) == targets).sum()) / len(targets)
