import logging
from dataclasses import dataclass

from .deep.ops import add

LIMIT = 3


class BadScalar(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.text = text


@dataclass(frozen=True)
class Still:
    x: int


class Scalar:
    def __init__(self, data):
        if isinstance(data, str):
            raise BadScalar(data)
        self.data = data

    def keep(self):
        return self

    def __add__(self, other):
        return Scalar(add(self.data, other.data))

    def __mul__(self, other):
        return Scalar(self.data * other)

    __rmul__ = __mul__

    def __eq__(self, other):
        return self.data == other.data

    def __repr__(self):
        return f"Scalar({self.data})"

    def __float__(self):
        return float(self.data)


def double(x):
    return 2 * x


def half(x):
    return x / 2


def table():
    return [("double", double, 4), ("half", half, 1)]


def work():
    return sum(range(10))


def secret(n):
    return 4711


def total(**numbers):
    return sum(numbers.values())


def ask(param):
    return param.ask()


def shout(x):
    print("loud")
    logging.getLogger("pkg").warning("low")
    return double(x)
