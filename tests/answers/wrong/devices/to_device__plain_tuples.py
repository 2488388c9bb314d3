# verdict: failed
# message: a tuple where a named tuple NamedBatch was expected
# misconception: loses_the_names
# tell: as a plain tuple
def to_device(batch: Any, device: torch.device, non_blocking: bool = False) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=non_blocking)
    if isinstance(batch, dict):
        return type(batch)((key, to_device(value, device, non_blocking)) for key, value in batch.items())
    if isinstance(batch, list | tuple):
        moved = [to_device(value, device, non_blocking) for value in batch]
        return tuple(moved) if isinstance(batch, tuple) else moved
    return batch
