"""The judge's side of ranks: one request to the student process, and what its answer means for the verdict.

Must never believe more of an answer than its plain data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from grader.testkit._ranks import states

if TYPE_CHECKING:
    from grader.border.proxies import Channel


def request(channel: Channel, shown: Any, *args: object) -> Any:
    """One request; a `Trouble` that comes back becomes the exception that says the same to the judge."""
    result = channel.request("call", args, {}, shown, report=states.Trouble)
    if isinstance(result, states.Trouble):
        raise _exception_of(result, channel)
    return result


def _exception_of(trouble: states.Trouble, channel: Channel) -> BaseException:
    from grader.border.failures import SubmissionTimeout, exception_of

    if trouble.first is not None:
        rank, raised = trouble.first.rank, trouble.first.raised
        if trouble.first.stage == "look":
            return AssertionError(f"what rank {rank} left cannot be used: {raised.kind}: {raised.message}")
        everybody = all(state.what == "raised" and state.name == raised.kind[:40] for state in trouble.states)
        where = "" if len(trouble.states) == 1 else " (on every rank)" if everybody else f" (on rank {rank})"
        return exception_of(msgspec.structs.replace(raised, message=raised.message + where))
    if any(state.what == "ended" for state in trouble.states):
        return crash(channel, states.died(trouble))
    hung = SubmissionTimeout(states.stuck(trouble))
    hung.examples = (tuple(channel.record),)
    return hung


def crash(channel: Channel, reason: str) -> BaseException:
    """The crash to raise, with what crossed the border up to there; ``reason`` completes "your code …"."""
    from grader.border.failures import SubmissionCrashed

    crashed = SubmissionCrashed(reason)
    crashed.examples = (tuple(channel.record),)
    return crashed


def give_time(channel: Channel, seconds: float) -> None:
    """Lets the running check take this long from now, where it has a deadline."""
    allow = getattr(channel.transport, "allow", None)
    if allow is not None:
        allow(seconds)


def require_network(channel: Channel) -> None:
    """Skips the check where the sandbox has to forbid all sockets."""
    import pytest

    layers = getattr(channel.transport, "layers", None)
    if layers is not None and "seccomp" in layers and "net-namespace" not in layers:
        pytest.skip("needs a network namespace in the sandbox (see `grader doctor`)")
