"""Odd things."""

import torch


def double(x):
    """Twice x."""
    # solution:
    return 2 * x
    # end


def secret(x):
    """A secret."""
    # solution:
    return 41
    # end


def after(x):
    """One more than x."""
    # solution:
    return x + 1
    # end


def gpu():
    """On a GPU."""
    # solution:
    return "gpu"
    # end


def partly():
    """Where."""
    # solution:
    return "cpu"
    # end


def buggy(x):
    """x."""
    # solution:
    return x
    # end


def fixture():
    """Nothing."""
    # solution:
    return None
    # end


def drawn(x):
    """x."""
    # solution:
    return x
    # end


def depends(x):
    """One more than x."""
    # solution:
    return x + 1
    # end


def scaled(x, factor):
    """x, so many times."""
    # solution:
    return factor * x
    # end
