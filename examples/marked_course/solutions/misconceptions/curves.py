"""Classic wrong answers of curves."""

from torch import Tensor

from grader.testkit import misconception


@misconception("moving_average", tell="You took every window apart from the others. Windows overlap: they move by 1.")
def windows_side_by_side(x: Tensor, width: int) -> Tensor:
    return x.unfold(0, width, width).mean(dim=1)
