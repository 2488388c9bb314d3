import functools


@functools.singledispatch
def to_device(batch, device, non_blocking=False):
    return batch


@to_device.register
def _(batch: torch.Tensor, device, non_blocking=False):
    return batch if batch.device == device else batch.to(device, non_blocking=non_blocking)


@to_device.register
def _(batch: dict, device, non_blocking=False):
    return {key: to_device(item, device, non_blocking) for key, item in batch.items()}


@to_device.register
def _(batch: list, device, non_blocking=False):
    return [to_device(item, device, non_blocking) for item in batch]


@to_device.register
def _(batch: tuple, device, non_blocking=False):
    made = tuple(to_device(item, device, non_blocking) for item in batch)
    return batch._replace(**dict(zip(batch._fields, made))) if hasattr(batch, "_replace") else made
