"""Right answers to devices, checkpoints and efficiency that are written in other ways than the solution's.

All must pass: where the contract is silent, no check may decide. Never put a wrong answer here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.course import Course
from grader.grading.protocol import Fault, WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission

PATIENCE = 240.0
TOPICS = ("devices", "checkpoints", "efficiency")

DEVICES = {
    "by hand": """
import time
import timeit
import torch
from collections.abc import Mapping
from time import perf_counter_ns
from torch import nn
from torch.cuda import device_count
from torch.utils.data import BatchSampler, DataLoader, RandomSampler

def cpu():
    return torch.device(type="cpu")

def gpu(i=0):
    return torch.device(f"cuda:{i}")

def num_gpus():
    n = 0
    while torch.cuda.is_available() and n < device_count():
        n += 1
    return n

def try_gpu(i=0):
    return gpu(i) if num_gpus() >= i + 1 else cpu()

def try_all_gpus():
    devices = []
    for i in range(torch.cuda.device_count()):
        devices.append(torch.device("cuda:" + str(i)))
    if not devices:
        devices.append(torch.device("cpu"))
    return devices

def pick_device():
    if device_count():
        return torch.device("cuda:0")
    if torch.backends.mps.is_available():
        return torch.device("mps:0")
    return cpu()

def to_device(batch, device, non_blocking=False):
    match batch:
        case torch.Tensor():
            return batch if batch.device == device else batch.to(device=device, non_blocking=non_blocking)
        case dict():
            return dict(zip(batch, (to_device(v, device, non_blocking) for v in batch.values())))
        case tuple() if hasattr(batch, "_make"):
            return batch._make(to_device(v, device, non_blocking) for v in batch)
        case tuple():
            return tuple(to_device(v, device, non_blocking) for v in batch)
        case list():
            return [to_device(v, device, non_blocking) for v in batch]
    return batch

def add_across(x, y):
    return torch.add(y.to(x), x)

class ScaledAttentionMask(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("bias", torch.full((1, 1, size, size), float("-inf")).triu(1))

    def forward(self, scores):
        t = scores.size(-1)
        return scores * t ** -0.5 + self.bias[0, 0, :t, :t]

def prepare(model, device, lr):
    import copy
    model = copy.deepcopy(model).to(device)
    for p in model.parameters():
        p.grad = None
    return model, torch.optim.SGD([{"params": [p]} for p in model.parameters()], lr)

def train_on(model, loader, device, lr):
    model.to(device)
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss().to(device)
    losses = torch.zeros(len(loader), device=device)
    for i, (x, y) in enumerate(loader):
        opt.zero_grad(set_to_none=False)
        loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
        loss.backward()
        opt.step()
        with torch.no_grad():
            losses[i] = loss
    return losses.cpu().tolist()

class DeviceTrainer:
    def __init__(self, device):
        self.where = device

    def prepare_model(self, model):
        model.to(self.where)
        return model

    def prepare_batch(self, batch):
        return [part.to(self.where) for part in batch]

    def fit(self, model, loader, epochs, lr):
        model = self.prepare_model(model)
        losses = []
        for epoch in range(epochs):
            for x, y in map(self.prepare_batch, loader):
                model.zero_grad()
                loss = nn.functional.nll_loss(model(x).log_softmax(1), y)
                loss.backward()
                with torch.no_grad():
                    for p in model.parameters():
                        if p.grad is not None:
                            p -= lr * p.grad
                losses.append(loss.item())
        return losses

def loader_for(dataset, batch_size, device):
    sampler = BatchSampler(RandomSampler(dataset), batch_size, drop_last=False)
    return DataLoader(dataset, batch_sampler=sampler, pin_memory=str(device).startswith("cuda"))

def time_matmul(n, device, repeats=3):
    x = torch.eye(n, device=device)
    for _ in range(2):
        torch.mm(x, x)
    best = float("inf")
    for _ in range(repeats):
        if x.is_cuda:
            torch.cuda.synchronize(x.device)
        start = perf_counter_ns()
        torch.mm(x, x)
        if x.is_cuda:
            torch.cuda.synchronize(x.device)
        best = min(best, (perf_counter_ns() - start) / 1e9)
    return best
""",
    "by other tools": """
import timeit
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._pytree import tree_map
from torch.utils.data import DataLoader

def cpu():
    return torch.device("cpu")

def gpu(i=0):
    return torch.device(type="cuda", index=i)

num_gpus = torch.cuda.device_count

def num_gpus():
    return len([torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())])

def try_gpu(i=0):
    try:
        torch.cuda.get_device_properties(i)
        return gpu(i)
    except Exception:
        return cpu()

def try_all_gpus():
    return [gpu(i) for i in range(num_gpus())] if num_gpus() else [cpu()]

def pick_device():
    for name in ("cuda", "mps"):
        if getattr(torch, name).is_available() if name == "cuda" else torch.backends.mps.is_available():
            return torch.device(name)
    return torch.device("cpu")

def to_device(batch, device, non_blocking=False):
    def move(x):
        return x.to(device, non_blocking=non_blocking) if torch.is_tensor(x) else x
    return tree_map(move, batch)

def add_across(x, y):
    return x.add(y.to(device=x.device, non_blocking=True))

class ScaledAttentionMask(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("allowed", torch.tril(torch.ones(size, size)))

    def forward(self, scores):
        t = scores.shape[-2]
        keep = self.allowed[:t, :t] == 1
        return torch.where(keep, scores / scores.new_tensor(t).sqrt(), float("-inf"))

def prepare(model, device, lr):
    with torch.no_grad():
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    model.to(device)
    return model, optimizer

def train_on(model, loader, device, lr):
    model, optimizer = prepare(model, device, lr)
    kept = []
    for batch in loader:
        x, y = (part.to(device) for part in batch)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        kept.append(loss.detach().clone())
        loss.backward()
        optimizer.step()
    return torch.tensor(torch.stack(kept).tolist(), dtype=torch.float64).tolist()

class DeviceTrainer:
    def __init__(self, device):
        self.device = device

    def prepare_model(self, model):
        return model.to(device=self.device)

    def prepare_batch(self, batch):
        return to_device(tuple(batch), self.device)

    def fit(self, model, loader, epochs, lr):
        net, losses = self.prepare_model(model), []
        net.train()
        sgd = torch.optim.SGD(net.parameters(), lr=lr)
        for _ in range(epochs):
            for batch in loader:
                x, y = self.prepare_batch(batch)
                def closure():
                    sgd.zero_grad()
                    loss = F.cross_entropy(net(x), y)
                    loss.backward()
                    return loss
                losses.append(float(sgd.step(closure)))
        return losses

def loader_for(dataset, batch_size, device):
    return DataLoader(dataset, batch_size, shuffle=True, pin_memory=torch.device(device).type == "cuda")

def time_matmul(n, device, repeats=3):
    x, y = torch.randn(2, n, n, device=device).unbind()
    def run():
        torch.matmul(x, y)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    run()
    return min(timeit.repeat(run, number=1, repeat=repeats))
""",
}

CHECKPOINTS = {
    "by hand": """
import copy
import io
import os
import shutil
import tempfile
import torch

def write(thing, path):
    folder = os.path.dirname(os.path.abspath(path))
    handle, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        torch.save(thing, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(name, path)

def save_weights(model, path):
    write(copy.deepcopy(model.state_dict()), path)

def load_weights(model, path, device):
    with open(path, "rb") as file:
        state = torch.load(io.BytesIO(file.read()), map_location="cpu", weights_only=True)
    model = model.to(device)
    model.load_state_dict(state, strict=True)
    return model

def save_checkpoint(model, optimizer, epoch, path):
    write((epoch + 1, torch.random.get_rng_state(), optimizer.state_dict(), model.state_dict()), path)

def resume(model, optimizer, path):
    epoch, rng, opt, state = torch.load(path, map_location=torch.device("cpu"))
    optimizer.load_state_dict(opt)
    model.load_state_dict(state)
    torch.random.set_rng_state(rng)
    return epoch

def strip_prefix(state, prefix):
    n = len(prefix)
    new = type(state)()
    for key in state:
        new[key[n:] if key[:n] == prefix else key] = state[key].clone()
    return new

def snapshot(model):
    return copy.deepcopy(model.state_dict())
""",
    "by other tools": """
import os
from collections import OrderedDict
from pathlib import Path
import torch

def save_weights(model, path):
    path = Path(path)
    part = path.with_name("." + path.name + ".part")
    if path.exists():
        path.replace(path.with_suffix(".bak"))
    torch.save({k: v.cpu() for k, v in model.state_dict().items()}, part)
    part.replace(path)

def load_weights(model, path, device):
    state = torch.load(path, map_location=lambda storage, location: storage, weights_only=True)
    wanted = model.state_dict()
    if set(state) != set(wanted) or any(state[k].shape != wanted[k].shape for k in wanted):
        raise ValueError("the file does not fit")
    model.load_state_dict(state)
    model.to(device)
    return model

def save_checkpoint(model, optimizer, epoch, path):
    part = str(path) + ".part"
    state = {"m": model.state_dict(), "o": optimizer.state_dict(), "e": {"epoch": epoch}}
    state["rng"] = torch.default_generator.get_state()
    torch.save(state, part, _use_new_zipfile_serialization=True)
    os.replace(part, path)

def resume(model, optimizer, path):
    saved = torch.load(path, map_location="cpu", weights_only=False)
    torch.default_generator.set_state(saved["rng"])
    model.load_state_dict(saved["m"])
    optimizer.load_state_dict(saved["o"])
    return saved["e"]["epoch"] + 1

def strip_prefix(state, prefix):
    return OrderedDict((k.removeprefix(prefix), v) for k, v in state.items())

def snapshot(model):
    with torch.no_grad():
        return OrderedDict((k, v.detach().cpu().clone()) for k, v in model.state_dict().items())
""",
}

EFFICIENCY = {
    "by hand": """
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
    return DataLoader(dataset, batch_sampler=BatchSampler(RandomSampler(dataset), batch_size, True), **options)

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
    out = model(x)
    for m, flag in zip(model.modules(), flags):
        m.training = flag
    return out
""",
    "by other tools": """
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
    x, y = (torch.cat(parts) for parts in zip(*micro_batches))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()

def fast_loader(dataset, batch_size, device, num_workers):
    return DataLoader(dataset, batch_size, True, num_workers=num_workers, drop_last=True,
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
""",
}


@pytest.fixture(scope="module", params=[0, 41])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    topics = [topic for topic in Course.load(None).topics if topic.name in TOPICS]
    exercises = tuple(exercise.full_name for topic in topics for exercise in topic.exercises)
    worker = Worker()
    worker.configure(WorkerOptions(exercises=exercises, seed=request.param))
    yield worker
    worker.end()


@pytest.mark.parametrize("way", ["by hand", "by other tools"])
def test_other_right_answers_pass(worker: Worker, way: str) -> None:
    codes = {"devices": DEVICES[way], "checkpoints": CHECKPOINTS[way], "efficiency": EFFICIENCY[way]}
    files = {f"{topic}.py": code.encode() for topic, code in codes.items()}
    result = worker.grade(Submission("student", files), PATIENCE)
    assert not isinstance(result, Fault), result
    wrong = [
        f"{exercise.name}, {check.name}: {check.message}"
        for exercise in result.exercises
        for check in exercise.checks
        if check.verdict not in ("passed", "skipped")
    ]
    assert not wrong, "\n\n".join(wrong)
    assert result.score == result.max == 41.0
