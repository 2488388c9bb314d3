"""What one exercise leaves to the next."""


def first() -> bool:
    """Says yes."""
    # solution: say it
    return True
    # end


def second() -> bool:
    """Says yes."""
    # solution: say it
    return True
    # end


def third() -> bool:
    """Says yes."""
    # solution: say it
    return True
    # end
