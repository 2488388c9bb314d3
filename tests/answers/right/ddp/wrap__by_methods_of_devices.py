def wrap(model, device):
    if device.type == "cuda":
        return nn.parallel.DistributedDataParallel(model.cuda(device.index), device_ids=[device.index])
    return nn.parallel.DistributedDataParallel(module=model.cpu(), device_ids=None)
