"""How far each rank of a run got, to be drawn beside the message. Decides nothing."""

from collections.abc import Sequence

from grader.pictures import RankStep, Stair
from grader.testkit._ranks.members import RankState, listed


def stair_of(states: Sequence[RankState]) -> Stair | None:
    """The stair of ranks that do not end; None if there is nothing to compare.

    Where two ranks call the same functions, the one with the higher line numbers is the further one. Of a run in which
    one raised or died there is no stair: how far the others had got by then is chance.
    """
    if len({(state.what, state.name, state.lines) for state in states}) < 2:
        return None
    heights = sorted({state.lines for state in states if state.lines and state.what != "returned"})
    last = len(heights) + 1
    steps = []
    for rank, state in enumerate(states):
        if state.what == "raised" or state.what == "ended":
            return None
        step = last if state.what == "returned" else heights.index(state.lines) + 1 if state.lines else 0
        steps.append(RankStep(step, state.what, _text(rank, state, states)))
    return Stair(tuple(steps))


def _text(rank: int, state: RankState, states: Sequence[RankState]) -> str:
    match state.what:
        case "returned":
            return "returned"
        case "runs":
            return f"runs{state.at}" if state.place else "runs"
    missing = [other for other, one in enumerate(states) if (one.what, one.name) != ("waits", state.name)]
    return f"waits in {state.name}{f' for {listed(missing)}' if missing else ''}{state.at}"
