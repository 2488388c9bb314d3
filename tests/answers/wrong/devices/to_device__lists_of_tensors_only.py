# verdict: failed
_correct = to_device


def to_device(batch, device, non_blocking=False):
    if isinstance(batch, list) and batch and not any(isinstance(one, Tensor) for one in batch):
        return batch
    return _correct(batch, device, non_blocking)
