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
    from grader.border.proxies import SubmissionRaised

    try:
        return channel.request("call", args, {}, shown)
    except SubmissionRaised as error:
        if not error.kind.startswith(states.TROUBLE):
            raise
        try:
            trouble = msgspec.json.decode(error.message, type=states.Trouble)
        except (msgspec.DecodeError, UnicodeError):
            raise crash(channel, "sent a report about its ranks that is no data") from None
    raise _exception_of(trouble, channel)


def _exception_of(trouble: states.Trouble, channel: Channel) -> BaseException:
    from grader.border.messages import Raised, SentLine
    from grader.border.proxies import SubmissionTimeout, exception_of

    if trouble.raised is not None:
        told = trouble.raised
        if told.stage == "look":
            return AssertionError(f"what rank {told.rank} left cannot be used: {told.kind}: {told.message}")
        everybody = all(state.what == "raised" and state.name == told.kind[:40] for state in trouble.states)
        where = "" if len(trouble.states) == 1 else " (on every rank)" if everybody else f" (on rank {told.rank})"
        frames = tuple(SentLine(*frame) for frame in told.frames)
        return exception_of(Raised(told.kind, told.built_in, told.message + where, frames))
    if any(state.what == "ended" for state in trouble.states):
        return crash(channel, states.died(trouble))
    hung = SubmissionTimeout(states.stuck(trouble))
    hung.examples = (tuple(channel.record),)
    return hung


def crash(channel: Channel, reason: str) -> BaseException:
    from grader.border.proxies import SubmissionCrashed

    crash = SubmissionCrashed(reason)
    crash.examples = (tuple(channel.record),)
    return crash


def give_time(channel: Channel, seconds: float) -> None:
    allow = getattr(channel.transport, "allow", None)
    if allow is not None:
        allow(seconds)


def require_network(channel: Channel) -> None:
    """Skips the check where the sandbox has to forbid all sockets."""
    import pytest

    layers = getattr(channel.transport, "layers", None)
    if layers is not None and "seccomp" in layers and "net-namespace" not in layers:
        pytest.skip("needs a network namespace in the sandbox (see `grader doctor`)")
