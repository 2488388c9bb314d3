"""What one exercise leaves to the next."""


def first() -> bool:
    """Says yes."""
    # say it
    raise NotImplementedError("write `first` here")


def second() -> bool:
    """Says yes."""
    # say it
    raise NotImplementedError("write `second` here")


def third() -> bool:
    """Says yes."""
    # say it
    raise NotImplementedError("write `third` here")
