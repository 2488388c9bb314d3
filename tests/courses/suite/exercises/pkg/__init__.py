import logging
from dataclasses import dataclass

from .deep.ops import add

LIMIT = 3


class BadScalar(Exception):
    pass


@dataclass(frozen=True)
class Still:
    x: int


class Scalar:
    def __init__(self, data):
        raise NotImplementedError

    def keep(self):
        raise NotImplementedError

    def __add__(self, other):
        raise NotImplementedError

    def __mul__(self, other):
        raise NotImplementedError

    __rmul__ = __mul__

    def __eq__(self, other):
        raise NotImplementedError

    def __repr__(self):
        raise NotImplementedError

    def __float__(self):
        raise NotImplementedError


def double(x):
    raise NotImplementedError


def half(x):
    raise NotImplementedError


def table():
    raise NotImplementedError


def work():
    raise NotImplementedError


def secret(n):
    raise NotImplementedError


def total(**numbers):
    raise NotImplementedError


def ask(param):
    raise NotImplementedError


def shout(x):
    raise NotImplementedError
