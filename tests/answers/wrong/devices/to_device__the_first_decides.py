# verdict: failed
# message: device cuda:1 where cpu was expected
def _tensors(batch):
    if isinstance(batch, Tensor):
        return [batch]
    parts = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    return [tensor for part in parts for tensor in _tensors(part)]


def _move(batch, device, non_blocking):
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=non_blocking)
    if isinstance(batch, dict):
        return {key: _move(item, device, non_blocking) for key, item in batch.items()}
    if isinstance(batch, (list, tuple)):
        items = [_move(item, device, non_blocking) for item in batch]
        return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)
    return batch


def to_device(batch, device, non_blocking=False):
    found = _tensors(batch)
    return batch if found and found[0].device == device else _move(batch, device, non_blocking)
