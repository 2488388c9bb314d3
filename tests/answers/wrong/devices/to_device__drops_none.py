# verdict: failed
# message: 4 entries where 5 were expected
def to_device(batch, device, non_blocking=False):
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=non_blocking)
    if isinstance(batch, dict):
        return {k: to_device(v, device, non_blocking) for k, v in batch.items() if v is not None}
    if isinstance(batch, list):
        return [to_device(v, device, non_blocking) for v in batch]
    if isinstance(batch, tuple):
        parts = [to_device(v, device, non_blocking) for v in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    return batch
