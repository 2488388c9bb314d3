"""On a device: numbers come from any device, and one device does the work."""

from collections.abc import Sequence

import torch
from torch import Tensor


def mean_on(batches: Sequence[Tensor], device: torch.device) -> Tensor:
    """The mean over the numbers of all batches, computed on a device.

    Each batch moves to the device once, if it is not there. No value is read back: Python need not wait for the GPU.

    Args:
        batches: at least one, of shapes ``(n,)``, where n may differ, float32, on any devices.
        device: where to compute.

    Returns:
        A tensor with no dimensions, on ``device``.

    Example:
        >>> mean_on([torch.tensor([6.0]), torch.tensor([1.0, 2.0])], torch.device("cpu"))
        tensor(3.)

    Read: PyTorch docs, `Tensor.to`, and 'CUDA semantics', section 'Asynchronous execution'.
    """
    # solution: keep the total on the device; the count is known on the CPU
    total = torch.zeros((), device=device)
    for batch in batches:
        total += batch.to(device).sum()
    return total / sum(len(batch) for batch in batches)
    # end
