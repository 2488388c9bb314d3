"""Turns a run of ranks into an exchange in the check's record, and into a value or an exception for the check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grader.border import wire
from grader.border.failures import OutOfMemory, SubmissionCrashed, SubmissionTimeout, exception_of
from grader.border.messages import Exchange, Returned, RunFailed
from grader.testkit._ranks import states
from grader.testkit._ranks.rank import CAN_FORBID_WRITING

if TYPE_CHECKING:
    from grader.border.channel import Channel


def note_values(channel: Channel, request: bytes, values: object) -> None:
    """Adds a run that has come to its end to the channel's record: plain values, of which misconceptions are known."""
    channel.record.append(Exchange(request, wire.pack(Returned(wire.encode(values, lambda value: None)))))


def note_trouble(channel: Channel, request: bytes, trouble: states.Trouble) -> BaseException:
    """Adds a run that has not come to its end to the channel's record; the exception that says so."""
    channel.record.append(Exchange(request, wire.pack(RunFailed(trouble.summary()))))
    return _exception_of(trouble, channel)


def _exception_of(trouble: states.Trouble, channel: Channel) -> BaseException:
    if trouble.first is not None:
        rank, raised = trouble.first.rank, trouble.first.raised
        if trouble.first.stage == "look":
            return AssertionError(f"what rank {rank} left cannot be used: {raised.kind}: {raised.message}")
        everybody = all(state.what == "raised" and state.name == raised.kind[:40] for state in trouble.states)
        where = "" if len(trouble.states) == 1 else " (on every rank)" if everybody else f" (on rank {rank})"
        return exception_of(msgspec.structs.replace(raised, message=raised.message + where))
    if held := max((state.held for state in trouble.states), default=0):  # the others were ended for it, too
        return _with_record(channel, OutOfMemory(held=held))
    if any(state.what == "ended" for state in trouble.states):
        return crash(channel, states.died(trouble))
    return hang(channel, states.stuck(trouble))


def crash(channel: Channel, reason: str) -> SubmissionCrashed:
    """The crash to raise, with what crossed the border up to there; ``reason`` completes "your code …"."""
    return _with_record(channel, SubmissionCrashed(reason))


def _with_record(channel: Channel, crashed: SubmissionCrashed) -> SubmissionCrashed:
    crashed.examples = (tuple(channel.record),)
    return crashed


def hang(channel: Channel, reason: str) -> SubmissionTimeout:
    """The timeout to raise, with what crossed the border up to there; ``reason`` is a sentence."""
    hung = SubmissionTimeout(reason)
    hung.examples = (tuple(channel.record),)
    return hung


def give_time(channel: Channel, seconds: float) -> None:
    """Lets the running check take this long from now, where it has a deadline."""
    allow = getattr(channel.transport, "allow", None)
    if allow is not None:
        allow(seconds)


def show_prints(channel: Channel, text: str) -> None:
    """Adds the prints of ranks to those that the student is shown."""
    add_prints = getattr(channel.transport, "add_prints", None)
    if add_prints is not None and text:
        add_prints(text)


def require_limit_on_files() -> None:
    """Skips the check where no rank can be kept from writing."""
    import pytest

    if not CAN_FORBID_WRITING:
        pytest.skip("needs a system with a limit on the size of files")


def require_network(channel: Channel) -> None:
    """Skips the check where the sandbox has to forbid all sockets."""
    import pytest

    layers = getattr(channel.transport, "layers", None)
    if layers is not None and "seccomp" in layers and "net-namespace" not in layers:
        pytest.skip("needs a network namespace in the sandbox (see `grader doctor`)")


def require_semaphores(channel: Channel) -> None:
    """Skips the check if the sandbox forbids semaphores, which all of the machine shares: torchrun needs one."""
    import pytest

    layers = getattr(channel.transport, "layers", None)
    if layers is not None and "landlock" in layers and "mount-namespace" not in layers:
        pytest.skip("needs a mount namespace in the sandbox (see `grader doctor`)")
