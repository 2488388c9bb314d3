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
    # solution: what adds up is sums and counts
    totals = torch.tensor([x.sum().item(), float(len(x))], dtype=torch.float64)
    dist.all_reduce(totals)
    return (totals[0] / totals[1]).item()
    # end
