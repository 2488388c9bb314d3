"""torch's transforms of a function of the submission, such as `torch.func.grad`: they are made over there.

Here they would call it with tensors that have no numbers to be sent. `torch.autograd.grad` with respect to the
submission's tensors asks for gradients over there, too.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import torch

from grader.suites.bridge import running
from grader.suites.deferred import Deferred
from grader.suites.graphs import ALWAYS, added
from grader.suites.proxies import Used

_grad: Final[Callable[..., Any]] = torch.autograd.grad
_TRANSFORMS: Final = {
    torch: ("vmap",),
    torch.func: ("grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap"),
    torch.jit: ("script", "trace"),
    torch.fx: ("symbolic_trace",),
    torch.nn.utils: ("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"),
    torch.nn.utils.parametrizations: ("orthogonal", "spectral_norm", "weight_norm"),
    torch.nn.utils.parametrize: ("register_parametrization", "remove_parametrizations"),
    inspect: ("getsource", "getsourcelines"),
}


@contextlib.contextmanager
def transformed_over_there() -> Iterator[None]:
    """A suite that is imported meanwhile has transforms that know the submission's functions."""
    with pytest.MonkeyPatch.context() as patch:
        for home, names in _TRANSFORMS.items():
            for name in names:
                patch.setattr(home, name, _knowing(getattr(home, name), Deferred(home.__name__, (name,))))
        patch.setattr(torch.autograd, "grad", _grad_of_theirs)
        yield


def _knowing(transform: Callable[..., Any], over_there: Deferred) -> Callable[..., Any]:
    @functools.wraps(transform)
    def transformed(function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if running and issubclass(type(function), Used):
            return running[-1].run("call", over_there, function, *args, **kwargs)
        return transform(function, *args, **kwargs)

    return transformed


@functools.wraps(torch.autograd.grad)
def _grad_of_theirs(outputs: Any, inputs: Any, *args: Any, allow_unused: bool | None = None, **settings: Any) -> Any:
    """In the place of `torch.autograd.grad`: some inputs may be the submission's, such as its model's parameters."""
    if not running or isinstance(inputs, dict):
        return _grad(outputs, inputs, *args, allow_unused=allow_unused, **settings)
    bridge = running[-1]
    tensors = (inputs,) if isinstance(inputs, torch.Tensor) else (*inputs,)
    keys = [bridge.twins.key_of(one) if bridge.twins.has(one) else 0 for one in tensors]
    if bridge.wanted is not None or min(keys, default=0) >= 0:
        return _grad(outputs, tensors, *args, allow_unused=allow_unused, **settings)
    bridge.wanted = {key: None for key in keys if key < 0}
    try:
        found = _grad(outputs, (*tensors, ALWAYS), *args, allow_unused=True, **settings)
        found = tuple(added(one, bridge.wanted.get(key)) for key, one in zip(keys, found[:-1], strict=True))
    finally:
        bridge.wanted = None
    if not allow_unused and any(one is None for one in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph."
            " Set allow_unused=True if this is the desired behavior."
        )
    return found
