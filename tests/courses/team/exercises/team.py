"""Ranks that add up."""

import torch
import torch.distributed as dist


def alone():
    raise NotImplementedError


def total(rank):
    pass
