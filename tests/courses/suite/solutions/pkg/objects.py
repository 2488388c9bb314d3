"""Objects of many kinds, as tests use them."""

import asyncio
import collections
import enum
import logging
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch


class Point:
    """A point."""

    def __init__(self, x, y=0):
        self.x, self.y = x, y

    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)

    def __hash__(self):
        return hash((self.x, self.y))

    def __bool__(self):
        return bool(self.x or self.y)

    def __iadd__(self, other):
        self.x += other.x
        return self

    def __mod__(self, by):
        return self.x % by.x

    def __divmod__(self, by):
        return divmod(self.x, by.x)

    def __round__(self, digits=None):
        return Point(round(self.x, digits))

    def __complex__(self):
        return complex(self.x, self.y)

    def __format__(self, how):
        return f"<{self.x}{how}>"


class Bag:
    def __init__(self, *items):
        self.items = list(items)

    def __len__(self):
        return len(self.items)

    def __reversed__(self):
        return reversed(self.items)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.items.append(kind and kind.__name__)
        return kind is ValueError


class Words(list):
    def first(self):
        return self[0]


@dataclass
class Settings:
    """How to train."""

    rate: float = 0.1
    sizes: list = field(default_factory=list)


class Color(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    a: int
    b: int


def area(width: int, height: int = 2) -> int:
    """Width times height."""
    return width * height


def count(n):
    yield from range(n)


def kind():
    return Point


def leave(code):
    sys.exit(code)


class Closed(LookupError, ValueError):
    def __init__(self, text, *, code=0):
        super().__init__(text)
        self.code = code


def closed(name):
    try:
        {}[name]
    except KeyError as error:
        raise Closed(f"{name} is closed", code=7) from error


def counted(n):
    yield from range(n)
    return "end"


def first_line(name):
    with open(name) as file:
        line = file.readline()
    with open(name, "w") as file:
        file.write(line.upper())
    return line


class SGD(torch.optim.SGD):
    pass


async def fetch(x):
    """Waits."""
    await asyncio.sleep(0)
    return 2 * x


async def apply(function, x):
    return await function(x)


async def stream(n):
    for i in range(n):
        yield await fetch(i)


class Connection:
    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, traceback):
        return kind is ValueError

    async def get(self, key):
        return key


def doubled(array):
    return 2 * array


class Layer:
    def __init__(self):
        self.params = collections.OrderedDict(w=np.array([1.0, 2.0]))
        self._bias = np.zeros(2)

    def bias(self):
        return self._bias

    def loss(self):
        return (self.params["w"] ** 2 + 3 * self._bias).sum()

    def step(self):
        self.params["w"] -= 0.5

    def copy(self, seen):
        seen["w"] = seen.get("w", 0) + self.params["w"]
        return self.params["w"].copy()


def late():
    return 1


def fetch_all(client, name, shown):
    began = time.time()
    with client as session:
        found = client.get(name, timeout=shown).json()["n"]
        assert session is not None
    return found, time.time() - began


class Bell:
    def __init__(self):
        self.heard_by = {}

    def add(self, function):
        self.heard_by[function] = 1

    def ring(self, value):
        for function in self.heard_by:
            function(value)

    def keep(self, thing):
        return thing


class Machine:
    """Its methods are passed on, replaced and hidden."""

    def __init__(self):
        self.started = []

    def start(self, n=1):
        self.started.append(n)
        return sum(self.started)

    def apply(self, function, *args):
        return function(*args)

    def level(self):
        return "none"

    def set_level(self, level):
        self.level = level

    def reverse(self):
        vars(self)["start"] = lambda n=1: -n
        vars(self)["level"] = 7


def two_points():
    """Of two classes with one name."""

    class Point:
        def x(self):
            return 1

    first = Point()

    class Point:
        def __init__(self):
            self.x = 3

    return first, Point()


def in_threads(function, n):
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, range(n)))


def fails(done, path):
    done.append("begun")
    path.write_text("text")
    logging.getLogger(__name__).error("it fails")
    raise ValueError


def ends(done, path):
    done.append("ended")
    path.write_text("text")
    sys.exit(2)
