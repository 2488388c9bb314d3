"""Straight lines through two points."""


def slope(p: tuple[float, float], q: tuple[float, float]) -> float:
    """How much y grows for each step of x, on the line through two points."""
    # solution: two differences
    return (q[1] - p[1]) / (q[0] - p[0])
    # end


def intercept(p: tuple[float, float], q: tuple[float, float]) -> float:
    """The y of the line through two points where x is 0."""
    # solution: from one of the points back to 0
    return p[1] - slope(p, q) * p[0]
    # end
