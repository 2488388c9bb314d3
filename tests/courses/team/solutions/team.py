"""Ranks that add up."""

import torch
import torch.distributed as dist


def alone():
    return 1


def total(rank):
    x = torch.tensor(rank)
    dist.all_reduce(x)
    return int(x)
