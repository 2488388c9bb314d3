import math


class Value:
    """Each result has a function that hands its gradient on."""

    def __init__(self, data, parents=(), op=""):
        self.data = data * 1.0
        self.grad = 0.0
        self.parents = set(parents)
        self.op = op
        self.hand_on = lambda: None

    def __repr__(self):
        return f"Value({self.data})"

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def hand_on():
            self.grad += out.grad
            other.grad += out.grad

        out.hand_on = hand_on
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def hand_on():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.hand_on = hand_on
        return out

    def __pow__(self, n):
        out = Value(self.data ** n, (self,), "**")

        def hand_on():
            self.grad += n * self.data ** (n - 1) * out.grad

        out.hand_on = hand_on
        return out

    def exp(self):
        out = Value(math.exp(self.data), (self,), "exp")

        def hand_on():
            self.grad += out.data * out.grad

        out.hand_on = hand_on
        return out

    def log(self):
        out = Value(math.log(self.data), (self,), "log")

        def hand_on():
            self.grad += out.grad / self.data

        out.hand_on = hand_on
        return out

    def tanh(self):
        t = (math.exp(2 * self.data) - 1) / (math.exp(2 * self.data) + 1)
        out = Value(t, (self,), "tanh")

        def hand_on():
            self.grad += (1 - t * t) * out.grad

        out.hand_on = hand_on
        return out

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return other + (-self)

    def __truediv__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return self * other ** -1

    def __rtruediv__(self, other):
        return other * self ** -1

    __radd__ = __add__
    __rmul__ = __mul__


def topological_order(value):
    """Kahn's: how many uses of each are still to come."""
    uses, found, todo = {}, [], [value]
    known = {value}
    while todo:
        for parent in todo.pop().parents:
            uses[parent] = uses.get(parent, 0) + 1
            if parent not in known:
                known.add(parent)
                todo.append(parent)
    ready = [value]
    while ready:
        one = ready.pop()
        found.append(one)
        for parent in one.parents:
            uses[parent] -= 1
            if not uses[parent]:
                ready.append(parent)
    found.reverse()
    return found


def backward(value):
    order = topological_order(value)
    for one in order:
        one.grad = 0
    value.grad = 1
    while order:
        order.pop().hand_on()


class Neuron:
    def __init__(self, weights, bias):
        self.w = list(map(Value, weights))
        self.b = Value(bias)

    def __call__(self, inputs):
        return sum((w * x for w, x in zip(self.w, inputs)), self.b).tanh()

    def parameters(self):
        return self.w + [self.b]


def fit_neuron(neuron, data, steps, lr):
    losses = []
    for _ in range(steps):
        errors = [(neuron(x) - y) ** 2 for x, y in data]
        loss = sum(errors) * (1 / len(errors))
        losses.append(loss.data)
        backward(loss)
        for p in neuron.parameters():
            p.data += -lr * p.grad
    return losses
