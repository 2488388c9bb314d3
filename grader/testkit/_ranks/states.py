"""The end of each rank: the facts that the judge keeps, and the words that a student reads.

The state of a process that still runs, and the text of an exception, are the submission's own words.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from grader.border.messages import Raised

RankStage = Literal["make", "call", "look"]
"""What raised on a rank: what the check makes before the call, the student's function, or the check's look after it."""


class State(msgspec.Struct, frozen=True, array_like=True):
    """Where one rank was at the end.

    Attributes:
        what: whether it returned, waits in a collective, runs, ended or raised.
        name: the collective that it waits in, the exception's type, or how the process ended.
        file: the innermost of the student's lines that was running, "" when unknown.
        held: the memory that the ranks held together, if its process was ended for that (bytes); else 0.
    """

    what: Literal["returned", "waits", "runs", "ended", "raised"]
    name: str = ""
    file: str = ""
    line: int = 0
    function: str = ""
    held: int = 0


class RaisedOnRank(msgspec.Struct, frozen=True, array_like=True):
    """An exception on a rank."""

    rank: int
    stage: RankStage
    raised: Raised


class Trouble(msgspec.Struct, frozen=True, array_like=True):
    """Why there are no results: somebody raised, or died, or did not end within ``seconds``."""

    states: tuple[State, ...]
    seconds: float
    first: RaisedOnRank | None = None

    def summary(self) -> str:
        """The part that two submissions with the same mistake share: no line numbers, at most 100 characters."""
        if self.first is not None:
            return f"{self.first.stage} raised {self.first.raised.kind}"[:100]
        return ", ".join(f"{state.what} {state.name}".strip() for state in self.states)[:100]


def stuck(trouble: Trouble) -> str:
    """Who waits for whom, in words."""
    waiting = [rank for rank, state in enumerate(trouble.states) if state.what == "waits"]
    others = [rank for rank in range(len(trouble.states)) if rank not in waiting]
    names = {trouble.states[rank].name for rank in waiting}
    if len(names) == 1 and others:
        (name,) = names
        where = "; ".join(f"{_rank(rank)} {_place(trouble.states[rank])}" for rank in others)
        return f"{_ranks(others)} never reached {name}: {where}. {_waiting(trouble, waiting)} kept waiting for it"
    if waiting and not others:
        where = ", ".join(f"{_rank(rank)} in {state.name}{_at(state)}" for rank, state in enumerate(trouble.states))
        if len(waiting) == 1:
            return f"{where}, waited for ranks that do not exist"
        return f"the ranks wait for each other: {where}. All must make the same collective calls in the same order"
    if waiting:
        where = "; ".join(f"{_rank(rank)} {_place(state)}" for rank, state in enumerate(trouble.states))
        return f"the ranks never met: {where}"
    running = [rank for rank, state in enumerate(trouble.states) if state.what == "runs"]
    where = "; ".join(f"{_rank(rank)} {_place(trouble.states[rank])}" for rank in running)
    return f"no end within {trouble.seconds:g} s: {where}"


def died(trouble: Trouble) -> str:
    """Which process ended, and how; completes the sentence "your code …"."""
    ended = [(rank, state) for rank, state in enumerate(trouble.states) if state.what == "ended"]
    if len({state.name for _, state in ended}) == 1:
        return f"ended the process of {_ranks([rank for rank, _ in ended])} with {ended[0][1].name}"
    return "ended the processes of " + ", ".join(f"{_rank(rank)} with {state.name}" for rank, state in ended)


def _place(state: State) -> str:
    if state.what == "returned":
        return "had returned"
    if state.what == "ended":
        return f"had ended with {state.name}"
    if state.what == "waits":
        return f"waited in {state.name}{_at(state)}"
    return f"was{_at(state, ' in ')}" if state.file else "was at a place that is not known"


def _waiting(trouble: Trouble, ranks: Sequence[int]) -> str:
    return " and ".join(f"{_rank(rank)}{_at(trouble.states[rank])}" for rank in ranks)


def _at(state: State, before: str = ", ") -> str:
    return f"{before}line {state.line} of {state.file}, in {state.function}" if state.file else ""


def _ranks(ranks: Sequence[int]) -> str:
    *most, last = map(str, ranks)
    return f"ranks {', '.join(most)} and {last}" if most else f"rank {last}"


def _rank(rank: int) -> str:
    return f"rank {rank}"
