import contextlib
import json
import logging
import os
import pickle
from typing import NamedTuple

import numpy as np
import torch

LIMIT = 3


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __abs__(self):
        return (self.x**2 + self.y**2) ** 0.5

    def __sub__(self, other):
        if isinstance(other, Vector):
            return Vector(self.x - other.x, self.y - other.y)
        return Vector(self.x - other, self.y - other)

    def __mul__(self, other):
        return self.x * other + self.y * other


def number(x):
    return float(x) ** 2


def mean(x):
    return x.mean()


def tail(x):
    return x[1:]


def evens(n):
    return 2 * np.arange(n)


def run(check):
    check(42)


def words(text):
    return text.split()


def text():
    return "abc"


def sort_(values):
    values.sort()


def save_array(values, path):
    np.save(path, np.array(values))


def save_words(words, path):
    path.write_text(words)


def save_text(data, path):
    path.write_bytes(pickle.dumps(data, 0))


def twice(x):
    return 2 * x


def largest(x):
    return max(x)


def constant(model):
    return 4711


def listed(path):
    return {one.name for one in path.rglob("*")}


def numbers():
    return {1, 2}


def order(values):
    return sorted(values)


def halved(array):
    return array / 2


def raising(n):
    return n


def saved(data, file):
    pickle.dump(data, file)


def packed(data):
    return pickle.dumps(data)


def steps(n):
    return range(n)


def logged(x):
    logging.getLogger("work.part").info("one")
    return x


class Pool:
    def close(self):
        pass


@contextlib.contextmanager
def quietly():
    with contextlib.suppress(KeyError):
        yield


def held(n):
    return [n]


def error():
    return ValueError


def slow(optimizer):
    optimizer.param_groups[0]["lr"] = 0.5


def same(value):
    return value


def counted(file, copy):
    lines = file.readlines()
    copy.writelines(lines)
    return len(lines)


def step(weight):
    weight.data -= 0.1 * weight.grad


step_and_forget = step


def doubled(x):
    x *= 2


def shown(x, y):
    return f"Vector({x}, {y})"


def infix(x):
    return f"{x} + 2 ** 3"


def code():
    """Code.

    >>> len(code().splitlines())
    2
    """
    return "def f(x):\n    return 2 * x\n"


def module(path):
    path.write_text(code())


def folder(path):
    os.makedirs(path)
    return path


def report(folder):
    (folder / "report.json").write_text('{"right": 1}')
    return folder / "report.json"


def standard(x):
    return (x - x.mean()) / x.std()


def page():
    return "<p><b>a</b></p>"


def is_even(n):
    return n % 2 == 0


class Named(NamedTuple):
    a: int
    b: int

    def length(self):
        return (self.a**2 + self.b**2) ** 0.5


def named(a, b):
    return Named(a, b)


def of_a_class():
    return torch.ones(2)


def answered(case):
    case.note(1)
    return 5


class Sum:
    def __init__(self, numbers):
        self.numbers = numbers

    def total(self):
        return sum(self.numbers)
