"""Tools for the checks of parameters: functions that use torch's global generator, models of drawn structure, layers.

Runs in the student process, and locally when a check works out the expected value. Must never hold an expected answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn

from grader.testkit import probes, recipes


def build_linear() -> nn.Module:
    """A Linear whose numbers come from torch's global generator (use under a seed)."""
    return nn.Linear(recipes.FEATURES, recipes.CLASSES)


def _build_and_fail() -> nn.Module:
    nn.Linear(recipes.FEATURES, recipes.CLASSES)
    raise KeyError("this cannot be built")


_generator_state: Final = torch.default_generator.get_state


def after_an_error(seeded: Callable[..., Any]) -> tuple[bool, Tensor, Tensor]:
    """Whether the error of a ``build()`` comes through, and the state of torch's generator before and after."""
    state, raised = _generator_state(), False
    try:
        seeded(_build_and_fail, 5)
    except KeyError:
        raised = True
    return raised, state, _generator_state()


def partly_frozen(name: str) -> nn.Module:
    """The model with confusing names and gradients, one of its parameters frozen."""
    model = recipes.with_stale_grads(recipes.model("names", 1))
    model.get_parameter(name).requires_grad_(False)
    return model


def build_mlp() -> nn.Module:
    """Two Linear layers from torch's global generator (use under a seed)."""
    return nn.Sequential(nn.Linear(recipes.FEATURES, 5), nn.ReLU(), nn.Linear(5, recipes.CLASSES))


def draw_numbers() -> Tensor:
    """Five numbers, the next ones of torch's global generator (use under a seed)."""
    return torch.randn(5)


def on_meta(kind: str) -> nn.Module:
    """The model of that kind on the meta device: shapes and sharing, but no numbers."""
    with torch.device("meta"):
        return recipes.model(kind)


def layer_kinds(layers: Sequence[nn.Module]) -> list[str]:
    """For each layer ``"Linear(4, 3)"`` (``"Linear(4, 3, no bias)"``), or its class name."""
    return [
        f"Linear({layer.in_features}, {layer.out_features}{'' if layer.bias is not None else ', no bias'})"
        if isinstance(layer, nn.Linear)
        else next((base.__name__ for base in type(layer).__mro__ if base.__module__.startswith("torch.nn.")), "other")
        for layer in layers
    ]


# ---------------------------------------------------------------- models of drawn structure

NAMES: Final = ("a", "ab", "a_b", "b", "layers", "layers1", "layers10", "layers_1", "head", "1", "10")
"""Names of modules: some begin with, or contain, others. Beside ``a.b`` there is ``a_b``."""
_LAYERS: Final[tuple[Callable[[random.Random], nn.Module], ...]] = (
    lambda draw: nn.Linear(draw.randint(1, 5), draw.randint(1, 5), bias=draw.random() < 0.5),
    lambda draw: nn.Linear(draw.randint(1, 5), draw.randint(1, 5), dtype=torch.float64),
    lambda draw: nn.Conv1d(draw.randint(1, 3), draw.randint(1, 3), draw.randint(1, 3)),
    lambda draw: nn.Embedding(draw.randint(1, 6), draw.randint(1, 3), dtype=torch.bfloat16),
    lambda draw: nn.BatchNorm1d(draw.randint(1, 4)),
    lambda draw: nn.LayerNorm(draw.randint(1, 4), dtype=torch.float16),
    lambda draw: nn.ReLU(),
)
_BUFFERS: Final = (torch.bool, torch.int8, torch.int64, torch.float64, torch.complex64)


def nested(seed: int, *, frozen: bool = False, shared: bool = False) -> nn.Module:
    """A module of modules of which the seed says all: names, depth, layers, dtypes, buffers.

    Args:
        frozen: whether some parameters are frozen.
        shared: whether a parameter and a buffer are registered in a second place, too.
    """
    draw = random.Random(seed)
    with recipes.seeded(seed):
        made = _container(draw, depth=2)
    parts = list(made.modules())
    if shared:
        draw.choice(parts).register_parameter("again", draw.choice(list(made.parameters())))
        draw.choice(parts).register_buffer("once_more", draw.choice(list(made.buffers())))
    for param in made.parameters():
        param.requires_grad_(not frozen or draw.random() < 0.5)
    return recipes.with_stale_grads(made, seed) if shared else made


def named(kind: str, seed: int) -> nn.Module:
    """The model of that kind, or for "nested" the one of drawn structure."""
    return nested(seed) if kind == "nested" else recipes.model(kind, seed)


def _container(draw: random.Random, depth: int) -> nn.Module:
    made = nn.Module()
    made.register_parameter("scale", nn.Parameter(torch.randn(draw.choice([(), (2,), (3, 1)]))))
    buffer = torch.ones(draw.randint(1, 5), dtype=draw.choice(_BUFFERS))
    made.register_buffer("mask", buffer, persistent=draw.random() < 0.5)
    for count, name in enumerate(draw.sample(NAMES, 3)):
        if depth > count or (depth > 0 and draw.random() < 0.3):
            inner = _container(draw, depth - 1)
            made.add_module(name, inner)
            made.add_module(f"{name}_{next(iter(inner._modules))}", nn.Linear(1, 2))
        else:
            made.add_module(name, draw.choice(_LAYERS)(draw))
    return made


# ---------------------------------------------------------------- probes


def with_weights(model: nn.Module, weights: Sequence[Tensor], x: Tensor, weight: Tensor) -> tuple[int, Any, Any, Any]:
    """How many parameters a model has; and once they hold these numbers, if there are as many: its output for ``x``,
    the outputs of its ``layers`` (each for the output before it, at the end all together for ``x``), gradients.

    Args:
        weight: the output is weighed by it and summed; that is differentiated.
    """
    params = list(probes.parameters(model).values())
    if len(params) != len(weights):
        return len(params), None, None, None
    with torch.no_grad():
        for param, value in zip(params, weights, strict=True):
            param.copy_(value)
        layers, outputs = model.layers, [x]
        for layer in layers:  # type: ignore[union-attr]
            outputs.append(layer(outputs[-1].clone()))  # a copy: a ReLU may work in place
        outputs.append(layers(x))  # type: ignore[operator]
    out = model(x)
    if out.requires_grad:
        (out * weight).sum().backward()
    return len(params), out.detach().clone(), outputs[1:], list(probes.model_grads(model).values())


def gradients_by_name(model: nn.Module, seed: int) -> dict[str, Tensor | None]:
    """The ``.grad`` of each parameter after ``backward()`` from the sum of all, weighed by normal numbers."""
    total = torch.zeros((), dtype=torch.float64)
    for index, param in enumerate(probes.parameters(model).values()):
        total = total + (probes.exact(param) * recipes.normal(param.shape, seed + index, param.dtype)).sum()
    if total.requires_grad:
        total.backward()  # type: ignore[no-untyped-call]
    return probes.model_grads(model)


def count_and_sizes(count: Callable[..., Any], sizes: list[int], bias: bool) -> tuple[Any, list[int]]:
    """The result of ``count(sizes, bias=bias)``, and the list afterwards."""
    sizes = list(sizes)
    return count(sizes, bias=bias), sizes


def start_python(seed: int) -> None:
    """Starts the global generator of Python's `random`."""
    random.seed(seed)


def draw_from_python() -> list[float]:
    """The next numbers of the global generator of Python's `random`."""
    return [random.random() for _ in range(3)]


def change(model: nn.Module) -> None:
    """Adds 1 to all numbers of all parameters."""
    with torch.no_grad():
        for param in probes.parameters(model).values():
            param.add_(1.0)
