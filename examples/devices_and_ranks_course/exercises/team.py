"""Working together: every rank has some numbers, all of them want one answer."""

import torch
import torch.distributed as dist
from torch import Tensor


def mean_of_all(x: Tensor) -> float:
    """The mean over the numbers of all ranks.

    Args:
        x: this rank's numbers, shape ``(n,)`` with another n on each rank. The process group is set up already.

    Returns:
        The same number on every rank.

    Read: PyTorch docs, `torch.distributed.all_reduce`.
    """
    # what adds up is sums and counts
    raise NotImplementedError("write `mean_of_all` here")
