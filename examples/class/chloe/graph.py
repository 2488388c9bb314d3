import itertools
import math

_count = itertools.count()

DERIVATIVES = {
    "+": lambda r, a, b: (1.0, 1.0),
    "-": lambda r, a, b: (1.0, -1.0),
    "*": lambda r, a, b: (b.data, a.data),
    "/": lambda r, a, b: (1.0 / b.data, -r.data / b.data),
    "**": lambda r, a, n: (n.data * a.data ** (n.data - 1), 0.0),
    "neg": lambda r, a: (-1.0,),
    "exp": lambda r, a: (r.data,),
    "log": lambda r, a: (1 / a.data,),
    "tanh": lambda r, a: (1 / math.cosh(a.data) ** 2,),
}


class Value:
    """Numbered as they are made; what an operation means for gradients stands in a table."""

    __slots__ = ("data", "grad", "parents", "operation", "number")

    def __init__(self, data, parents=(), operation=None):
        self.data, self.grad = float(data), 0.0
        self.parents, self.operation = list(parents), operation
        self.number = next(_count)


def _operator(symbol, compute, swapped=False):
    def method(self, other):
        if not isinstance(other, Value):
            other = Value(other)
        left, right = (other, self) if swapped else (self, other)
        return Value(compute(left.data, right.data), (left, right), symbol)

    return method


for _name, _symbol, _compute in (
    ("add", "+", lambda a, b: a + b),
    ("sub", "-", lambda a, b: a - b),
    ("mul", "*", lambda a, b: a * b),
    ("truediv", "/", lambda a, b: a / b),
):
    setattr(Value, f"__{_name}__", _operator(_symbol, _compute))
    setattr(Value, f"__r{_name}__", _operator(_symbol, _compute, swapped=True))
Value.__pow__ = _operator("**", lambda a, b: a**b)
Value.__neg__ = lambda self: Value(-self.data, (self,), "neg")
for _name in ("exp", "log", "tanh"):
    setattr(Value, _name, lambda self, name=_name: Value(getattr(math, name)(self.data), (self,), name))


def topological_order(value):
    """What was made earlier was computed earlier."""
    found, todo = {value.number: value}, [value]
    while todo:
        for parent in todo.pop().parents:
            if parent.number not in found:
                found[parent.number] = parent
                todo.append(parent)
    return [found[number] for number in sorted(found)]


def backward(value):
    shares = {value.number: [1.0]}
    for one in topological_order(value)[::-1]:
        one.grad = math.fsum(shares.pop(one.number, ()))
        if one.operation:
            slopes = DERIVATIVES[one.operation](one, *one.parents)
            for parent, slope in zip(one.parents, slopes):
                shares.setdefault(parent.number, []).append(slope * one.grad)


class Neuron:
    def __init__(self, weights, bias):
        self._all = [Value(number) for number in [*weights, bias]]

    def __call__(self, inputs):
        found = Value(0)
        for parameter, x in zip(self._all, [*inputs, 1]):
            found = found + x * parameter
        return found.tanh()

    def parameters(self):
        return self._all


def fit_neuron(neuron, data, steps, lr):
    parameters, losses = neuron.parameters(), []
    while len(losses) < steps:
        losses.append(_step(neuron, parameters, data, lr))
    return losses


def _step(neuron, parameters, data, lr):
    loss = Value(0)
    for inputs, target in data:
        error = target - neuron(inputs)
        loss = loss + error * error / len(data)
    backward(loss)
    for parameter in parameters:
        parameter.data = parameter.data - parameter.grad * lr
    return loss.data
