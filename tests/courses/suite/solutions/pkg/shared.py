"""Objects and functions that keep what they are given."""

import numpy as np
import torch

_sinks, _told = [], []


class Keeper:
    """Keeps a list, dict, set, deque, array or tensor, and changes it later."""

    def __init__(self, kept=None):
        self.kept = kept

    def add(self, *items):
        put = getattr(self.kept, "append", None) or self.kept.add
        for item in items:
            put(item)
        return len(self.kept)

    def count(self, word):
        self.kept[word] = self.kept.get(word, 0) + 1
        return self.kept[word]

    def halve(self):
        self.kept *= 0.5

    def total(self):
        return sum(self.kept)

    def first(self):
        return next(iter(self.kept.items()))

    def last_first(self):
        for key in [*self.kept][:-1]:
            self.kept[key] = self.kept.pop(key)

    def set(self, row, column, value):
        self.kept[row][column] = value

    def keep(self, kept):
        self.kept = kept
        if not kept:
            raise ValueError("empty")

    def draw(self, uses):
        return [getattr(self.kept, name)(*args) for name, *args in uses]


class Descent:
    """Gradient descent on the numbers themselves."""

    def __init__(self, params, rate=0.5):
        self.params, self.rate = params, rate

    def step(self, grads):
        for param, grad in zip(self.params, grads, strict=True):
            param -= self.rate * grad


class Layer:
    def __init__(self, params):
        self.W, self.b = params["W"], params["b"]
        self.params = params

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, grad):
        return {"W": self.x.T @ grad, "b": np.sum(grad, axis=0)}


def slopes(function, x):
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        before = x[at]
        x[at] = before + 0.5
        found[at] = 2 * function(x)
        x[at] = before
        found[at] -= 2 * function(x)
    return found


def append_between(kept, functions):
    for function in functions:
        kept.append(len(kept))
        function()
    return kept


def listen(sink):
    _sinks.append(sink)


def told():
    return _told


def tell(item):
    _told.append(item)
    for sink in _sinks:
        sink.append(item)


def counter(counts):
    def count(word):
        counts[word] = counts.get(word, 0) + 1
        return counts[word]

    return count


def pump(source, sink):
    return [sink.send(one) for one in source]


def fill(out):
    yield 1
    out.append("a")
    yield 2
    out.append("b")


def noise(generator, seed):
    if seed:
        generator.manual_seed(seed)
    return torch.randn(3, generator=generator).tolist()


def turned(x):
    return x.T


def halves(x):
    return x.split(1)


def reversed_part(x):
    return x[2:0:-1]


def conjugate(x):
    return x.conj()


class Made:
    def __init__(self, made):
        self.made = made


class Records:
    def __init__(self):
        self.of_numbers = np.zeros(2, dtype=[("a", "i4"), ("b", "f8")])
        self.of_objects = np.array([Made(1), Made(2)])
        self._grid = np.zeros((2, 2))

    def row(self, number):
        return self._grid[number]

    def total(self):
        return float(self._grid.sum())
