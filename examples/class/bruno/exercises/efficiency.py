import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader


def amp_step(model, x, y, optimizer, scaler, device_type):
    context = torch.autocast(device_type=device_type)
    with context:
        loss = cross_entropy(model(x), y)
    model.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return float(loss)


def accumulate_step(model, micro_batches, optimizer):
    model.zero_grad()
    total = count = 0
    for x, y in micro_batches:
        loss = cross_entropy(model(x), y, reduction="sum")
        loss.backward()
        total += float(loss)
        count += len(y)
    seen = set()
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None and id(p) not in seen:
                p.grad /= count
                seen.add(id(p))
    optimizer.step()
    return total / count


def fast_loader(dataset, batch_size, device, num_workers):
    options = {"batch_size": batch_size, "num_workers": num_workers}
    if num_workers:
        options["persistent_workers"] = True
    if device.type == "cuda":
        options["pin_memory"] = True
    return DataLoader(dataset, **options)


def align_up(n, multiple=8):
    if n < 0:
        raise ValueError("n < 0")
    if multiple < 1:
        raise ValueError("multiple < 1")
    rest = n % multiple
    return n + multiple - rest if rest else n


def configure_cudnn(fixed_shapes):
    if fixed_shapes:
        torch.backends.cudnn.benchmark = True
    else:
        torch.backends.cudnn.benchmark = False


def wrap_data_parallel(model):
    several = torch.cuda.is_available() and torch.cuda.device_count() >= 2
    return nn.DataParallel(model) if several else model


def clear_grads(optimizer):
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = None


@torch.inference_mode()
def inference(model, x):
    before = {name: module.training for name, module in model.named_modules()}
    try:
        return model.eval()(x)
    finally:
        for name, module in model.named_modules():
            module.training = before[name]
