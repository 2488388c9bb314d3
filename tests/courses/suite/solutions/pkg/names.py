import collections
from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

import torch

KNOWN = {}


class Shape(ABC):
    def __init_subclass__(cls):
        KNOWN[cls.__name__] = cls

    @abstractmethod
    def area(self): ...


class Circle(Shape):
    __match_args__ = ("r",)

    def __init__(self, r):
        self.r = r

    def area(self):
        return 3 * self.r**2


class Square(Circle):
    def area(self):
        return self.r**2


@runtime_checkable
class Measured(Protocol):
    def area(self): ...


def double(x):
    return 2 * x


def make(kind, size):
    return {"circle": Circle, "square": Square}[kind](size)


def words():
    return {Circle: "round", Square: "edged"}


ACTIVATIONS = {"double": double, "tanh": torch.tanh}


def activation(name):
    return ACTIVATIONS[name]


class Scaled(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.by = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.inner(x) * self.by


def scaled(model):
    for name, layer in list(model.named_children()):
        setattr(model, name, Scaled(layer))


def squeezed(x):
    x.unsqueeze_(0)


class Learner:
    def __init__(self, callbacks):
        self.callbacks = callbacks
        for one in callbacks:
            one.learner = self

    def fit(self):
        self.loss = 0.5
        for one in self.callbacks:
            one.after_fit()


class Agent:
    def __init__(self):
        self.values = collections.defaultdict(lambda: [0, 0])

    def best(self, state):
        return max(self.values[state])


def first_of(table):
    return table["first"]


def known(name):
    return KNOWN[name]


def tracked(x):
    return x.requires_grad_()


class Kept:
    def update(self, x):
        self.value = x.requires_grad_()


def doubled(match):
    return str(2 * int(match[0]))
