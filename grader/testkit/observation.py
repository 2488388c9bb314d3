"""Facts about one call that its result cannot carry: changed and shared arguments, operations and gradients.

Runs in the judge, and sends the call to `grader.testkit.watching` in the student process. They are as
true as that process: if an outcome can decide a verdict, prefer the outcome.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec
import torch

from grader.testkit.watching import backpropagate, watch
from grader.text import counted

if TYPE_CHECKING:
    from grader.border.proxies import Remote, RemoteFunction


class Observation(msgspec.Struct, frozen=True):
    """The facts that `observe` reports.

    Attributes:
        result: the value that the call returned.
        changed: tensor arguments that were changed in place, as paths: ``"0"``, ``"1[2]"``, ``"eps"``.
        returned: the path of the argument that the result *is*, else None.
        shares: tensor arguments whose storage the result shares.
        torch_calls: how many torch functions ran.
        called: how often each of them ran by name, and the operations that they come to.
        requires_grad: whether the result is a tensor that requires grad.
        is_leaf: whether the result is a leaf tensor.
        rng_used: whether torch's global CPU generator moved.
    """

    result: Any
    changed: tuple[str, ...]
    returned: str | None
    shares: tuple[str, ...]
    torch_calls: int
    called: dict[str, int]
    requires_grad: bool
    is_leaf: bool
    rng_used: bool


class ValueAndGrad(msgspec.Struct, frozen=True):
    """A result and its gradients: ``grads[k]`` belongs to argument ``wrt[k]``, None if it was not used."""

    value: Any
    grads: list[torch.Tensor | None]
    has_graph: bool


def observe(function: RemoteFunction | Remote, *args: object, **kwargs: object) -> Observation:
    """Calls a function of the submission (or an object, such as a module) once and reports facts that its result
    cannot carry.

    Raises:
        SubmissionRaised: if the call raised.
    """
    from grader.border.channel import channel_of
    from grader.border.failures import BadReply
    from grader.border.proxies import call_of

    shown = call_of(function, args, kwargs)
    reply = channel_of(function).request("call", (watch, function, list(args), dict(kwargs)), {}, shown)
    match reply:
        case (
            result,
            tuple(changed),
            returned,
            tuple(shares),
            int(calls),
            dict(called),
            bool(grad),
            bool(leaf),
            bool(rng),
        ) if _are_names(changed, shares, called, returned or "") and all(type(n) is int for n in called.values()):
            shown.result = result
            return Observation(result, changed, returned, shares, calls, called, grad, leaf, rng)
    raise BadReply("sent an observation that is not data")


def _are_names(*groups: Iterable[object]) -> bool:
    return all(type(text) is str for group in groups for text in group)


def assert_calls(seen: Observation, *names: str, at_most: int) -> None:
    """Fails if a call ran a torch function more often than allowed; with 0, if it ran it at all.

    Args:
        seen: what `observe` reported.
        names: functions and operations of torch, as in `Observation.called`, each of which may run that often; without
            any, all torch functions together.

    Raises:
        AssertionError: with a sentence about the first one.
    """
    if not names and seen.torch_calls > at_most:
        enough = f"where {at_most} are enough" if at_most != 1 else "where 1 is enough"
        raise AssertionError(f"{counted(seen.torch_calls, 'call')} of torch functions, {enough}")
    for name in names:
        found = seen.called.get(name, 0)
        if found > at_most:
            limit = f"at most {counted(at_most, 'time')} is" if at_most == 1 else f"at most {at_most} times are"
            often = f"torch's {name} ran {counted(found, 'time')}, where {limit} allowed"
            raise AssertionError(often if at_most else f"torch's {name} was called: this exercise is done without it")


def value_and_grad(
    function: RemoteFunction | Remote,
    *args: object,
    wrt: tuple[int, ...] = (0,),
    part: int | None = None,
    **kwargs: object,
) -> ValueAndGrad:
    """Calls a function of the submission (or an object, such as a module) and differentiates its (summed) result by
    torch.

    Args:
        wrt: positions of the tensor arguments that become leaves.
        part: which item of the result it is about, if that is a tuple or a list.
    """
    from grader.border.channel import channel_of
    from grader.border.failures import BadReply
    from grader.border.proxies import call_of

    shown = call_of(function, args, kwargs)
    call = (backpropagate, function, list(args), dict(kwargs), wrt, part)
    reply = channel_of(function).request("call", call, {}, shown)
    match reply:
        case (value, list(grads), bool(has_graph)) if len(grads) == len(wrt) and all(
            grad is None or type(grad) is torch.Tensor for grad in grads
        ):
            shown.result = value
            return ValueAndGrad(value, grads, has_graph)
    raise BadReply("sent gradients that are not data")
