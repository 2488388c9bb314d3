from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field


@dataclass(eq=False)
class Value:
    """The parents are pairs of a value and the slope towards it."""

    data: float
    parents: tuple = ()
    grad: float = field(default=0.0, init=False)

    def __post_init__(self):
        self.data = float(self.data)

    def __add__(self, other):
        if isinstance(other, (int, float)):
            return Value(self.data + other, ((self, 1.0),))
        return Value(self.data + other.data, ((self, 1.0), (other, 1.0)))

    def __radd__(self, other):
        return self.__add__(other)

    def __sub__(self, other):
        if isinstance(other, (int, float)):
            return Value(self.data - other, ((self, 1.0),))
        return Value(self.data - other.data, ((self, 1.0), (other, -1.0)))

    def __rsub__(self, other):
        return Value(other - self.data, ((self, -1.0),))

    def __mul__(self, other):
        if isinstance(other, (int, float)):
            return Value(self.data * other, ((self, other),))
        return Value(self.data * other.data, ((self, other.data), (other, self.data)))

    def __rmul__(self, other):
        return self.__mul__(other)

    def __truediv__(self, other):
        if isinstance(other, (int, float)):
            return Value(self.data / other, ((self, 1 / other),))
        return Value(self.data / other.data, ((self, 1 / other.data), (other, -self.data / other.data / other.data)))

    def __rtruediv__(self, other):
        return Value(other / self.data, ((self, -other / self.data / self.data),))

    def __neg__(self):
        return 0 - self

    def __pow__(self, n):
        return Value(math.pow(self.data, n), ((self, n * math.pow(self.data, n - 1)),))

    def exp(self):
        return Value(math.e**self.data, ((self, math.e**self.data),))

    def log(self):
        return Value(math.log2(self.data) / math.log2(math.e), ((self, self.data**-1),))

    def tanh(self):
        e = math.exp(-2 * abs(self.data))
        t = math.copysign((1 - e) / (1 + e), self.data)
        return Value(t, ((self, (1 + t) * (1 - t)),))


def topological_order(value):
    """With a recursion that may go deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    order, seen = [], set()

    def visit(one):
        seen.add(one)
        for parent, _ in one.parents:
            if parent not in seen:
                visit(parent)
        order.append(one)

    try:
        visit(value)
    finally:
        sys.setrecursionlimit(before)
    return order


def backward(value):
    grads = {value: 1.0}
    for one in reversed(topological_order(value)):
        one.grad = grads[one]
        for parent, slope in one.parents:
            grads[parent] = grads.get(parent, 0.0) + slope * one.grad


class Neuron:
    def __init__(self, weights, bias):
        self.bias = Value(bias)
        self.weights = tuple(Value(w) for w in weights)

    def forward(self, inputs):
        found = self.bias
        for i in range(len(inputs)):
            found = self.weights[i] * Value(inputs[i]) + found
        return found.tanh()

    __call__ = forward

    def parameters(self):
        return list(self.weights) + [self.bias]


def fit_neuron(neuron, data, steps, lr):
    """The gradient of the mean is the mean of the gradients."""
    losses = []
    for _ in range(steps):
        grads = [0.0] * len(neuron.parameters())
        total = 0.0
        for inputs, target in data:
            error = (neuron(inputs) - target) ** 2
            backward(error)
            total += error.data
            for i, parameter in enumerate(neuron.parameters()):
                grads[i] += parameter.grad / len(data)
        for parameter, grad in zip(neuron.parameters(), grads):
            parameter.data -= lr * grad
        losses.append(total / len(data))
    return losses
