import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader


def amp_step(model, x, y, optimizer, scaler, device_type):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


def accumulate_step(model, micro_batches, optimizer):
    n = sum(len(y) for _, y in micro_batches)
    optimizer.zero_grad()
    total = 0.0
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y) * len(y) / n
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


def fast_loader(dataset, batch_size, device, num_workers):
    return DataLoader(
        dataset,
        batch_size=batch_size,
        shuffle=True,
        num_workers=num_workers,
        pin_memory=device.type == "cuda",
        persistent_workers=num_workers > 0,
    )


def align_up(n, multiple=8):
    if n < 0 or multiple < 1:
        raise ValueError("need n >= 0 and multiple >= 1")
    return (n + multiple - 1) // multiple * multiple


def configure_cudnn(fixed_shapes):
    torch.backends.cudnn.benchmark = fixed_shapes


def wrap_data_parallel(model):
    if torch.cuda.device_count() > 1:
        return nn.DataParallel(model)
    return model


def clear_grads(optimizer):
    optimizer.zero_grad(set_to_none=True)


def inference(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            out = model(x)
    finally:
        for m, training in modes:
            m.training = training
    return out
