"""Models as computation graphs: a tiny autograd of your own.

Every number knows what it was computed from. Going through these links backwards, from a result to its inputs, gives
all gradients: that is what torch does. Here a value is one plain Python number, so that you can see every step. There
is no torch in this topic.

Read:
- PyTorch docs, Autograd mechanics: https://docs.pytorch.org/docs/stable/notes/autograd.html
- PyTorch blog, Overview of the autograd engine: https://pytorch.org/blog/overview-of-pytorch-autograd-engine/
- Dive into Deep Learning, Backpropagation: https://d2l.ai/chapter_multilayer-perceptrons/backprop.html
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


class Value:
    """A number that knows what it was computed from.

    Arithmetic on values gives new values and changes none: ``+ - * /``, the minus in ``-a``, ``a ** number``, and the
    methods ``exp``, ``log`` and ``tanh``. Next to ``+ - * /`` there may be a plain number instead of a value, on either
    side.

    Attributes:
        data: the number, a Python float.
        grad: the gradient, 0.0 until ``backward`` writes it.

    Each result remembers the values that it was computed from, and ``topological_order`` and ``backward`` will need
    that. In which form it is kept, and where the derivative of each operation is written down, is your choice.

    Example:
        >>> a, b = Value(2), Value(-3.0)
        >>> (a * b + 10).data, (1 / a).data, (a ** 3).data, a.grad
        (4.0, 0.5, 8.0, 0.0)

    Read: Raschka, "PyTorch in One Hour", "Seeing models as computation graphs"; Python docs, "Emulating numeric types"
    (when is ``__radd__`` called?).
    """

    def __init__(self, data: float, parents: Iterable[Value] = ()) -> None:
        """A value that has no gradient yet.

        Args:
            data: an int or a float.
            parents: what it was computed from; nothing for a number that somebody wrote down.
        """
        # solution: keep the number as a float; the operators below may keep more
        self.data = float(data)
        self.grad = 0.0
        self._parents = tuple(parents)
        self._operation = ""
        # end

    # solution: each gives a new Value, which knows its parents and the operation
    def __add__(self, other: Value | float) -> Value:
        """``self + other``."""
        other = self._as_value(other)
        return self._result("+", self.data + other.data, self, other)

    def __radd__(self, other: float) -> Value:
        """``other + self``, for a number on the left."""
        return self + other

    def __sub__(self, other: Value | float) -> Value:
        """``self - other``."""
        return self + -self._as_value(other)

    def __rsub__(self, other: float) -> Value:
        """``other - self``, for a number on the left."""
        return -self + other

    def __mul__(self, other: Value | float) -> Value:
        """``self * other``."""
        other = self._as_value(other)
        return self._result("*", self.data * other.data, self, other)

    def __rmul__(self, other: float) -> Value:
        """``other * self``, for a number on the left."""
        return self * other

    def __truediv__(self, other: Value | float) -> Value:
        """``self / other``."""
        return self * self._as_value(other) ** -1

    def __rtruediv__(self, other: float) -> Value:
        """``other / self``, for a number on the left."""
        return self**-1 * other

    def __neg__(self) -> Value:
        """``-self``."""
        return self * -1

    def __pow__(self, exponent: float) -> Value:
        """``self ** exponent``, for a plain number as exponent."""
        return self._result("**", self.data**exponent, self, Value(exponent))

    def exp(self) -> Value:
        """e to the power of ``self``."""
        return self._result("exp", math.exp(self.data), self)

    def log(self) -> Value:
        """The natural logarithm of ``self``, which is positive."""
        return self._result("log", math.log(self.data), self)

    def tanh(self) -> Value:
        """The hyperbolic tangent of ``self``."""
        return self._result("tanh", math.tanh(self.data), self)

    @staticmethod
    def _as_value(other: Value | float) -> Value:
        return other if isinstance(other, Value) else Value(other)

    @staticmethod
    def _result(operation: str, data: float, *parents: Value) -> Value:
        result = Value(data, parents)
        result._operation = operation
        return result

    # end


def topological_order(value: Value) -> list[Value]:
    """All values that take part in a result, in an order in which it could be computed.

    Args:
        value: the result. The graph behind it may be deep, such as a sum of 5,000 numbers: no recursion error. There
            may be many paths to one value; the time it takes grows with the values, not with the paths.

    Returns:
        A list of every value that ``value`` was computed from, directly or by others, and ``value`` itself as the last
        one. Each is there once, after everything that it was computed from. Data and gradients are as before.

    Example:
        >>> a, b = Value(2.0), Value(3.0)
        >>> c = a * b
        >>> d = c + a
        >>> order = topological_order(d)
        >>> order[-1] is d, order.index(a) < order.index(c), order.index(b) < order.index(c) < order.index(d)
        (True, True, True)

    Read: Wikipedia, "Topological sorting" (depth-first search); Python docs, `sys.setrecursionlimit`, for what happens
    to a function that calls itself 5,000 times.
    """
    # solution: depth-first, with a list of what is still to do in place of calls of the function itself
    order: list[Value] = []
    seen: set[int] = set()
    todo = [(value, False)]
    while todo:
        current, parents_are_done = todo.pop()
        if parents_are_done:
            order.append(current)
        elif id(current) not in seen:
            seen.add(id(current))
            todo.append((current, True))
            todo.extend((parent, False) for parent in current._parents)
    return order
    # end


def backward(value: Value) -> None:
    """The gradient of a result with respect to every value in its graph.

    Afterwards ``.grad`` of each value that ``value`` was computed from is d ``value`` / d it: how fast the result
    changes with that value. If it reaches the result by several paths, all of them are added up. ``value.grad`` is 1.0.

    Args:
        value: the result. What stood in ``.grad`` before, from an earlier call, does not count: the gradients are set
            anew. Each value hands its gradient on once, so the time grows with the values, not with the paths.

    Example:
        >>> a, b = Value(2.0), Value(3.0)
        >>> d = a * b + a
        >>> backward(d)
        >>> a.grad, b.grad
        (4.0, 2.0)

    Read: Raschka, "PyTorch in One Hour", "Automatic differentiation made easy"; Dive into Deep Learning,
    "Backpropagation".
    """
    # solution: clear, then from the result to the inputs: hand to each parent its share
    order = topological_order(value)
    for one in order:
        one.grad = 0.0
    value.grad = 1.0
    for one in reversed(order):
        match one._operation, one._parents:
            case "+", (a, b):
                a.grad += one.grad
                b.grad += one.grad
            case "*", (a, b):
                a.grad += one.grad * b.data
                b.grad += one.grad * a.data
            case "**", (a, n):
                a.grad += one.grad * n.data * a.data ** (n.data - 1)
            case "exp", (a,):
                a.grad += one.grad * one.data
            case "log", (a,):
                a.grad += one.grad / a.data
            case "tanh", (a,):
                a.grad += one.grad * (1 - one.data**2)
    # end


class Neuron:
    """``tanh(w · x + b)``: a weighted sum of the inputs and a bias, squeezed into -1 to 1.

    Example:
        >>> neuron = Neuron([0.5, -1.0], 0.25)
        >>> out = neuron([2.0, 1.0])
        >>> round(out.data, 4)
        0.2449
        >>> backward(out)
        >>> [p.data for p in neuron.parameters()], [round(p.grad, 4) for p in neuron.parameters()]
        ([0.5, -1.0, 0.25], [1.88, 0.94, 0.94])

    Read: Raschka, "PyTorch in One Hour", "Seeing models as computation graphs"; Dive into Deep Learning, "Linear
    Regression" (as a neural network).
    """

    def __init__(self, weights: Sequence[float], bias: float) -> None:
        """Make a `Value` of each weight and of the bias.

        Args:
            weights: plain numbers, one for each input.
            bias: a plain number.
        """
        # solution: the same values for as long as the neuron lives
        self.weights = [Value(weight) for weight in weights]
        self.bias = Value(bias)
        # end

    def __call__(self, inputs: Sequence[float]) -> Value:
        """The output for one example.

        Args:
            inputs: plain numbers, as many as weights.

        Returns:
            A `Value` in whose graph the neuron's parameters are.
        """
        # solution: the weighted sum, then its tanh
        total = self.bias
        for weight, x in zip(self.weights, inputs, strict=True):
            total = total + weight * x
        return total.tanh()
        # end

    def parameters(self) -> list[Value]:
        """The weights in their order, then the bias: the values themselves, every time the same ones."""
        # solution: one line
        return [*self.weights, self.bias]
        # end


def fit_neuron(neuron: Neuron, data: Sequence[tuple[Sequence[float], float]], steps: int, lr: float) -> list[float]:
    """Train a neuron by gradient descent.

    The loss is the mean over all examples of ``(neuron(inputs) - target) ** 2``. Each step takes the gradient over all
    of the data, and moves every parameter: ``p = p - lr * (d loss / d p)``. Only the gradient of that step counts.

    Args:
        neuron: afterwards ``neuron.parameters()`` has the new numbers.
        data: pairs of inputs and target, all plain numbers; at least one. Not changed.
        steps: how many steps; 0 changes nothing.
        lr: the learning rate.

    Returns:
        A list with the loss before each step, as plain floats. To nine digits it is what torch finds in float64.

    Example:
        >>> neuron = Neuron([0.0], 0.0)
        >>> losses = fit_neuron(neuron, [([1.0], 1.0), ([-1.0], -1.0)], steps=2, lr=0.5)
        >>> [round(loss, 4) for loss in losses]
        [1.0, 0.0568]
        >>> [round(p.data, 4) for p in neuron.parameters()]
        [1.1001, 0.0]

    Read: Raschka, "Build a Large Language Model (From Scratch)", appendix A.7 "A typical training loop".
    """
    # solution: build the loss of one step, go backward, move each parameter's number
    losses = []
    for _ in range(steps):
        total = Value(0.0)
        for inputs, target in data:
            total = total + (neuron(inputs) - target) ** 2
        loss = total / len(data)
        backward(loss)
        for parameter in neuron.parameters():
            parameter.data -= lr * parameter.grad
        losses.append(loss.data)
    return losses
    # end
