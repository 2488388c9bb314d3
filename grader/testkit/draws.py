"""The global random generators of a test and of a submission: both draw from one stream, in two processes.

All three are Mersenne Twisters. The test's state crosses as it is. Of the submission's, only a number of draws crosses,
and the seed if it has set one: a made-up state would choose the test's next inputs.
"""

import ctypes
import random
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import torch

_WORDS: Final = 624
_MOST_BLOCKS: Final = 4_000
MOST_DRAWS: Final = _WORDS * (_MOST_BLOCKS + 2)
_PAIR: Final = 4
"""Draws of 32 bits for two normal numbers, of which each generator keeps the second."""
_SEED: Final = slice(0, 8)
_LEFT, _NEXT, _KEY, _KEPT = slice(8, 12), slice(16, 24), slice(24, 24 + 8 * _WORDS), slice(24 + 8 * _WORDS, None)
"""The parts of torch's state: draws left in the block, the next one, the block, and the normal number that is kept."""

_TWISTER_BYTES: Final = 4 * _WORDS + 4
_NUMPY_PLACE: Final = vars(np.random)["get_bit_generator"]().ctypes.state_address
_RANDOM: Final = vars(random)["_inst"]
_Block: Final = ctypes.c_char * _TWISTER_BYTES
_numpy_block: Final = _Block.from_address(_NUMPY_PLACE)
_random_block: Final = _Block.from_address(id(_RANDOM) + object.__basicsize__)
"""NumPy's and Python's blocks, with the place in them: to read the state itself takes long."""
_get_torch_state, _get_random_state = torch.default_generator.get_state, random.getstate


class State(NamedTuple):
    """A generator's state.

    Attributes:
        key: its block of 624 numbers.
        place: of the next one.
        rest: the normal number that it keeps; for torch all its bytes.
    """

    key: Any
    place: int
    rest: Any


class Draws(NamedTuple):
    """How a generator of the submission has been used.

    Attributes:
        number: of the generator.
        seed: the last one that was set; None if none was.
        draws: numbers of 32 bits since then.
        keeps: whether the last of them gave a normal number that is kept.
    """

    number: int
    seed: int | None
    draws: int
    keeps: bool


def _torch_state(generator: Any = torch.default_generator) -> State:
    raw = generator.get_state().numpy()
    return State(raw[_KEY].view(np.uint64).astype(np.uint32), 625 - int(raw[_LEFT].view(np.int32)[0]), raw)


def _numpy_state(generator: Any = np.random) -> State:
    _, key, place, keeps, kept = generator.get_state()
    return State(key, int(place), float(kept) if keeps else None)


def _random_state(generator: Any = random) -> State:
    _, inner, kept = generator.getstate()
    return State(np.array(inner[:-1], np.uint32), int(inner[-1]), kept)


def _set_torch(state: State, generator: Any = torch.default_generator) -> None:
    generator.set_state(torch.from_numpy(np.array(state.rest)))


def _set_numpy(state: State, generator: Any = np.random) -> None:
    generator.set_state(("MT19937", state.key, state.place, int(state.rest is not None), state.rest or 0.0))


def _set_random(state: State, generator: Any = random) -> None:
    generator.setstate((3, (*map(int, state.key), state.place), state.rest))


_READ: Final[tuple[Callable[..., State], ...]] = (_torch_state, _numpy_state, _random_state)
_SET: Final[tuple[Callable[..., None], ...]] = (_set_torch, _set_numpy, _set_random)
_SEEDED: Final[tuple[Callable[[int], Any], ...]] = (
    lambda seed: torch.Generator().manual_seed(seed),
    lambda seed: np.random.RandomState(seed),
    lambda seed: random.Random(seed),
)
_DRAW: Final[tuple[Callable[..., object], ...]] = (
    lambda generator=None: torch.randn(1, dtype=torch.float64, generator=generator),
    lambda generator=np.random: generator.randn(),
    lambda generator=random: generator.gauss(0.0, 1.0),
)


class Moment:
    """The states of the three generators of this process at one time.

    Args:
        last: an earlier one; a generator that has not changed since is not read again.
    """

    def __init__(self, last: "Moment | None" = None) -> None:
        torch_memory = _get_torch_state().numpy().tobytes()
        numpy_memory = _numpy_block.raw
        random_memory = _random_block.raw, _RANDOM.gauss_next
        numpy_state: Any = None if last is None else last._states[1]
        if last is None or numpy_memory != last._memory[1] or numpy_state[3]:  # a number that it keeps lies elsewhere
            numpy_state = np.random.get_state()
        random_state: Any = None if last is None else last._states[2]
        if last is None or random_memory != last._memory[2]:
            random_state = _get_random_state()
        is_same = last is not None and torch_memory == last._memory[0]
        self.torch_seed: int = last.torch_seed if is_same and last is not None else torch.initial_seed()
        self._memory: tuple[bytes, bytes, tuple[bytes, Any]] = torch_memory, numpy_memory, random_memory
        self._states: tuple[bytes, Any, Any] = torch_memory, numpy_state, random_state

    def now(self) -> "Moment":
        """The present moment: this one, if no generator has been used since."""
        memory = _get_torch_state().numpy().tobytes(), _numpy_block.raw, (_random_block.raw, _RANDOM.gauss_next)
        return self if memory == self._memory and not self._states[1][3] else Moment(self)

    def __getitem__(self, number: int) -> State:
        raw, numpy_state, random_state = self._states
        if number == 0:
            return _torch_state(_Holding(torch.frombuffer(bytearray(raw), dtype=torch.uint8)))
        return _numpy_state(_Holding(numpy_state)) if number == 1 else _random_state(_Holding(random_state))

    def sent(self, number: int) -> tuple[Any, ...]:
        """A generator's state as `set_state` takes it."""
        return (None, 0, np.frombuffer(self._states[0], np.uint8)) if number == 0 else tuple(self[number])

    def changed_since(self, before: "Moment") -> list[int]:
        """The numbers of the generators that have another state."""
        if before is self:
            return []
        same = [one == other for one, other in zip(self._memory, before._memory, strict=True)]
        same[1] = same[1] and self._states[1][3:] == before._states[1][3:]
        return [number for number in range(3) if not same[number]]


class _Holding:
    """A state in the place of its generator."""

    def __init__(self, state: Any) -> None:
        self.get_state = self.getstate = lambda: state


def state_of(number: int, generator: Any) -> tuple[Any, ...]:
    """The state of a generator that is as the global one of this number."""
    return tuple(_READ[number](generator))


def set_state(number: int, state: Any, *generator: Any) -> None:
    """Gives a global generator a state, or one that is as this."""
    _SET[number](State(*state), *generator)


def _twister(state: State) -> Any:
    twister = np.random.MT19937(0)
    twister.state = {"bit_generator": "MT19937", "state": {"key": state.key, "pos": state.place}}
    return twister


def _advanced(state: State, draws: int) -> State:
    twister = _twister(state)
    twister.random_raw(draws, output=False)
    inner, rest = twister.state["state"], None
    if isinstance(state.rest, np.ndarray):
        rest = np.array(state.rest)
        rest[_LEFT].view(np.int32)[0], rest[_NEXT].view(np.uint64)[0] = 625 - inner["pos"], inner["pos"]
        rest[_KEY].view(np.uint64)[:], rest[_KEPT] = inner["key"], 0
    return State(inner["key"], inner["pos"], rest)


def _distance(old: State, new: State) -> int | None:
    """How many draws lead from one state to the other."""
    if np.array_equal(old.key, new.key):
        return new.place - old.place if new.place >= old.place else None
    twister, draws = _twister(old), _WORDS - old.place
    twister.random_raw(draws, output=False)
    for _ in range(_MOST_BLOCKS):
        twister.random_raw(_WORDS, output=False)
        if np.array_equal(twister.state["state"]["key"], new.key):
            return draws + new.place
        draws += _WORDS
    return None


class Seeds:
    """Remembers the seeds that the submission sets; torch's generator does it itself."""

    def __init__(self) -> None:
        self.last: dict[int, int | None] = {}
        self._before = [(module, module.seed) for module in (np.random, random)]
        for number, (module, seed) in enumerate(self._before, start=1):
            setattr(module, "seed", self._noting(number, seed))  # noqa: B010

    def end(self) -> None:
        """Remembers no more."""
        for module, seed in self._before:
            setattr(module, "seed", seed)  # noqa: B010

    def _noting(self, number: int, seed: Callable[..., None]) -> Callable[..., None]:
        def set_seed(*args: Any, **kwargs: Any) -> None:
            seed(*args, **kwargs)
            given = next(iter((*args, *kwargs.values())), None)
            self.last[number] = int(given) if isinstance(given, int | np.integer) and given >= 0 else None

        return set_seed

    def drawn(self, before: Moment, now: Moment) -> list[Draws]:
        """How the generators were used between two moments."""
        found = []
        for number in now.changed_since(before):
            is_seeded, seed = number in self.last, self.last.pop(number, None)
            if number == 0 and now.torch_seed != before.torch_seed:
                seed = now.torch_seed
            state, draws = now[number], None
            if seed is None and not is_seeded:  # else nothing leads there
                draws = _distance(before[number], state)
                seed = now.torch_seed if draws is None and number == 0 else None
            if seed is not None:
                draws = _distance(_seeded(number, seed), state)
            if draws is not None:
                found.append(Draws(number, seed, draws, _keeps(number, state, draws)))
        return found


def _keeps(number: int, state: State, draws: int) -> bool:
    kept = state.rest[_KEPT].any() if number == 0 else state.rest is not None
    return bool(kept) and draws >= _PAIR


def drawn_between(number: int, before: Any, now: Any) -> tuple[int | None, int, bool] | None:
    """How a generator was used that is as the global one of this number: the seed, the draws, and whether it keeps one;
    None if it was seeded by no number that can be known."""
    state, seed = State(*now), None
    draws = _distance(State(*before), state)
    if draws is None and number == 0:
        seed = int(state.rest[_SEED].view(np.uint64)[0])
        draws = _distance(_seeded(0, seed), state)
    return None if draws is None else (seed, draws, _keeps(number, state, draws))


def _seeded(number: int, seed: int) -> State:
    return _READ[number](_SEEDED[number](seed))


def draw(number: int, seed: int | None, draws: int, keeps: bool, *generator: Any) -> None:
    """Uses a generator of this process as the submission has used its own: a global one, or one that is as this.

    Raises:
        ValueError: these are no such numbers.
    """
    if number not in range(3) or not 0 <= draws <= MOST_DRAWS or (keeps and draws < _PAIR):
        raise ValueError("no such draws")
    start = _READ[number](*generator) if seed is None else _seeded(number, seed)
    _SET[number](_advanced(start, draws - _PAIR * keeps), *generator)
    if keeps:
        _DRAW[number](*generator)
