"""Tools for the checks of spirals: settings of a run, notes of how it trains, and ways to stop it.

Runs in the student process, and locally when a check works out the expected value. Must never hold an expected answer,
or import anything but torch, the standard library, the testkit and, in the functions, the student's own modules.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.testkit import probes, recipes
from kit import files, restoring

Settings = Mapping[str, Any]
"""Constants of the student's module by name."""

# ---------------------------------------------------------------- settings, and notes of the training

_batches: list[list[Tensor]] = []
"""Features and labels of each batch that a `SpiralNet` was trained on since the notes began."""


@contextmanager
def _set(settings: Settings) -> Iterator[None]:
    module = vars(sys.modules["spirals"])
    at_first = {name: module.get(name) for name in settings}
    module.update(settings)
    try:
        yield
    finally:
        module.update(at_first)


def _note(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
    """Notes a batch when a gradient comes back to its logits: only that of the true class is negative."""
    if isinstance(module, sys.modules["spirals"].SpiralNet) and isinstance(output, Tensor) and output.requires_grad:
        features = probes.copied(next(iter([*args, *kwargs.values()])))
        output.register_hook(lambda grad: _batches.append([features, grad.argmin(dim=1)]))


@contextmanager
def _noted() -> Iterator[None]:
    _batches.clear()
    hook = nn.modules.module.register_module_forward_hook(_note, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


def with_settings(function: Callable[..., Any], settings: Settings, *args: Any, **kwargs: Any) -> Any:
    """The result of ``function(*args, **kwargs)`` while the student's module has these settings."""
    with _set(settings):
        return function(*args, **kwargs)


def with_new_files(function: Callable[..., Any], settings: Settings, *args: Any) -> tuple[Any, list[str]]:
    """The same, and the names of files in the current folder that were written; those of `tempfile` do not count."""
    before = _written()
    found = with_settings(function, settings, *args)
    return found, sorted(name for name, _ in _written() - before if not name.startswith("tmp"))


def _written() -> set[tuple[str, int]]:
    """The files in the current folder, and when each was written to."""
    return {(one.name, one.stat().st_mtime_ns) for one in os.scandir() if one.is_file()}


def noted(function: Callable[..., Any], settings: Settings, *args: Any, **kwargs: Any) -> list[Any]:
    """The same, and features and labels of each batch that was trained on."""
    with _set(settings), _noted():
        return [function(*args, **kwargs), list(_batches)]


def begin(settings: Settings) -> None:
    """From now on this rank has these settings and notes the batches."""
    vars(sys.modules["spirals"]).update(settings)
    _batches.clear()
    nn.modules.module.register_module_forward_hook(_note, with_kwargs=True)


def trained() -> list[Any]:
    """Features and labels of each batch that this rank was trained on, and whether it is in a process group."""
    return [list(_batches), probes.has_group()]


_losses: list[float] = []
"""The loss of each batch that a `SpiralNet` was trained on since these notes began."""


def _note_loss(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
    """Notes the mean loss of a batch when a gradient comes back to its logits, as `_note` does."""
    if isinstance(module, sys.modules["spirals"].SpiralNet) and isinstance(output, Tensor) and output.requires_grad:
        logits = output.detach()
        output.register_hook(lambda grad: _losses.append(F.cross_entropy(logits, grad.argmin(dim=1)).item()))


def begin_losses(settings: Settings) -> None:
    """From now on this process has these settings and notes the loss of each batch."""
    vars(sys.modules["spirals"]).update(settings)
    _losses.clear()
    nn.modules.module.register_module_forward_hook(_note_loss, with_kwargs=True)


def losses() -> list[float]:
    """The loss of each batch that this process was trained on."""
    return list(_losses)


def training_rows(count: int, fraction: float, seed: int) -> list[int]:
    """Which of ``count`` rows the student's `split` leaves for training."""
    from datasets import split  # type: ignore[import-not-found]

    return list(split(range(count), fraction, seed)[0])


# ---------------------------------------------------------------- networks


def new_net(net: Callable[..., Any], hidden: int, depth: int, x: Tensor) -> dict[str, Any]:
    """A new network: the ``names`` of its state; weights and biases of its linear ``layers``, in order; its ``logits``
    for these points, and the ``slopes`` of their sum."""
    made = net(hidden, depth)
    leaf = probes.copied(x).requires_grad_(True)
    logits = made(leaf)
    (slopes,) = torch.autograd.grad(logits.sum(), [leaf])
    layers = (part for part in made.modules() if isinstance(part, nn.Linear))
    return {
        "names": list(probes.state(made)),
        "layers": [[probes.copied(layer.weight), probes.copied(layer.bias)] for layer in layers],
        "logits": logits.detach(),
        "slopes": slopes,
    }


def initialized_again(net: Callable[..., Any], hidden: int, depth: int) -> list[dict[str, Tensor]]:
    """The state of a new network, and of another one after the student's `init_weights` with a generator of seed 0."""
    from training import init_weights  # type: ignore[import-not-found]

    one, other = net(hidden, depth), net(hidden, depth)
    with torch.no_grad():
        for param in other.parameters():
            param.fill_(0.5)
    init_weights(other, torch.Generator().manual_seed(0))
    return [probes.state(one), probes.state(other)]


def after_another(net: Callable[..., Any], hidden: int, depth: int) -> list[dict[str, Tensor]]:
    """The states of two new networks: other numbers were drawn, and the first one was changed, before the second."""
    one = net(hidden, depth)
    first = probes.state(one)
    with torch.no_grad():
        for param in one.parameters():
            param.add_(1)
    torch.rand(5)
    return [first, probes.state(net(hidden, depth))]


def drawn_after(net: Callable[..., Any], hidden: int, depth: int) -> list[Tensor]:
    """What torch's global generator gives after a new network, for two seeds of that generator."""
    drawn = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        net(hidden, depth)
        drawn.append(torch.rand(5))
    return drawn


# ---------------------------------------------------------------- runs that stop


def move(place: str, other: str) -> None:
    """Moves all files of a place to another one, which is emptied first; used beside the submission."""
    files.empty(other)
    one, two = (os.path.dirname(files.path(folder, "")) for folder in (place, other))
    for name in os.listdir(one):
        shutil.move(os.path.join(one, name), two)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, as a check presses it."""


class DiskFull(OSError):
    """The disk is full, as a check fills it."""


def interrupted(step: int, function: Callable[..., Any], settings: Settings, *args: Any, **kwargs: Any) -> bool:
    """Calls it, and interrupts it before that step of an optimizer (from 0); whether that has happened."""
    steps = 0

    def stop(*_: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == step + 1:
            raise Interrupted

    hook = register_optimizer_step_pre_hook(stop)
    try:
        with_settings(function, settings, *args, **kwargs)
    except Interrupted:
        pass
    finally:
        hook.remove()
    return steps > step


def full_disk(save: int, function: Callable[..., Any], settings: Settings, *args: Any, **kwargs: Any) -> bool:
    """Calls it, and lets that call of ``torch.save`` (from 0) fail half-way; whether that has happened."""
    patched: Any = torch
    real, calls = patched.save, 0

    def saving(obj: Any, f: Any, *others: Any, **options: Any) -> None:
        nonlocal calls
        calls += 1
        if calls != save + 1:
            real(obj, f, *others, **options)
            return
        if isinstance(f, str | os.PathLike):
            with open(f, "wb") as file:
                file.write(b"half of a fi")
        raise DiskFull(errno.ENOSPC, "No space left on device")

    patched.save = saving
    try:
        with_settings(function, settings, *args, **kwargs)
    except DiskFull:
        pass
    finally:
        patched.save = real
    return calls > save


def next_epoch(net: Callable[..., Any], hidden: int, depth: int, path: str) -> int:
    """The number that the student's `resume` returns for the file at a path; -1 if it is no checkpoint of the run."""
    from checkpoints import resume  # type: ignore[import-not-found]
    from training import parameter_groups

    model = net(hidden, depth)
    try:
        return int(resume(model, torch.optim.AdamW(parameter_groups(model, 0.1)), path))
    except Exception:
        return -1


# ---------------------------------------------------------------- decisions


def planar(seed: int) -> nn.Sequential:
    """Three logits of ``(n, 2)``, and a dropout that moves them in training mode."""
    return nn.Sequential(*recipes.mlp((2, 8, 3), seed, dropout=0.5), nn.Identity())


def side(weight: list[float]) -> nn.Module:
    """Class 1 where ``weight · (x, y)`` is positive, otherwise class 0."""
    model = nn.Linear(2, 2, bias=False)
    model.load_state_dict({"weight": torch.tensor([[0.0, 0.0], weight])})
    return model


_sizes: list[list[int]] = []
"""The shape of the input of each forward of a `_Counting` model, copies included."""
_recorded: list[bool] = []
"""Whether gradients were recorded in each of these forwards."""


class _Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        _sizes.append(list(x.shape))
        _recorded.append(torch.is_grad_enabled())
        return self.layer(x)  # type: ignore[no-any-return]


def forwards(decision_grid: Callable[..., Any], *args: Any) -> tuple[list[list[int]], list[bool]]:
    """The shape of the input of each forward, and whether gradients were recorded in it."""
    with recipes.seeded(0):
        model = _Counting()
    _sizes.clear()
    _recorded.clear()
    decision_grid(model, *args)
    return list(_sizes), list(_recorded)


class _Lifted(nn.Module):
    """A model of `restoring.nested` behind a layer that makes points of the plane wide enough for it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.model(torch.cat([x, x], dim=1))  # type: ignore[no-any-return]


def grid_after(decision_grid: Callable[..., Any], recording: bool) -> dict[str, Any]:
    """Everything that ``decision_grid`` may have left changed: see `restoring.after`."""
    return restoring.after(lambda model: decision_grid(_Lifted(model), -1.0, 1.0, 3), recording)


def on_device(model: nn.Module, device: str) -> nn.Module:
    """The model, moved."""
    return model.to(device)


def decisions_of_a_run(
    run: Callable[..., Any],
    net: Callable[..., Any],
    decision_grid: Callable[..., Any],
    settings: Settings,
    edge: float,
    steps: int,
) -> Tensor:
    """The decision grid, from ``-edge`` to ``edge``, of the best weights of a run."""
    with _set(settings):
        model = net(settings["HIDDEN"], settings["DEPTH"])
        model.load_state_dict(run(0, 20)["weights"])
        return decision_grid(model, -edge, edge, steps)  # type: ignore[no-any-return]
