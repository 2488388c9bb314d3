import operator
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

def amp_step(model, x, y, optimizer, scaler, device_type):
    def forward():
        return F.cross_entropy(model(x), y)
    loss = torch.autocast(device_type)(forward)()
    grads_off = [setattr(p, "grad", None) for g in optimizer.param_groups for p in g["params"]]
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.detach().item()

def accumulate_step(model, micro_batches, optimizer):
    optimizer.zero_grad()
    parts = []
    for x, y in micro_batches:
        part = F.cross_entropy(model(x), y, reduction="sum")
        part.backward()
        parts.append(part)
    n = len(torch.cat([y for _, y in micro_batches]))
    for p in {p for g in optimizer.param_groups for p in g["params"] if p.grad is not None}:
        p.grad.div_(n)
    optimizer.step()
    return (sum(parts) / n).item()

def fast_loader(dataset, batch_size, device, num_workers):
    return DataLoader(dataset, batch_size, True, num_workers=num_workers, drop_last=False,
                      pin_memory=device.type == "cuda", persistent_workers=bool(num_workers))

def align_up(n, multiple=8):
    if operator.lt(n, 0) or multiple < 1:
        raise ValueError("no")
    q, r = divmod(n, multiple)
    return (q + (r > 0)) * multiple

def configure_cudnn(fixed_shapes):
    setattr(torch.backends.cudnn, "benchmark", bool(fixed_shapes))
    return fixed_shapes

def wrap_data_parallel(model):
    n = torch.cuda.device_count()
    if n > 1:
        model = torch.nn.DataParallel(model)
    return model

def clear_grads(optimizer):
    optimizer.zero_grad()

def inference(model, x):
    before = {name: m.training for name, m in model.named_modules()}
    try:
        with torch.inference_mode(True), torch.no_grad():
            return model.eval()(x)
    finally:
        for name, m in model.named_modules():
            m.training = before[name]
