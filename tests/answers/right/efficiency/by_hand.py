import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler

def amp_step(model, x, y, optimizer, scaler, device_type):
    model.zero_grad(set_to_none=True)
    with torch.amp.autocast(device_type=device_type, enabled=True):
        logits = model(x)
        loss = nn.CrossEntropyLoss()(logits, y)
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return float(loss)

def accumulate_step(model, micro_batches, optimizer):
    n = sum(x.shape[0] for x, _ in micro_batches)
    losses = []
    for i, (x, y) in enumerate(micro_batches):
        if i == 0:
            optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(model(x), y) * (x.shape[0] / n)
        loss.backward()
        losses.append(loss.detach())
    optimizer.step()
    return torch.stack(losses).sum().item()

def fast_loader(dataset, batch_size, device, num_workers):
    options = {"num_workers": num_workers}
    if num_workers:
        options["persistent_workers"] = True
        options["prefetch_factor"] = 4
    if "cuda" in str(device):
        options["pin_memory"] = True
    return DataLoader(dataset, batch_sampler=BatchSampler(RandomSampler(dataset), batch_size, False), **options)

def align_up(n, multiple=8):
    if multiple <= 0 or n < 0:
        raise ValueError
    while n % multiple:
        n += 1
    return n

def configure_cudnn(fixed_shapes):
    if fixed_shapes:
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.deterministic = False
    else:
        torch.backends.cudnn.benchmark = False

def wrap_data_parallel(model):
    if torch.cuda.is_available() and torch.cuda.device_count() >= 2:
        return nn.DataParallel(model, device_ids=list(range(torch.cuda.device_count())))
    return model

def clear_grads(optimizer):
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = None

@torch.inference_mode()
def inference(model, x):
    flags = [m.training for m in model.modules()]
    model.train(False)
    try:
        return model(x)
    finally:
        for m, flag in zip(model.modules(), flags):
            m.training = flag
