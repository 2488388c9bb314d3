"""Classic wrong answers of gpus."""

from collections.abc import Sequence

import torch
from torch import Tensor

from grader.testkit import misconception


@misconception("mean_on", tell="'cuda' is hard-coded. Use the device that you are given.")
def always_on_cuda(batches: Sequence[Tensor], device: torch.device) -> Tensor:
    total = torch.zeros((), device="cuda")
    for batch in batches:
        total += batch.to("cuda").sum()
    return total / sum(len(batch) for batch in batches)


@misconception("mean_on", tell="You compute on the CPU and move the result. The batches should move, and the GPU work.")
def moves_the_result(batches: Sequence[Tensor], device: torch.device) -> Tensor:
    return torch.cat([batch.cpu() for batch in batches]).mean().to(device)


@misconception("mean_on", tell=".item() in the loop makes Python wait for the GPU once per batch. Keep the sum there.")
def reads_every_batch(batches: Sequence[Tensor], device: torch.device) -> Tensor:
    total = 0.0
    for batch in batches:
        total += batch.to(device).sum().item()
    return torch.tensor(total / sum(len(batch) for batch in batches), device=device)


@misconception("mean_on", tell="You average the batches' means: a number in a short batch counts more than others.")
def mean_of_means(batches: Sequence[Tensor], device: torch.device) -> Tensor:
    return torch.stack([batch.to(device).mean() for batch in batches]).mean()
