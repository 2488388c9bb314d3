"""Straight lines through two points."""


def slope(p: tuple[float, float], q: tuple[float, float]) -> float:
    """How much y grows for each step of x, on the line through two points."""
    # two differences
    raise NotImplementedError("write `slope` here")


def intercept(p: tuple[float, float], q: tuple[float, float]) -> float:
    """The y of the line through two points where x is 0."""
    # from one of the points back to 0
    raise NotImplementedError("write `intercept` here")
