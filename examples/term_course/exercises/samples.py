"""Samples: where they lie.

Plain Python: a sample is a list of numbers.
"""


def mean(values: list[float]) -> float:
    """The mean of the numbers.

    Args:
        values: at least one.

    Example:
        >>> mean([1.0, 2.0, 6.0])
        3.0
    """
    raise NotImplementedError("write `mean` here")


def centered(values: list[float]) -> list[float]:
    """A new list, in which each number is as much smaller as the mean is: its own mean is 0.

    Args:
        values: at least one.

    Example:
        >>> centered([1.0, 2.0, 6.0])
        [-2.0, -1.0, 3.0]
    """
    raise NotImplementedError("write `centered` here")
