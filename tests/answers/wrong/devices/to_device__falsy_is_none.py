# verdict: failed
# message: None where an int was expected
def to_device(batch, device, non_blocking=False):
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=non_blocking)
    if isinstance(batch, dict):
        return {key: to_device(item, device, non_blocking) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        items = [to_device(item, device, non_blocking) for item in batch]
        return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)
    return batch or None
