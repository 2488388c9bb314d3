"""Objects of many kinds, as tests use them."""

from dataclasses import dataclass


class Point:
    """A point."""

    def __init__(self, x, y=0):
        raise NotImplementedError


class Bag:
    def __init__(self, *items):
        raise NotImplementedError


class Words(list):
    pass


@dataclass
class Settings:
    """How to train."""


def area(width: int, height: int = 2) -> int:
    """Width times height."""
    raise NotImplementedError
