"""Checks of graph: values that know what they were computed from, their order, their gradients, and one neuron.

Torch in float64 is the judge of all numbers. Never compare what a contract leaves open: how many values an operation
makes (``a - b`` may be ``a + (-b)``), in which form a value keeps what it was computed from, which of several orders.
"""

from __future__ import annotations

import math
import operator
import re
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.testkit import (
    Diagram,
    Lines,
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    counted,
    exercise,
    picture,
    recipes,
    seeds,
)
from kit import values

SEEDS = seeds()
Numbers = dict[str, float]


def here(number: float) -> Tensor:
    """A leaf of torch."""
    return torch.tensor(float(number), dtype=torch.float64, requires_grad=True)


def drawn(seed: int, names: str = "ab") -> Numbers:
    """A number for each name, from 0.5 to 3, so that it has a logarithm and may be divided by."""
    found = recipes.normal((len(names),), seed, torch.float64).abs().clamp(0.1, 2.6) + 0.4
    return dict(zip(names, [round(one, 3) for one in found.tolist()], strict=True))


def assert_exact(found: object, expected: object, what: str = "") -> None:
    assert_close(found, expected, rtol=1e-9, atol=1e-9, what=what)


# ---------------------------------------------------------------- Value


def data_of(program: str, numbers: Numbers) -> float:
    return float(list(values.run(here, program, numbers).values())[-1].detach())


@exercise("graph.Value")
@pytest.mark.parametrize("program", ["c = a + b", "c = a - b", "c = a * b", "c = a / b", "c = -a"])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_two_values(submission: Submission, program: str, seed: int) -> None:
    """+ - * / of two values, and the minus in front of one, give a value with the number that Python gives."""
    numbers = drawn(seed)
    found = submission.there(values.computed, submission.Value, program, numbers)
    assert_exact(found, data_of(program, numbers), what=f"data of the result of `{program}`")


@exercise("graph.Value")
@pytest.mark.parametrize("program", ["c = a + {}", "c = a - {}", "c = a * {}", "c = a / {}"])
@settings(max_examples=1)
@given(seed=SEEDS)
def test_a_number_on_the_right(submission: Submission, program: str, seed: int) -> None:
    """On the right of + - * / there may be a plain number, an int or a float, in place of a value."""
    numbers = drawn(seed, "ab")
    for number in (2 + seed % 3, numbers.pop("b")):
        text = program.format(number)
        found = submission.there(values.computed, submission.Value, text, {"a": numbers["a"]})
        assert_exact(found, data_of(text, {"a": numbers["a"]}), what=f"data of the result of `{text}`")


@exercise("graph.Value")
@pytest.mark.parametrize("program", ["c = {} + a", "c = {} - a", "c = {} * a", "c = {} / a"])
@settings(max_examples=1)
@given(seed=SEEDS)
def test_a_number_on_the_left(submission: Submission, program: str, seed: int) -> None:
    """On the left of + - * / there may be a plain number, an int or a float, in place of a value."""
    numbers = drawn(seed, "ab")
    for number in (2 + seed % 3, numbers["b"]):
        text = program.format(number)
        found = submission.there(values.computed, submission.Value, text, {"a": numbers["a"]})
        assert_exact(found, data_of(text, {"a": numbers["a"]}), what=f"data of the result of `{text}`")


@exercise("graph.Value")
@pytest.mark.parametrize("power", ["2", "3", "-1", "0.5", "-1.5"])
@settings(max_examples=1)
@given(seed=SEEDS)
def test_powers(submission: Submission, power: str, seed: int) -> None:
    """a ** number, for whole numbers, negative ones and fractions."""
    numbers, program = drawn(seed, "a"), f"b = a ** {power}"
    found = submission.there(values.computed, submission.Value, program, numbers)
    assert_exact(found, data_of(program, numbers), what=f"data of the result of `{program}`")


@exercise("graph.Value")
@pytest.mark.parametrize("method", ["exp", "log", "tanh"])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_functions(submission: Submission, method: str, seed: int) -> None:
    """exp, log (the natural one) and tanh give a value with what torch gives."""
    numbers, program = drawn(seed, "a"), f"b = a.{method}()"
    found = submission.there(values.computed, submission.Value, program, numbers)
    assert_exact(found, data_of(program, numbers), what=f"data of the result of `{program}`")


@exercise("graph.Value")
@settings(max_examples=3)
@given(seed=SEEDS)
def test_what_a_value_is(submission: Submission, seed: int) -> None:
    """data is a float, also of an int; every result is a Value; grad begins as 0.0; and arithmetic does not change what
    it was computed from."""
    numbers = {"a": 2 + seed % 5, **drawn(seed, "bx")}
    program = (
        "c = a * b; d = c - a; e = -d; f = (e / b).tanh(); g = f * f + 2; h = (1 - g) ** 2; i = (x + 1).log().exp()"
    )
    expected = {name: float(one.detach()) for name, one in values.run(here, program, numbers).items()}
    found = submission.there(values.kinds_of, submission.Value, program, numbers)
    operands = {name: found["data"].get(name) for name in numbers}
    assert_equal(operands, {name: float(one) for name, one in numbers.items()}, what="data of the operands afterwards")
    assert_exact(found["data"], expected, what="data")
    assert_equal(found["is a Value"], dict.fromkeys(expected, True), what="whether each is a Value")
    assert_equal(found["grad"], dict.fromkeys(expected, 0.0), what="grad at first")


# ---------------------------------------------------------------- topological_order

GRAPHS = {
    "one": "",
    "chain": "b = a * 2; c = b + 1; d = c.tanh()",
    "diamond": "b = a * a; c = a + b; d = b * c; e = d - a",
    "long way round": "b = a + 1; c = b + 1; d = c + 1; e = d + b; f = e * a; g = a + f",
    "two leaves": "c = a * x; d = c + x; e = d / c; f = e.exp(); g = f - e; h = g + x",
    "equal numbers": "b = a + 0; c = b * 1; d = c * b; e = d + a",
    "more than is needed": "b = a * x; c = b - a; unused = c * x; d = (c + b) ** 2",
}


def depends_on(program: str, numbers: Numbers) -> dict[str, set[str]]:
    """Of each name that the last one was computed from, and of itself: the names in its statement."""
    statements = dict.fromkeys(numbers, "")
    for statement in filter(None, map(str.strip, program.split(";"))):
        name, _, text = statement.partition(" = ")
        statements[name] = text
    direct = {name: set(re.findall(r"[a-z]\w*", text)) & statements.keys() for name, text in statements.items()}
    needed, todo = set(), [list(statements)[-1]]
    while todo:
        name = todo.pop()
        needed.add(name)
        todo.extend(direct[name] - needed)
    return {name: direct[name] for name in statements if name in needed}


@exercise("graph.topological_order")
@pytest.mark.parametrize("graph", GRAPHS)
@settings(max_examples=1)
@given(seed=SEEDS)
def test_each_once_and_after_its_parents(submission: Submission, graph: str, seed: int) -> None:
    """A list with all values that the result was computed from, each once, each after those that it was computed from,
    and the result as the last one."""
    program = GRAPHS[graph]
    numbers = drawn(seed, "xa" if "x" in program else "a")
    found = submission.there(values.ordered, submission.Value, submission.topological_order, program, numbers)
    expected = depends_on(program, numbers)
    order = [name for name in found["order"] if name != "?"]
    last, after = list(expected)[-1], f" (after `{program}`)" if program else ""
    assert_that(found["is_list"], "the result is not a list")
    missing, strange = sorted(expected.keys() - set(order)), sorted(set(order) - expected.keys())
    assert_that(not missing, f"of the values behind {last}, these are missing: {', '.join(missing)}{after}")
    assert_that(not strange, f"{last} was not computed from {', '.join(strange)}{after}")
    assert_that(found["twice"] == 0, f"a value is there more than once{after}")
    early = [
        f"{name} comes before {parent}, which it was computed from"
        for name, parents in expected.items()
        for parent in sorted(parents)
        if order.index(name) < order.index(parent)
    ]
    assert_that(not early, "; ".join(early) + after)
    assert_that(found["order"][-1] == last, "the result itself is not the last one")


@exercise("graph.topological_order")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_order_changes_nothing(submission: Submission, seed: int) -> None:
    """Data and gradients of the values are as before."""
    program, numbers = GRAPHS["two leaves"], drawn(seed, "xa")
    found = submission.there(values.ordered, submission.Value, submission.topological_order, program, numbers, 0.5)
    names = values.run(here, program, numbers)
    assert_exact(found["data"], {name: float(one.detach()) for name, one in names.items()}, what="data afterwards")
    assert_equal(found["grad"], dict.fromkeys(names, 0.5), what="grad afterwards, which was 0.5 before")


@exercise("graph.topological_order")
def test_deep_graphs(submission: Submission) -> None:
    """A graph of 5,000 links is no recursion error, and its values are in order."""
    places = submission.there(values.order_of_a_chain, submission.Value, submission.topological_order, 5000)
    assert_that(type(places) is list and len(places) == 5001, "the order cannot be read")
    assert_that(-1 not in places, "values of the chain are missing in the order")
    assert_that(places == sorted(places), "a value comes before the one that it was computed from")


def assert_once_per_value(calls: Any) -> None:
    """Between the two numbers of doublings there are 64 times as many paths, and a half more values."""
    assert_that(type(calls) is list and len(calls) == 2, "the calls cannot be counted")
    assert_that(
        calls[1] <= 8 * calls[0] + 50,
        f"{calls[0]} calls for a value doubled 10 times, {calls[1]} for one doubled 16 times: "
        "is a value visited once for each path to it?",
    )


@exercise("graph.topological_order")
def test_many_paths_to_order(submission: Submission) -> None:
    """The work grows with the number of values, not with the number of paths to them: a value is visited once."""
    assert_once_per_value(submission.there(values.work_of, submission.topological_order, submission.Value, (10, 16)))


# ---------------------------------------------------------------- backward


def gradients_of(program: str, numbers: Numbers, results: tuple[str, ...] = ()) -> dict[str, float]:
    """What torch finds for every name that the last of the results depends on."""
    names = values.run(here, program, numbers)
    result = results[-1] if results else list(names)[-1]
    found = torch.autograd.grad(names[result], list(names.values()), allow_unused=True)
    return {name: float(grad) for name, grad in zip(names, found, strict=True) if grad is not None}


OPERATIONS = (
    *("c = a + b", "c = a - b", "c = a * b", "c = a / b", "c = -a", "c = a ** 3", "c = a ** -0.5"),
    *("c = a.exp()", "c = a.log()", "c = a.tanh()"),
    *("c = a + 3", "c = 3 + a", "c = a - 3", "c = 3 - a", "c = a * 3", "c = 3 * a", "c = a / 3", "c = 3 / a"),
)


@exercise("graph.backward")
@pytest.mark.parametrize("program", OPERATIONS)
@settings(max_examples=1)
@given(seed=SEEDS)
def test_each_operation(submission: Submission, program: str, seed: int) -> None:
    """After one operation, grad of each value is the derivative of the result with respect to it; of the result: 1."""
    numbers = drawn(seed, "ab" if "b" in program else "a")
    found = submission.there(values.gradients, submission.Value, submission.backward, program, numbers)
    assert_exact(found, gradients_of(program, numbers), what=f"the gradients after `{program}`")


@exercise("graph.backward")
@pytest.mark.parametrize("operation", ["a.tanh()", "a.exp()", "a.log()", "a ** 2", "1 / a", "-a", "2 - a", "a / 3"])
@settings(max_examples=1)
@given(seed=SEEDS)
def test_inside_a_longer_chain(submission: Submission, operation: str, seed: int) -> None:
    """The derivative of an operation is multiplied by the gradient that arrives at its result (the chain rule)."""
    program, numbers = f"b = {operation}; c = b * x; d = c ** 2", drawn(seed, "xa")
    found = submission.there(values.gradients, submission.Value, submission.backward, program, numbers)
    assert_exact(found, gradients_of(program, numbers), what=f"the gradients after `{program}`")


@exercise("graph.backward")
@pytest.mark.parametrize(
    "program", ["b = a + a", "b = a * a", "b = a * 2; c = b + a; d = c * b", GRAPHS["long way round"]]
)
@settings(max_examples=1)
@given(seed=SEEDS)
def test_shares_are_added_up(submission: Submission, program: str, seed: int) -> None:
    """If a value is used several times, its gradient is the sum over all uses."""
    numbers = drawn(seed, "a")
    found = submission.there(values.gradients, submission.Value, submission.backward, program, numbers)
    assert_exact(found, gradients_of(program, numbers), what=f"the gradients after `{program}`")


def any_program(seed: int, length: int = 8) -> str:
    """Statements that use any earlier names; all of them lead to the result."""
    picks = recipes.labels(4 * length, 1 << 20, seed).tolist()
    names, unused, statements = ["a", "b"], {"a", "b"}, []
    for index in range(length):
        kind, one, two, name = picks.pop() % 8, picks.pop(), picks.pop(), f"v{index}"
        left, right = names[one % len(names)], names[two % len(names)]
        forms = (
            *(f"{left} + {right}", f"{left} - {right}", f"{left} * {right} * 0.25", f"{left}.tanh()"),
            *(
                f"({left} / 4).tanh().exp()",
                f"({left} ** 2 + 1).log()",
                f"{right} / ({left} ** 2 + 1)",
                f"0.5 - {left}",
            ),
        )
        statements.append(f"{name} = {forms[kind]}")
        unused -= set(re.findall(r"\b[abv]\d*\b", forms[kind]))  # not the a of tanh
        unused.add(name)
        names.append(name)
    return "; ".join([*statements, "result = " + " + ".join(sorted(unused))])


@exercise("graph.backward")
@settings(max_examples=6)
@given(seed=SEEDS)
def test_any_graph(submission: Submission, seed: int) -> None:
    """In any graph, every value gets the gradient that torch finds in float64."""
    program, numbers = any_program(seed), drawn(seed)
    found = submission.there(values.gradients, submission.Value, submission.backward, program, numbers)
    assert_exact(found, gradients_of(program, numbers), what=f"the gradients after `{program}`")


@exercise("graph.backward")
@pytest.mark.parametrize("results", [("d", "d"), ("d", "c", "d"), ("c", "d"), ("d", "d", "d")], ids="-".join)
@settings(max_examples=1)
@given(seed=SEEDS)
def test_a_second_call(submission: Submission, results: tuple[str, ...], seed: int) -> None:
    """A second call sets the gradients anew: nothing of an earlier one, from this result or another, is added; and no
    data changes."""
    program, numbers = "c = a * b; d = c * a + c.exp()", drawn(seed)
    found = submission.there(values.gradients_again, submission.Value, submission.backward, program, numbers, results)
    names = values.run(here, program, numbers)
    assert_exact(
        found["grad"], gradients_of(program, numbers, results), what=f"the gradients of `{program}` after the last call"
    )
    assert_exact(found["data"], {name: float(one.detach()) for name, one in names.items()}, what="data afterwards")


@exercise("graph.backward")
def test_many_paths_to_pass_on(submission: Submission) -> None:
    """The work grows with the number of values, not with the number of paths to them: each hands its gradient on
    once."""
    assert_once_per_value(submission.there(values.work_of, submission.backward, submission.Value, (10, 16)))


@picture("graph.backward", title="A formula as a graph: a gradient is the sum over all ways from the top")
def formula(submission: Submission) -> Diagram:
    program, numbers = "s = a + b; p = a * b; L = s * p", {"a": 2.0, "b": 3.0}
    data = submission.there(values.kinds_of, submission.Value, program, numbers)["data"]
    grads = submission.there(values.gradients, submission.Value, submission.backward, program, numbers)
    tree = {"L": "L = s * p", "s": "├─ s = a + b", "as": "│  ├─ a", "bs": "│  └─ b", "p": "└─ p = a * b"}
    tree |= {"ap": "   ├─ a", "bp": "   └─ b"}
    lines = [f"{'':<18}{'data':>6}{'gradient':>12}"]
    lines += [f"{text:<18}{data[at[0]]:>6.4g}{grads[at[0]]:>12.4g}" for at, text in tree.items()]
    return Diagram(lines=lines)


# ---------------------------------------------------------------- Neuron


def neuron_of(seed: int, width: int) -> tuple[list[float], float]:
    """Weights and a bias, from -2 to 2."""
    *weights, bias = [round(one, 3) for one in recipes.normal((width + 1,), seed, torch.float64).clamp(-2, 2).tolist()]
    return weights, bias


def examples(seed: int, count: int, width: int) -> list[list[float]]:
    rows = recipes.normal((count, width), seed + 1, torch.float64).clamp(-2, 2).tolist()
    return [[round(one, 3) for one in row] for row in rows]


@exercise("graph.Neuron")
@settings(max_examples=6)
@given(seed=SEEDS, width=st.integers(1, 4))
def test_output(submission: Submission, seed: int, width: int) -> None:
    """neuron(inputs) is a value with tanh(w · x + b), for one example after the other."""
    weights, bias = neuron_of(seed, width)
    rows = examples(seed, 2, width)
    found = submission.there(values.outputs, submission.Neuron, weights, bias, rows)
    w, x = torch.tensor(weights, dtype=torch.float64), torch.tensor(rows, dtype=torch.float64)
    assert_exact(found, torch.tanh(x @ w + bias).tolist(), what="tanh(w · x + b) of each example")


@exercise("graph.Neuron")
@settings(max_examples=4)
@given(seed=SEEDS, width=st.integers(2, 4))
def test_parameters_in_order(submission: Submission, seed: int, width: int) -> None:
    """parameters() are the weights in order, then the bias: the same values every time, and those that the output was
    computed from, so that backward reaches them."""
    weights, bias = neuron_of(seed, width)
    (inputs,) = examples(seed, 1, width)
    found = submission.there(
        values.neuron_facts, submission.Neuron, submission.Value, submission.backward, weights, bias, inputs
    )
    slope = 1 - math.tanh(sum(map(operator.mul, weights, inputs)) + bias) ** 2
    assert_exact(found["data"], [*weights, bias], what="data of the parameters")
    assert_equal(found["is a Value"], [True] * (width + 2), what="whether each parameter and the output is a Value")
    same = found["same"] == [True] * (width + 1)
    assert_that(same, "parameters() gives new values at each call: make them once, in __init__")
    assert_exact(found["grad"], [slope * x for x in (*inputs, 1.0)], what="the parameters' gradients after backward")


# ---------------------------------------------------------------- fit_neuron


def fitted(
    weights: list[float], bias: float, data: list[tuple[list[float], float]], steps: tuple[int, ...], lr: float
) -> tuple[list[list[float]], list[float]]:
    """Losses and parameters of the same training by torch."""
    parameters = torch.tensor([*weights, bias], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([[*inputs, 1.0] for inputs, _ in data], dtype=torch.float64)
    y = torch.tensor([target for _, target in data], dtype=torch.float64)
    losses: list[list[float]] = []
    for count in steps:
        losses.append([])
        for _ in range(count):
            loss = (torch.tanh(x @ parameters) - y).square().mean()
            (grad,) = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                parameters -= lr * grad
            losses[-1].append(loss.item())
    return losses, parameters.tolist()


def check_fit(submission: Submission, seed: int, width: int, count: int, steps: tuple[int, ...], lr: float) -> None:
    weights, bias = neuron_of(seed, width)
    targets = [round(one, 3) for one in recipes.normal((count,), seed + 2, torch.float64).tanh().tolist()]
    data = list(zip(examples(seed, count, width), targets, strict=True))
    found = submission.there(values.fitted, submission.Neuron, submission.fit_neuron, weights, bias, data, steps, lr)
    losses, parameters = fitted(weights, bias, data, steps, lr)
    assert_exact(found["losses"], losses, what=f"the loss before each step, a mean over {counted(count, 'example')}")
    assert_exact(found["parameters"], parameters, what="the parameters afterwards")
    assert_equal(found["data"], data, what="the data afterwards")


@exercise("graph.fit_neuron")
@settings(max_examples=4)
@given(seed=SEEDS, width=st.integers(1, 3), count=st.integers(2, 4), steps=st.integers(2, 12))
def test_as_torch(submission: Submission, seed: int, width: int, count: int, steps: int) -> None:
    """Gradient descent on the mean squared error over all examples: the loss before each step, and the parameters after
    the last one, are those of torch in float64, to nine digits."""
    check_fit(submission, seed, width, count, (steps,), 0.3)


@exercise("graph.fit_neuron", when="with a rate so large that the loss grows")
@pytest.mark.parametrize("seed", [1, 16])
def test_a_rate_that_is_too_large(submission: Submission, seed: int) -> None:
    """Every step is taken, also if the rate is so large that the loss grows."""
    check_fit(submission, seed, 2, 3, (3,), 8.0)


@exercise("graph.fit_neuron")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_one_step(submission: Submission, seed: int) -> None:
    """One step: one loss, of the parameters as they were, and each parameter moves by lr times its gradient."""
    check_fit(submission, seed, 2, 3, (1,), 0.5)


@exercise("graph.fit_neuron")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_one_call_after_the_other(submission: Submission, seed: int) -> None:
    """A second call goes on from the parameters of the first, and nothing of its gradients is left in it."""
    check_fit(submission, seed, 2, 2, (2, 3), 0.4)


@exercise("graph.fit_neuron")
def test_no_steps(submission: Submission) -> None:
    """No steps: no losses, and the parameters are as before."""
    check_fit(submission, 3, 2, 2, (0,), 0.4)


@exercise("graph.fit_neuron")
@settings(max_examples=2)
@given(seed=SEEDS)
def test_a_single_example(submission: Submission, seed: int) -> None:
    """One example is enough."""
    check_fit(submission, seed, 2, 1, (4,), 0.2)


@picture("graph.fit_neuron", title="Loss of each step: the neuron learns in large steps first, then in small ones")
def loss_per_step(submission: Submission) -> Lines:
    data = [([0.5, -1.0], 0.8), ([-1.5, 0.3], -0.6), ([1.0, 1.0], 0.2)]
    made = values.fitted, submission.Neuron, submission.fit_neuron, [0.1, -0.2], 0.0, data
    series = {f"rate {lr:g}": submission.there(*made, (40,), lr)["losses"][0] for lr in (0.02, 0.3)}
    return Lines(series=series, x_label="step", y_label="loss")
