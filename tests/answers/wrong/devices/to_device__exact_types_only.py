# verdict: failed
def to_device(batch, device, non_blocking=False):
    if type(batch) is Tensor:
        return batch.to(device, non_blocking=non_blocking)
    if type(batch) is dict:
        return {key: to_device(item, device, non_blocking) for key, item in batch.items()}
    if type(batch) in (list, tuple):
        return type(batch)(to_device(item, device, non_blocking) for item in batch)
    if hasattr(batch, "_fields"):
        return type(batch)(*(to_device(item, device, non_blocking) for item in batch))
    return batch
