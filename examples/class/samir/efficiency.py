import torch
import torch.nn.functional as F
from torch.nn import DataParallel
from torch.utils.data import DataLoader


def amp_step(model, x, y, optimizer, scaler, device_type):
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    return loss.item()


def accumulate_step(model, micro_batches, optimizer):
    optimizer.zero_grad()
    sizes = [len(y) for _, y in micro_batches]
    losses = []
    for (x, y), size in zip(micro_batches, sizes):
        loss = F.cross_entropy(model(x), y) * (size / sum(sizes))
        loss.backward()
        losses.append(loss.item())
    optimizer.step()
    return sum(losses)


def fast_loader(dataset, batch_size, device, num_workers):
    return DataLoader(
        dataset,
        batch_size=batch_size,
        num_workers=num_workers,
        persistent_workers=True,  # starting them anew every epoch is slow
        pin_memory=device.type == "cuda",
    )


def align_up(n, multiple=8):
    if n < 0 or multiple < 1:
        raise ValueError("too small")
    return n + (-n % multiple)


def configure_cudnn(fixed_shapes):
    torch.backends.cudnn.benchmark = fixed_shapes


def wrap_data_parallel(model):
    return DataParallel(model) if torch.cuda.device_count() > 1 else model


def clear_grads(optimizer):
    optimizer.zero_grad(set_to_none=True)


def inference(model, x):
    was = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            result = model(x)
    finally:
        for module, training in was:
            module.training = training
    return result
