def to_device(batch, device, non_blocking=False):
    match batch:
        case Tensor():
            return batch.to(device, non_blocking=non_blocking)
        case dict():
            return {k: to_device(v, device, non_blocking) for k, v in batch.items()}
        case list():
            return [to_device(v, device, non_blocking) for v in batch]
        case tuple() if hasattr(batch, "_fields"):
            return batch._make(to_device(v, device, non_blocking) for v in batch)
        case tuple():
            return tuple(to_device(v, device, non_blocking) for v in batch)
    return batch
