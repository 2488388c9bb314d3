"""Classic wrong answers of graph, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from grader.testkit import misconception

# ---------------------------------------------------------------- Value


class _Value:
    """The right one, for wrong ones to differ from; its parts have the solution's names."""

    def __init__(self, data: float, parents: Iterable[Any] = ()) -> None:
        self.data = float(data)
        self.grad = 0.0
        self._parents = tuple(parents)
        self._operation = ""

    def _as_value(self, other: Any) -> Any:
        return other if isinstance(other, _Value) else type(self)(other)

    def _result(self, operation: str, data: float, *parents: Any) -> Any:
        result = type(self)(data, parents)
        result._operation = operation
        return result

    def __add__(self, other: Any) -> Any:
        other = self._as_value(other)
        return self._result("+", self.data + other.data, self, other)

    def __radd__(self, other: float) -> Any:
        return self + other

    def __sub__(self, other: Any) -> Any:
        return self + -self._as_value(other)

    def __rsub__(self, other: float) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        other = self._as_value(other)
        return self._result("*", self.data * other.data, self, other)

    def __rmul__(self, other: float) -> Any:
        return self * other

    def __truediv__(self, other: Any) -> Any:
        return self * self._as_value(other) ** -1

    def __rtruediv__(self, other: float) -> Any:
        return self**-1 * other

    def __neg__(self) -> Any:
        return self * -1

    def __pow__(self, exponent: float) -> Any:
        return self._result("**", self.data**exponent, self, type(self)(exponent))

    def exp(self) -> Any:
        return self._result("exp", math.exp(self.data), self)

    def log(self) -> Any:
        return self._result("log", math.log(self.data), self)

    def tanh(self) -> Any:
        return self._result("tanh", math.tanh(self.data), self)


@misconception(
    "Value",
    tell="A number on the left, as in 2 + a, is an error: Python asks the number first, which does not know your "
    "class, and then your class by __radd__, __rsub__, __rmul__ and __rtruediv__. These are missing.",
    name="no_reflected_operators",
)
class NoReflectedOperators(_Value):
    def _refuse(self, other: float) -> Any:
        return NotImplemented

    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = _refuse


@misconception(
    "Value",
    tell="2 - a gives what a - 2 gives. In __rsub__ and __rtruediv__ self is what stands on the right: the order "
    "matters for minus and for division.",
    name="reflected_in_the_wrong_order",
)
class ReflectedInTheWrongOrder(_Value):
    def __rsub__(self, other: float) -> Any:
        return self - other

    def __rtruediv__(self, other: float) -> Any:
        return self / other


@misconception(
    "Value",
    tell="2 - a gives what a - 2 gives. In __rsub__ self is what stands on the right: the result is other - self.",
    name="reflected_minus_turned_round",
)
class ReflectedMinusTurnedRound(_Value):
    def __rsub__(self, other: float) -> Any:
        return self - other


@misconception(
    "Value",
    tell="2 / a gives what a / 2 gives. In __rtruediv__ self is what stands on the right: the result is other / self.",
    name="reflected_division_turned_round",
)
class ReflectedDivisionTurnedRound(_Value):
    def __rtruediv__(self, other: float) -> Any:
        return self / other


@misconception(
    "Value",
    tell="An operator reads other.data, but a plain number such as 2 has none. Make a Value of it first, unless it "
    "is one already.",
    name="values_only",
)
class ValuesOnly(_Value):
    def _as_value(self, other: Any) -> Any:
        other.data  # noqa: B018
        return other


@misconception(
    "Value", tell="data of a whole number stays an int. float(data) makes all of them floats.", name="keeps_ints"
)
class KeepsInts(_Value):
    def __init__(self, data: float, parents: Iterable[Any] = ()) -> None:
        super().__init__(data, parents)
        self.data = data


@misconception(
    "Value",
    tell="The result of an operation is a plain number: what it was computed from is lost. Each result must be a new "
    "Value that knows its parents.",
    name="results_are_numbers",
)
class ResultsAreNumbers(_Value):
    def _result(self, operation: str, data: float, *parents: Any) -> Any:
        return data


@misconception(
    "Value",
    tell="An operation changes the value itself and returns it. a + b must leave a as it is, for a may be used again: "
    "make a new Value.",
    name="changes_its_operand",
)
class ChangesItsOperand(_Value):
    def _result(self, operation: str, data: float, *parents: Any) -> Any:
        self.data = data
        return self


@misconception(
    "Value",
    tell="grad is None at first. It must be 0.0: a gradient is a sum over all paths, and a sum of nothing is 0.",
    name="grad_is_none",
)
class GradIsNone(_Value):
    def __init__(self, data: float, parents: Iterable[Any] = ()) -> None:
        super().__init__(data, parents)
        self.grad = None


@misconception(
    "Value",
    tell="Your logarithm is the one to base 10. In mathematics and in torch, log is the natural one: math.log.",
    name="log_to_base_10",
    seen="calls('log10')",
)
class LogToBase10(_Value):
    def log(self) -> Any:
        return self._result("log", math.log10(self.data), self)


@misconception("Value", tell="a ** n is a multiplied by itself, not a times n.", name="power_is_a_product")
class PowerIsAProduct(_Value):
    def __pow__(self, exponent: float) -> Any:
        return self * exponent


@misconception("Value", tell="Your division rounds down: // is for whole numbers, / for all.", name="rounds_down")
class RoundsDown(_Value):
    def __truediv__(self, other: Any) -> Any:
        return self._result("/", self.data // self._as_value(other).data, self, other)


# ---------------------------------------------------------------- topological_order


@misconception(
    "topological_order",
    tell="A value to which several paths lead is in your list several times. Remember which values you have seen.",
)
def once_per_path(value: Any) -> list[Any]:
    return [one for parent in value._parents for one in once_per_path(parent)] + [value]


@misconception(
    "topological_order",
    tell="Your list is the other way round: the result comes first. Each value must come after all that it was "
    "computed from, so the result is the last.",
)
def children_before_parents(value: Any) -> list[Any]:
    return calls_itself(value)[::-1]


@misconception(
    "topological_order",
    tell="The order is right, but the function calls itself for every link: Python ends that after about 1,000 calls. "
    "Write a loop with a list of what is still to be done.",
)
def calls_itself(value: Any) -> list[Any]:
    order: list[Any] = []
    seen: set[int] = set()

    def visit(one: Any) -> None:
        if id(one) not in seen:
            seen.add(id(one))
            for parent in one._parents:
                visit(parent)
            order.append(one)

    visit(value)
    return order


@misconception(
    "topological_order",
    tell="You put a value into the list when you first meet it, and turn the list round in the end. A value that is "
    "used early and late then comes too late for one of them: append it only when all its parents are in the list.",
)
def as_first_met(value: Any) -> list[Any]:
    order, todo = [], [value]
    while todo:
        one = todo.pop(0)
        if all(one is not other for other in order):
            order.append(one)
            todo.extend(one._parents)
    return order[::-1]


@misconception(
    "topological_order",
    tell="Only the result and its direct parents are in your list. Their parents belong to it too, and so on.",
)
def direct_parents_only(value: Any) -> list[Any]:
    return [*{id(parent): parent for parent in value._parents}.values(), value]


@misconception("topological_order", tell="The result itself is missing: it is the last of the list.")
def without_itself(value: Any) -> list[Any]:
    order: list[Any] = []
    seen: set[int] = set()
    todo = [(value, False)]
    while todo:
        one, is_done = todo.pop()
        if is_done:
            order.append(one)
        elif id(one) not in seen:
            seen.add(id(one))
            todo += [(one, True), *((parent, False) for parent in one._parents)]
    return order[:-1]


@misconception(
    "topological_order",
    tell="You remember the numbers that you have seen, so of two values with equal numbers one is missing. Remember "
    "the values themselves: id(value) tells them apart.",
)
def equal_numbers_are_one(value: Any) -> list[Any]:
    order: list[Any] = []
    seen: set[float] = set()
    todo = [(value, False)]
    while todo:
        one, is_done = todo.pop()
        if is_done:
            order.append(one)
        elif one.data not in seen:
            seen.add(one.data)
            todo += [(one, True), *((parent, False) for parent in one._parents)]
    return order


# ---------------------------------------------------------------- backward


def _order(value: Any) -> list[Any]:
    order: list[Any] = []
    seen: set[int] = set()
    todo = [(value, False)]
    while todo:
        one, is_done = todo.pop()
        if is_done:
            order.append(one)
        elif id(one) not in seen:
            seen.add(id(one))
            todo += [(one, True), *((parent, False) for parent in one._parents)]
    return order


def _slopes(one: Any) -> list[float]:
    """How fast a value changes with each of its parents."""
    a, b = ([parent.data for parent in one._parents] + [0.0, 0.0])[:2]
    match one._operation:
        case "+":
            return [1.0, 1.0]
        case "*":
            return [b, a]
        case "**":
            return [b * a ** (b - 1), 0.0]
        case "exp":
            return [one.data]
        case "log":
            return [1 / a]
        case "tanh":
            return [1 - one.data**2]
    return []


def _backward(value: Any, slopes: Callable[[Any], list[float]]) -> None:
    """The right way back, on which the derivatives may be wrong."""
    order = _order(value)
    for one in order:
        one.grad = 0.0
    value.grad = 1.0
    for one in reversed(order):
        for parent, slope in zip(one._parents, slopes(one)):
            parent.grad += one.grad * slope


@misconception(
    "backward",
    tell="A value that is used twice has the gradient of one use only: you overwrite .grad. Add each share: +=.",
)
def overwrites(value: Any) -> None:
    order = _order(value)
    for one in order:
        one.grad = 0.0
    value.grad = 1.0
    for one in reversed(order):
        for parent, slope in zip(one._parents, _slopes(one)):
            parent.grad = one.grad * slope


@misconception(
    "backward",
    tell="Your gradients are right, but you follow every path from the result on its own, and their number doubles "
    "with each value that is used twice. Go through topological_order backwards, and visit each value once.",
)
def once_for_each_path(value: Any) -> None:
    for one in _order(value):
        one.grad = 0.0
    _follow(value, 1.0)


def _follow(value: Any, share: float) -> None:
    value.grad += share
    for parent, slope in zip(value._parents, _slopes(value)):
        _follow(parent, share * slope)


@misconception(
    "backward",
    tell="A value to which several paths lead hands its gradient on once for each of them, and each time all that "
    "it has got until then: too much arrives. Hand it on once, when all shares are there: topological_order backwards.",
)
def hands_on_again(value: Any) -> None:
    for one in _order(value):
        one.grad = 0.0
    value.grad = 1.0
    _hand_on(value)


def _hand_on(value: Any) -> None:
    for parent, slope in zip(value._parents, _slopes(value)):
        parent.grad += value.grad * slope
        _hand_on(parent)


@misconception(
    "backward",
    tell="You go from the inputs to the result, but gradients flow the other way: the result has its 1 first. Go "
    "through topological_order backwards.",
)
def forwards(value: Any) -> None:
    order = _order(value)
    for one in order:
        one.grad = 0.0
    value.grad = 1.0
    for one in order:
        for parent, slope in zip(one._parents, _slopes(one)):
            parent.grad += one.grad * slope


@misconception(
    "backward",
    tell="Each value gets the derivative of the last operation alone. By the chain rule, it is multiplied by the "
    "gradient that has arrived at the result of that operation.",
)
def forgets_the_chain(value: Any) -> None:
    order = _order(value)
    for one in order:
        one.grad = 0.0
    value.grad = 1.0
    for one in reversed(order):
        for parent, slope in zip(one._parents, _slopes(one)):
            parent.grad += slope


@misconception(
    "backward",
    tell="A second call adds to the gradients of the first. Set the gradient of every value in the graph to 0 "
    "before you begin.",
)
def keeps_old_gradients(value: Any) -> None:
    value.grad = 1.0
    for one in reversed(_order(value)):
        for parent, slope in zip(one._parents, _slopes(one)):
            parent.grad += one.grad * slope


@misconception(
    "backward",
    tell="Only the inputs' gradients are cleared at the start. Those of the values in between are sums too: clear "
    "every value in the graph.",
)
def clears_the_inputs_only(value: Any) -> None:
    order = _order(value)
    for one in order:
        if not one._parents:
            one.grad = 0.0
    value.grad = 1.0
    for one in reversed(order):
        for parent, slope in zip(one._parents, _slopes(one)):
            parent.grad += one.grad * slope


@misconception(
    "backward",
    tell="All gradients are 0: nothing is there to be handed on. The gradient of the result with respect to itself "
    "is 1.",
)
def never_begins(value: Any) -> None:
    order = _order(value)
    for one in order:
        one.grad = 0.0
    for one in reversed(order):
        for parent, slope in zip(one._parents, _slopes(one)):
            parent.grad += one.grad * slope


def _wrong(operation: str, wrong: Callable[[Any], list[float]]) -> Callable[[Any], list[float]]:
    """The derivatives, but for one operation."""
    return lambda one: wrong(one) if one._operation == operation else _slopes(one)


@misconception("backward", tell="The derivative of tanh is 1 - y², with its result y. You have 1 - y.")
def one_minus_y(value: Any) -> None:
    _backward(value, _wrong("tanh", lambda one: [1 - one.data]))


@misconception(
    "backward", tell="The derivative of tanh is 1 - y² with its *result* y. You have 1 - x² with what goes in."
)
def one_minus_x_squared(value: Any) -> None:
    _backward(value, _wrong("tanh", lambda one: [1 - one._parents[0].data ** 2]))


@misconception("backward", tell="The derivative of tanh is 1 - y², with its result y. You have y itself.")
def tanh_for_its_derivative(value: Any) -> None:
    _backward(value, _wrong("tanh", lambda one: [one.data]))


@misconception("backward", tell="The derivative of a ** n is n * a ** (n - 1). Your exponent is not one less.")
def power_keeps_its_exponent(value: Any) -> None:
    _backward(value, _wrong("**", lambda one: [one._parents[1].data * one.data, 0.0]))


@misconception("backward", tell="The derivative of a ** n is n * a ** (n - 1). The factor n is missing.")
def power_without_its_factor(value: Any) -> None:
    _backward(value, _wrong("**", lambda one: [one.data / one._parents[0].data, 0.0]))


@misconception(
    "backward", tell="In a product each factor gets the *other* one as its derivative. You gave each its own number."
)
def own_factor_for_the_other(value: Any) -> None:
    _backward(value, _wrong("*", lambda one: [parent.data for parent in one._parents]))


@misconception("backward", tell="exp is its own derivative: the number that comes out. You have what goes in.")
def input_for_the_exponential(value: Any) -> None:
    _backward(value, _wrong("exp", lambda one: [one._parents[0].data]))


@misconception(
    "backward", tell="The derivative of log is 1 / a with what goes in. You have 1 over the logarithm itself."
)
def one_over_the_logarithm(value: Any) -> None:
    _backward(value, _wrong("log", lambda one: [1 / one.data]))


@misconception("backward", tell="The derivative of a / b with respect to b is -a / b². You have the sign wrong.")
def division_without_its_sign(value: Any) -> None:
    def slopes(one: Any) -> list[float]:
        return [one.data**2, 0.0] if one._operation == "**" and one._parents[1].data == -1 else _slopes(one)

    _backward(value, slopes)


@misconception(
    "backward",
    part="Value",
    tell="With respect to b, the derivative of a - b is -1, not 1.",
    name="minus_counts_as_plus",
)
class MinusCountsAsPlus(_Value):
    def __sub__(self, other: Any) -> Any:
        other = self._as_value(other)
        return self._result("+", self.data - other.data, self, other)

    def __rsub__(self, other: float) -> Any:
        return self._as_value(other) - self


# ---------------------------------------------------------------- Neuron


class _Neuron:
    """The right one, for wrong ones to differ from; it uses the Value of the solution."""

    def __init__(self, weights: Sequence[float], bias: float) -> None:
        from graph import Value

        self.weights = [Value(weight) for weight in weights]
        self.bias = Value(bias)

    def __call__(self, inputs: Sequence[float]) -> Any:
        total = self.bias
        for weight, x in zip(self.weights, inputs):
            total = total + weight * x
        return total.tanh()

    def parameters(self) -> list[Any]:
        return [*self.weights, self.bias]


@misconception("Neuron", tell="The bias is not in your sum: tanh(w · x + b).", name="no_bias")
class NoBias(_Neuron):
    def __call__(self, inputs: Sequence[float]) -> Any:
        return sum(weight * x for weight, x in zip(self.weights, inputs)).tanh()


@misconception("Neuron", tell="You return the weighted sum itself. The neuron's output is its tanh.", name="no_tanh")
class NoTanh(_Neuron):
    def __call__(self, inputs: Sequence[float]) -> Any:
        return sum((weight * x for weight, x in zip(self.weights, inputs)), self.bias)


@misconception(
    "Neuron",
    tell="You take tanh of every product. It is taken once, of the whole sum with the bias.",
    name="tanh_of_each_product",
)
class TanhOfEachProduct(_Neuron):
    def __call__(self, inputs: Sequence[float]) -> Any:
        return sum(((weight * x).tanh() for weight, x in zip(self.weights, inputs)), self.bias)


@misconception(
    "Neuron", tell="The bias is added outside of the tanh. It belongs to the sum inside.", name="bias_outside"
)
class BiasOutside(_Neuron):
    def __call__(self, inputs: Sequence[float]) -> Any:
        return sum(weight * x for weight, x in zip(self.weights, inputs)).tanh() + self.bias


@misconception("Neuron", tell="parameters() has the bias first. The weights come first.", name="bias_first")
class BiasFirst(_Neuron):
    def parameters(self) -> list[Any]:
        return [self.bias, *self.weights]


@misconception(
    "Neuron", tell="parameters() has the weights alone. The bias is learned too: it is the last.", name="weights_only"
)
class WeightsOnly(_Neuron):
    def parameters(self) -> list[Any]:
        return list(self.weights)


@misconception(
    "Neuron",
    tell="parameters() makes new values each time: gradients reach those that the output was computed from, and nobody "
    "ever sees them. Make the values once, in __init__.",
    name="new_values_each_time",
)
class NewValuesEachTime(_Neuron):
    def parameters(self) -> list[Any]:
        from graph import Value

        return [Value(one.data) for one in (*self.weights, self.bias)]


@misconception(
    "Neuron",
    tell="The output is a plain number, so no gradient can flow back from it. Compute it from the values, not from "
    "their data.",
    name="output_is_a_number",
)
class OutputIsANumber(_Neuron):
    def __call__(self, inputs: Sequence[float]) -> Any:
        return math.tanh(sum(weight.data * x for weight, x in zip(self.weights, inputs)) + self.bias.data)


# ---------------------------------------------------------------- fit_neuron


def _fit(neuron: Any, data: Sequence[Any], steps: int, lr: float, share: float | None = None) -> list[Any]:
    """The right training, whose loss may be divided by another number."""
    from graph import backward

    losses = []
    for _ in range(steps):
        total = sum((neuron(inputs) - target) ** 2 for inputs, target in data)
        loss = total / (len(data) if share is None else share)
        backward(loss)
        for parameter in neuron.parameters():
            parameter.data -= lr * parameter.grad
        losses.append(loss)
    return losses


@misconception(
    "fit_neuron",
    tell="You add up the squared errors. The loss is their mean: else the steps grow with the number of examples.",
)
def sum_for_mean(neuron: Any, data: Sequence[Any], steps: int, lr: float) -> list[float]:
    return [loss.data for loss in _fit(neuron, data, steps, lr, 1.0)]


@misconception(
    "fit_neuron", tell="Your loss is half of the mean squared error, and so are the steps. There is no 1/2 here."
)
def half_of_the_error(neuron: Any, data: Sequence[Any], steps: int, lr: float) -> list[float]:
    return [loss.data for loss in _fit(neuron, data, steps, lr, 2.0 * len(data))]


@misconception(
    "fit_neuron",
    tell="Your parameters move along the gradient, so that the loss grows. They must move against it: p - lr * grad.",
)
def climbs(neuron: Any, data: Sequence[Any], steps: int, lr: float) -> list[float]:
    return [loss.data for loss in _fit(neuron, data, steps, -lr)]


@misconception("fit_neuron", tell="Your list has values. A loss to look at is a plain number: loss.data.")
def losses_are_values(neuron: Any, data: Sequence[Any], steps: int, lr: float) -> list[Any]:
    return _fit(neuron, data, steps, lr)


@misconception("fit_neuron", tell="You make a step after each example. One step uses the mean over all of them.")
def one_step_for_each_example(neuron: Any, data: Sequence[Any], steps: int, lr: float) -> list[float]:
    losses = []
    for _ in range(steps):
        found = [_fit(neuron, [one], 1, lr)[0].data for one in data]
        losses.append(sum(found) / len(found))
    return losses


@misconception(
    "fit_neuron",
    tell="Your losses are those after the steps. The first one in the list is the loss before anything has moved.",
)
def loss_after_the_step(neuron: Any, data: Sequence[Any], steps: int, lr: float) -> list[float]:
    losses = []
    for _ in range(steps):
        _fit(neuron, data, 1, lr)
        losses.append(sum((neuron(inputs).data - target) ** 2 for inputs, target in data) / len(data))
    return losses


@misconception(
    "fit_neuron",
    tell="Nothing has moved: a new Value bound to the name of your loop is not in the neuron. Change parameter.data.",
)
def rebinds_the_name(neuron: Any, data: Sequence[Any], steps: int, lr: float) -> list[float]:
    from graph import Value

    losses = []
    for _ in range(steps):
        (loss,) = _fit(neuron, data, 1, 0.0)
        for parameter in neuron.parameters():
            parameter = Value(parameter.data - lr * parameter.grad)  # noqa: PLW2901
        losses.append(loss.data)
    return losses


@misconception(
    "fit_neuron",
    tell="Each step still has the gradients of those before it in it. Only the gradient of this step counts.",
)
def gradients_add_up(neuron: Any, data: Sequence[Any], steps: int, lr: float) -> list[float]:
    losses, kept = [], [0.0 for _ in neuron.parameters()]
    for _ in range(steps):
        (loss,) = _fit(neuron, data, 1, 0.0)
        kept = [old + parameter.grad for old, parameter in zip(kept, neuron.parameters())]
        for parameter, grad in zip(neuron.parameters(), kept):
            parameter.data -= lr * grad
        losses.append(loss.data)
    return losses
