"""Slopes, compared."""


def steeper(a: float, b: float) -> bool:
    """Whether the line with slope a is steeper than the one with slope b, be it up or down."""
    # solution: by their size
    return abs(a) > abs(b)
    # end


def level(a: float) -> bool:
    """Whether the line with slope a goes neither up nor down."""
    # solution: one comparison
    return a == 0
    # end
