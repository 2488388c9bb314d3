"""Classic wrong answers of team."""

import torch.distributed as dist
from torch import Tensor

from grader.testkit import misconception


@misconception("mean_of_all", tell="You average the ranks' means: a rank with few numbers counts as much as any other.")
def mean_of_means(x: Tensor) -> float:
    mean = x.double().mean()
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()


@misconception("mean_of_all", tell="Only rank 0 calls the collective: it waits there for ranks that never call it.")
def asks_on_rank_0_only(x: Tensor) -> float:
    total = x.double().sum()
    if dist.get_rank() == 0:
        dist.all_reduce(total)
    return total.item() / len(x)
