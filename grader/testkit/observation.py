"""Facts about one call that its result cannot carry, and weights of a check's choice in a module of the submission.

Runs in the judge, and asks `grader.testkit.watching` and `probes` in the student process. The facts are as true as that
process: if an outcome can decide a verdict, prefer the outcome.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import torch
from torch import Tensor

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.channel import channel_of
from grader.border.failures import BadReply
from grader.border.proxies import Remote, RemoteFunction, SubmissionProxy, call_of
from grader.errors import did_you_mean
from grader.testkit import probes, reference
from grader.testkit.compare import Mismatch, assert_equal, assert_that
from grader.testkit.watching import backpropagate, record_prints, watch
from grader.text import counted

Seen = TypeVar("Seen", "Observation", "ValueAndGrad")


class Observation(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The facts that `observe` reports.

    Attributes:
        result: the value that the call returned.
        changed: arguments that were changed in place (tensors, lists, dicts), as paths: ``"0"``, ``"1[2]"``, ``"eps"``.
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


class ValueAndGrad(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A result and its gradients: ``grads[k]`` belongs to argument ``wrt[k]``, None if it was not used."""

    value: Any
    grads: list[Tensor | None]
    has_graph: bool


def observe(function: RemoteFunction | Remote, *args: object, **kwargs: object) -> Observation:
    """Calls a function of the submission (or an object, such as a module) once and reports facts that its result
    cannot carry.

    Raises:
        SubmissionRaised: if the call raised.
    """
    return _seen(Observation, watch, function, args, kwargs)


def printed(function: RemoteFunction | Remote, *args: object, **kwargs: object) -> str:
    """Calls a function of the submission (or an object, such as a module) once; what it printed to standard output.

    Of more than a million characters, the first ones.

    Raises:
        SubmissionRaised: if the call raised.
    """
    shown = call_of(function, args, kwargs)
    call = (record_prints, function, list(shown.args), dict(shown.kwargs))
    text = channel_of(function).request("call", call, {}, shown)
    if type(text) is not str:
        raise BadReply("sent prints that are no text")
    return text


def assert_calls(seen: Observation, *names: str, at_most: int) -> None:
    """Fails if a call ran a torch function more often than allowed; with 0, if it ran it at all.

    Args:
        seen: what `observe` reported.
        names: functions and operations of torch, as in `Observation.called`, each of which may run that often; without
            any, all torch functions together.

    Raises:
        AssertionError: with a sentence about the first one.
    """
    are = "is" if at_most == 1 else "are"
    if not names and seen.torch_calls > at_most:
        raise AssertionError(f"{counted(seen.torch_calls, 'call')} of torch functions, where {at_most} {are} enough")
    for name in names:
        found = seen.called.get(name, 0)
        if found and not at_most:
            raise AssertionError(f"torch's {name} was called: this exercise is done without it")
        if found > at_most:
            allowed = f"at most {counted(at_most, 'time')} {are} allowed"
            raise AssertionError(f"torch's {name} ran {counted(found, 'time')}, where {allowed}")


def assert_global_numbers(
    submission: SubmissionProxy, started: int, seed: int | None = None, what: str = "your call", why: str = ""
) -> None:
    """Fails unless torch's next global random numbers are those that `probes.start_global` put there.

    Args:
        started: with which it was called.
        seed: one that the submission was given: the message says if what comes next are that seed's first numbers.
        what: what was done since, in words; opens the message.
        why: how it may have changed them, in words, if what comes next are no first numbers of the seed.
    """
    with reference.global_stream(started):
        expected = probes.draw_from_global()
    found = submission.there(probes.draw_from_global)
    reason = f"{what} changed torch's global random numbers"
    if seed is not None:
        first = torch.rand(len(expected), generator=torch.Generator().manual_seed(seed))
        if isinstance(found, Tensor) and torch.equal(found, first):
            why = "the next ones are the first of the seed itself. Was the state saved after seeding, or not at all?"
    try:
        assert_equal(found, expected)
    except Mismatch:
        raise Mismatch(": ".join(filter(None, (reason, why))), found, expected) from None


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
    made = _seen(ValueAndGrad, backpropagate, function, args, kwargs, wrt, part)
    if len(made.grads) != len(wrt):
        raise BadReply("sent gradients that are not data")
    return made


def _seen(
    kind: type[Seen],
    probe: Callable[..., object],
    function: RemoteFunction | Remote,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    *more: object,
) -> Seen:
    """What a probe reports of one call; its first field is the value of the call."""
    shown = call_of(function, args, kwargs)
    call = (probe, function, list(shown.args), dict(shown.kwargs), *more)
    reply = channel_of(function).request("call", call, {}, shown)
    try:
        made = wire.convert(reply, kind)
    except WireError:
        raise BadReply("sent an observation that is not data") from None
    shown.result = reply[0]
    return made


def load_weights(submission: SubmissionProxy, module: Remote, weights: Mapping[str, Tensor] | Sequence[Tensor]) -> None:
    """Writes these numbers into the parameters of a module over there, so that its outcome can be worked out here.

    Args:
        module: a handle to a ``torch.nn.Module``.
        weights: by name, as in ``state_dict()``, where a shared parameter has any of its names; or a list, in order of
            registration.

    Raises:
        AssertionError: the module has other parameters, said in words for the student: one is missing, one is too
            many, or one has another shape.
    """
    found = submission.there(probes.parameter_shapes, module)
    if isinstance(weights, Mapping):
        names = [name for group in found for name in group]
        missing = next((wanted for wanted in weights if wanted not in names), None)
        if missing is not None:  # looking for similar names takes longer than to load the weights
            raise AssertionError(f"the module has no parameter `{missing}`{did_you_mean(missing, names)}")
        numbers = []
        for group in found:
            known = [weights[name] for name in group if name in weights]
            assert_that(bool(known), f"the module has a parameter `{next(iter(group))}`, which is one too many")
            numbers.append(known[0])
    else:
        numbers = list(weights)
        were = "was" if len(numbers) == 1 else "were"
        have = f"the module has {counted(len(found), 'parameter')} where {len(numbers)} {were} expected"
        assert_that(len(found) == len(numbers), have)
    for group, new in zip(found, numbers, strict=True):
        name, shape = next(iter(group.items()))
        wanted_shape = tuple(new.shape)
        assert_that(shape == wanted_shape, f"`{name}` has the shape {shape}, where {wanted_shape} was expected")
    submission.there(probes.put_weights, module, numbers)
