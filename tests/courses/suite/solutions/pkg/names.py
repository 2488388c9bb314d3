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
