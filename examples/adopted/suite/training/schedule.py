"""Learning rates."""

import math


def warmup(step: int, *, most: float, least: float, rising: int, total: int) -> float:
    """The rate of a step: rises in a line to `most` in `rising` steps, then falls as a cosine to `least` at `total`."""
    if step < rising:
        return most * step / rising
    if step >= total:
        return least
    share = (step - rising) / (total - rising)
    return least + (most - least) * (1 + math.cos(math.pi * share)) / 2
