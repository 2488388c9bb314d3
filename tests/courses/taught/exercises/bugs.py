"""Slopes, compared."""


def steeper(a: float, b: float) -> bool:
    """Whether the line with slope a is steeper than the one with slope b, be it up or down."""
    # by their size
    raise NotImplementedError("write `steeper` here")


def level(a: float) -> bool:
    """Whether the line with slope a goes neither up nor down."""
    # one comparison
    raise NotImplementedError("write `level` here")
