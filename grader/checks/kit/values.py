"""Tools for the checks of graph: runs small programs on a student's values, and looks at what comes of them.

A program is a text such as ``c = a * b; d = c + a``; the last name is the result. Runs in the student process. A check
also runs it here, on tensors of torch. Must never hold an expected answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

SEEN_CALLS: Final = ("call", "c_call")
_set_profile: Final = sys.setprofile


def run(make: Callable[[float], Any], program: str, numbers: Mapping[str, float]) -> dict[str, Any]:
    """The value of each name of a program afterwards, in the order of the program; first the given numbers.

    Args:
        make: makes a value of a number, such as `Value`.
    """
    names: dict[str, Any] = {name: make(number) for name, number in numbers.items()}
    exec(program, {"__builtins__": {}}, names)
    return names


def computed(make: Callable[[float], Any], program: str, numbers: Mapping[str, float]) -> Any:
    """The data of the result of a program."""
    return list(run(make, program, numbers).values())[-1].data


def kinds_of(make: type, program: str, numbers: Mapping[str, float]) -> dict[str, Any]:
    """The facts about the values of a program: their data and gradients, and whether each is of that class."""
    names = run(make, program, numbers)
    return {
        "data": {name: one.data for name, one in names.items()},
        "grad": {name: number(one.grad) for name, one in names.items()},
        "is a Value": {name: isinstance(one, make) for name, one in names.items()},
    }


def number(found: Any) -> Any:
    """A whole number as a float: both are the number; anything else as it is."""
    return float(found) if type(found) is int else found


# ---------------------------------------------------------------- order


def ordered(
    make: Callable[[float], Any],
    order_of: Callable[[Any], Any],
    program: str,
    numbers: Mapping[str, float],
    grad: float | None = None,
) -> dict[str, Any]:
    """The order of the values behind the result of a program.

    Args:
        grad: the gradient that each value has before; None leaves it as it is.

    Returns:
        ``order``: the name of each value, ``?`` if it has none; ``twice``: how many are there once more; ``is_list``;
        ``data`` and ``grad`` of the names afterwards.
    """
    names = run(make, program, numbers)
    if grad is not None:
        for one in names.values():
            one.grad = grad
    found = order_of(list(names.values())[-1])
    is_list, found = isinstance(found, list), list(found)
    of = {id(one): name for name, one in names.items()}
    return {
        "order": [of.get(id(one), "?") for one in found],
        "twice": len(found) - len({id(one) for one in found}),
        "is_list": is_list,
        "data": {name: one.data for name, one in names.items()},
        "grad": {name: number(one.grad) for name, one in names.items()},
    }


def order_of_a_chain(make: Callable[[float], Any], order_of: Callable[[Any], Any], links: int) -> list[int]:
    """Where in the order the links of a chain are, one after the other; each link is the tanh of the one before."""
    chain = [make(1.0)]
    for _ in range(links):
        chain.append(chain[-1].tanh())
    places = {id(one): place for place, one in enumerate(order_of(chain[-1]))}
    found = [places.get(id(one), -1) for one in chain]
    while chain:  # one by one from the end: to free all at once goes as deep as the chain
        chain.pop()
    return found


def work_of(function: Callable[[Any], Any], make: Callable[[float], Any], doublings: Sequence[int]) -> list[int]:
    """How many calls ``function(value)`` makes, for values that were added to themselves again and again.

    Args:
        doublings: how often; with each doubling there are twice as many paths.
    """
    return [_calls(function, _doubled(make, count)) for count in doublings]


def _doubled(make: Callable[[float], Any], count: int) -> Any:
    value = make(1.0)
    for _ in range(count):
        value = value + value
    return value


def _calls(function: Callable[[Any], Any], value: Any) -> int:
    count = 0

    def see(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in SEEN_CALLS

    before = sys.getprofile()
    _set_profile(see)
    try:
        function(value)
    finally:
        _set_profile(before)
    return count


# ---------------------------------------------------------------- gradients


def gradients(
    make: Callable[[float], Any], backward: Callable[[Any], Any], program: str, numbers: Mapping[str, float]
) -> dict[str, Any]:
    """The gradient of each name of a program after ``backward(result)``, of the names that the result depends on."""
    names = run(make, program, numbers)
    backward(list(names.values())[-1])
    return grads_of(names)


def grads_of(names: Mapping[str, Any]) -> dict[str, Any]:
    """The gradient of each name."""
    return {name: number(one.grad) for name, one in names.items()}


def gradients_again(
    make: Callable[[float], Any],
    backward: Callable[[Any], Any],
    program: str,
    numbers: Mapping[str, float],
    results: Sequence[str],
) -> dict[str, Any]:
    """The gradients after ``backward`` of one name after the other, and the data of all afterwards."""
    names = run(make, program, numbers)
    for name in results:
        backward(names[name])
    return {"grad": grads_of(names), "data": {name: one.data for name, one in names.items()}}


# ---------------------------------------------------------------- neurons


def outputs(make: Callable[..., Any], weights: Sequence[float], bias: float, examples: Sequence[Any]) -> list[Any]:
    """The data of the outputs of a neuron for one example after the other."""
    neuron = make(weights, bias)
    return [neuron(inputs).data for inputs in examples]


def parameters(neuron: Any) -> list[Any]:
    """The data of the parameters of a neuron."""
    return [one.data for one in neuron.parameters()]


def neuron_facts(
    make: Callable[..., Any],
    value: type,
    backward: Callable[[Any], Any],
    weights: Sequence[float],
    bias: float,
    inputs: Sequence[float],
) -> dict[str, Any]:
    """A neuron's parameters, whether they are values and stay the same ones, and their gradients after its output."""
    neuron = make(weights, bias)
    first, again = list(neuron.parameters()), list(neuron.parameters())
    out = neuron(inputs)
    backward(out)
    return {
        "data": [one.data for one in first],
        "is a Value": [isinstance(one, value) for one in (*first, out)],
        "same": [a is b for a, b in zip(first, again, strict=True)],
        "grad": [number(one.grad) for one in first],
    }


def fitted(
    make: Callable[..., Any],
    fit: Callable[..., Any],
    weights: Sequence[float],
    bias: float,
    data: Sequence[tuple[Sequence[float], float]],
    steps: Sequence[int],
    lr: float,
) -> dict[str, Any]:
    """The losses of one call of ``fit(neuron, data, steps, lr)`` after the other, and the parameters after them."""
    neuron = make(weights, bias)
    given = [(list(inputs), target) for inputs, target in data]
    losses = [fit(neuron, given, count, lr) for count in steps]
    return {"losses": losses, "parameters": parameters(neuron), "data": given}
