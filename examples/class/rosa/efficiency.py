import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader


def amp_step(model, x, y, optimizer, scaler, device_type):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


def accumulate_step(model, micro_batches, optimizer):
    n = sum(y.numel() for _, y in micro_batches)
    optimizer.zero_grad()
    loss_sum = 0.0
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y, reduction="sum")
        (loss / n).backward()
        loss_sum += loss.item()
    optimizer.step()
    return loss_sum / n


def fast_loader(dataset, batch_size, device, num_workers):
    return DataLoader(
        dataset,
        batch_size=batch_size,
        num_workers=num_workers,
        pin_memory=str(device).startswith("cuda"),
        persistent_workers=bool(num_workers),
    )


def align_up(n, multiple=8):
    if n < 0 or multiple < 1:
        raise ValueError("n >= 0, multiple >= 1")
    while n % multiple:
        n += 1
    return n


def configure_cudnn(fixed_shapes):
    torch.backends.cudnn.benchmark = fixed_shapes


def wrap_data_parallel(model):
    return nn.DataParallel(model)


def clear_grads(optimizer):
    optimizer.zero_grad()


def inference(model, x):
    training = {m: m.training for m in model.modules()}
    model.eval()
    try:
        with torch.inference_mode():
            y = model(x)
    finally:
        for m, flag in training.items():
            m.training = flag
    return y
