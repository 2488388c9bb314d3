"""Tools for the checks of layers: generators, and optimizers that are watched for many steps.

Runs in the student process. A check also runs it here, with torch's own optimizer. Must never hold an expected answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

import torch
from torch import Tensor

from grader.testkit import probes, recipes
from kit import autograd

_set_profile: Final = sys.setprofile
_OPTIMIZERS: Final = PurePath(torch.optim.__file__).parent
_FOR_ALL: Final = ("__init__", "optimizer", "lr_scheduler", "swa_utils")
"""Files of torch.optim that belong to no optimizer."""


def generator(seed: int) -> torch.Generator:
    """A generator of random numbers at the beginning of the stream of a seed."""
    return torch.Generator().manual_seed(seed)


class _Run:
    """Parameters in float64, and the gradients of each step.

    Args:
        plan: for each step, which parameters have a gradient.
        scale: of the gradients.
        clears: whether ``zero_grad()`` comes after each step.
    """

    def __init__(
        self,
        shapes: Sequence[Sequence[int]],
        plan: Sequence[Sequence[bool]],
        seed: int,
        scale: float = 1.0,
        clears: bool = False,
    ) -> None:
        self.params = autograd.leaves(shapes, [False] * len(shapes), seed, torch.float64)
        self._tensors = autograd.originals(self.params)
        self._plan, self._seed, self._scale, self._clears = plan, seed, scale, clears

    def steps(self, optimizer: Any) -> list[list[Tensor]]:
        """The numbers of the parameters after each step of an optimizer."""
        return [self.step(optimizer, index) for index in range(len(self._plan))]

    def step(self, optimizer: Any, index: int) -> list[Tensor]:
        """The numbers of the parameters after the step with this index."""
        for place, (param, has_grad) in enumerate(zip(self._tensors, self._plan[index], strict=True)):
            grad = self._scale * recipes.normal(param.shape, self._seed + 10 * index + place, torch.float64)
            param.grad = grad if has_grad else None
        optimizer.step()
        if self._clears:
            optimizer.zero_grad()
        return [probes.copied(param) for param in self._tensors]


def after_each_step(
    make: Callable[..., Any],
    shapes: Sequence[Sequence[int]],
    plan: Sequence[Sequence[bool]],
    seed: int,
    settings: Mapping[str, Any],
    scale: float = 1.0,
    clears: bool = False,
) -> list[list[Tensor]]:
    """The parameters after each step of ``make(params, **settings)``; see `_Run`."""
    run = _Run(shapes, plan, seed, scale, clears)
    return run.steps(make(run.params, **settings))


def in_turns(
    make: Callable[..., Any], shapes: Sequence[Sequence[int]], plan: Sequence[Sequence[bool]], seed: int
) -> list[list[Tensor]]:
    """The parameters of two optimizers, which take their steps in turns, after each step."""
    runs = [_Run(shapes, plan, seed + 1000 * index) for index in range(2)]
    optimizers = [make(run.params, lr=0.1 * (index + 1)) for index, run in enumerate(runs)]
    return [run.step(one, index) for index in range(len(plan)) for run, one in zip(runs, optimizers, strict=True)]


def ready_made(
    make: Callable[..., Any], shapes: Sequence[Sequence[int]], plan: Sequence[Sequence[bool]], seed: int
) -> tuple[list[list[Tensor]], list[str]]:
    """The same as `after_each_step`, and the optimizers of torch whose code ran for it."""
    names: set[str] = set()

    def see(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            file = PurePath(frame.f_code.co_filename)
            if file.parent == _OPTIMIZERS and file.stem not in _FOR_ALL:
                names.add(file.stem.removeprefix("_"))
        elif event == "c_call" and "adam" in getattr(argument, "__name__", ""):
            names.add(argument.__name__.strip("_"))

    before = sys.getprofile()
    _set_profile(see)
    try:
        found = after_each_step(make, shapes, plan, seed, {"lr": 0.1})
    finally:
        _set_profile(before)
    return found, sorted(names)


def cleared(optimizer: Any, leaves: autograd.Leaves) -> list[bool]:
    """Whether nothing is left of each gradient after ``zero_grad()``: it is None, or all zeros."""
    optimizer.zero_grad()
    found = autograd.grads(autograd.originals(leaves))
    return [grad is None or not bool(grad.any()) for grad in found]
