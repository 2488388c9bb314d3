"""Random generators that a test passes, and those of GPUs: it draws from one stream with the submission, in two
processes.

Of the submission's, only how many numbers it has drawn crosses, as with the global ones of `grader.testkit.draws`. A
generator on a GPU counts: its state is a seed and how many numbers were drawn since.
"""

import functools
import random
import struct
from collections.abc import Callable, Iterable, Iterator
from pickle import dumps  # that of the submission is not asked
from typing import Any, Final

import numpy as np
import torch

from grader.testkit.draws import MOST_DRAWS, draw, drawn_between, set_state, state_of

TWISTERS: Final = (torch.Generator, np.random.RandomState, random.Random)
"""Classes of Mersenne Twisters, in the order of the global ones."""
_MAKE: Final[dict[str, Callable[[], Any]]] = {
    **{kind.__name__: kind for kind in TWISTERS},
    **{
        name: functools.partial(lambda kind: np.random.Generator(kind(0)), getattr(np.random, name))
        for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
    },
}
_has_started: Final[Callable[[], bool]] = torch.cuda.is_initialized
_FACTOR: Final = 0x2360ED051FC65DA44385DF649FCCF645
_BITS: Final = 128
_COUNT: Final = struct.Struct("=Qq")
"""The state of a generator on a GPU: its seed, and the numbers drawn since."""
_MOST_LOOKED_AT: Final = 1000


def make(name: str) -> Any:
    """A new generator of a kind."""
    return _MAKE[name]() if name in _MAKE else torch.Generator(name)


def name_of(generator: Any) -> str:
    """The name of its kind; of one on a GPU that of the device."""
    if isinstance(generator, np.random.Generator):
        return type(generator.bit_generator).__name__
    if _counts(generator):
        return str(generator.device)
    return TWISTERS[_number_of(generator)].__name__


def _number_of(generator: Any) -> int:
    return next(number for number, kind in enumerate(TWISTERS) if isinstance(generator, kind))


def _counts(generator: Any) -> bool:
    return isinstance(generator, _OfGpu) or (isinstance(generator, torch.Generator) and generator.device.type != "cpu")


class _OfGpu:
    """The global generator of a GPU. A state that it is given before CUDA has started waits for that."""

    def __init__(self, index: int) -> None:
        self._index = index

    def get_state(self) -> torch.Tensor:
        return torch.cuda.get_rng_state(self._index)

    def set_state(self, state: torch.Tensor) -> None:
        torch.cuda.set_rng_state(state, self._index)


class Generators:
    """Those of one check that both sides have, by their numbers, with their states as both last had them.

    Those of GPUs have negative numbers. The submission has their states as soon as the test uses a GPU.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any, bytes]] = {}

    def news(self, number: int, generator: Any) -> Any:
        """The state of a generator, which both sides have from now on; None if they have had it."""
        if number < 0 and not _has_started():
            return None
        state = _state_of(generator)
        data = dumps(state)
        before = self._known.get(number)
        self._known[number] = generator, state, data
        return None if before is not None and before[2] == data else state

    def changed(self) -> list[tuple[int, Any]]:
        """The numbers and the states of those that this side has used since."""
        for index in range(torch.cuda.device_count() if _has_started() else 0):
            self._known.setdefault(-1 - index, (_OfGpu(index), None, b""))
        news = ((number, self.news(number, one)) for number, (one, *_) in self._known.items())
        return [one for one in news if one[1] is not None]

    def take(self, number: int, generator: Any, state: Any) -> None:
        """Gives a generator the state that it has on the other side."""
        self._known[number] = generator, state, dumps(state)  # if CUDA has yet to start, it cannot be read
        if isinstance(generator, np.random.Generator):
            generator.bit_generator.state = state
        elif _counts(generator):
            _set_count(generator, *state)
        else:
            set_state(_number_of(generator), state, generator)
        self.news(number, generator)

    def set(self, number: int, state: Any) -> None:
        """Gives the generator of this number a state."""
        self.take(number, self._known[number][0] if number in self._known else _OfGpu(-1 - number), state)

    def drawn(self) -> Iterator[tuple[Any, ...]]:
        """The numbers of those that this side has used since, each with its draws."""
        for number, (generator, before, _) in [*self._known.items()]:
            if self.news(number, generator) is None:
                continue
            now = self._known[number][1]
            facts: Any = None
            if _counts(generator):
                facts = now[0], now[1] - before[1] * (now[0] == before[0])
            elif not isinstance(generator, np.random.Generator):
                facts = drawn_between(_number_of(generator), before, now)
            elif name_of(generator) == "PCG64":
                facts = _drawn_between(before, now)
            if facts is not None:
                yield number, *facts

    def draw(self, drawn: Iterable[Any]) -> None:
        """Uses generators of this side as the other has used its own.

        Raises:
            LookupError, ValueError: these are no such draws.
        """
        for number, *facts in drawn:
            generator = self._known[number][0]
            if isinstance(generator, np.random.Generator):
                _draw(generator.bit_generator, *facts)
            elif _counts(generator):
                seed, draws = facts
                _set_count(generator, seed, draws + self._known[number][1][1] * (seed == self._known[number][1][0]))
            else:
                draw(_number_of(generator), *facts, generator)
            self.news(number, generator)


def _state_of(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return dict(generator.bit_generator.state)
    if _counts(generator):
        return _COUNT.unpack(generator.get_state().numpy().tobytes())
    return state_of(_number_of(generator), generator)


def _set_count(generator: Any, seed: int, draws: int) -> None:
    """Gives a generator on a GPU its state.

    Raises:
        ValueError: there is no such state.
    """
    try:
        generator.set_state(torch.frombuffer(bytearray(_COUNT.pack(seed, draws)), dtype=torch.uint8))
    except (struct.error, RuntimeError) as error:  # a part is too large, or between two steps
        raise ValueError("no such draws") from error


def _drawn_between(before: Any, now: Any) -> tuple[int, bool, int] | None:
    """How many numbers of 64 bits were drawn; of one half may be kept: whether it is, and of the last but how many it
    is, or was (0: of none of these)."""
    (state, plus), (aim, _) = (one["state"].values() for one in (before, now))
    factor, draws, bit = _FACTOR, 0, 1
    while state != aim and bit >> _BITS == 0:  # a step of twice the length each time
        if (state ^ aim) & bit:
            state, draws = (state * factor + plus) % (1 << _BITS), draws | bit
        plus, factor, bit = (factor + 1) * plus, factor * factor % (1 << _BITS), bit << 1
    if draws > MOST_DRAWS:
        return None
    looked_at = min(draws, _MOST_LOOKED_AT)
    twister = np.random.PCG64(0)
    twister.state = before
    twister.advance(draws - looked_at)
    halves = [int(one) >> 32 for one in twister.random_raw(looked_at)[::-1]]
    half = now["uinteger"]
    return draws, bool(now["has_uint32"]), halves.index(half) + 1 if half in halves else 0


def _draw(bits: Any, draws: int, keeps: bool, back: int) -> None:
    """Draws numbers.

    Args:
        keeps, back: see `_drawn_between`.
    """
    if not 0 <= back <= draws <= MOST_DRAWS:
        raise ValueError("no such draws")
    half = bits.state["uinteger"]
    bits.advance(draws - back)
    half = int(bits.random_raw()) >> 32 if back else half
    bits.advance(max(back - 1, 0))
    bits.state = {**bits.state, "has_uint32": int(keeps), "uinteger": half}
