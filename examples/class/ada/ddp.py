import os
import platform

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def read_env(environ):
    return int(environ.get("RANK", 0)), int(environ.get("LOCAL_RANK", 0)), int(environ.get("WORLD_SIZE", 1))


def choose_backend(device_type, system):
    if device_type == "cuda" and system != "Windows":
        return "nccl"
    return "gloo"


def ddp_setup(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    if platform.system() == "Windows":
        os.environ.setdefault("USE_LIBUV", "0")
    device_type = "cuda" if torch.cuda.is_available() else "cpu"
    if device_type == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank % torch.cuda.device_count())))
    dist.init_process_group(choose_backend(device_type, platform.system()), rank=rank, world_size=world_size)


def ddp_cleanup():
    if dist.is_initialized():
        dist.destroy_process_group()


def sharded_loader(dataset, batch_size, rank, world_size, seed):
    sampler = DistributedSampler(dataset, world_size, rank, shuffle=True, seed=seed, drop_last=True)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler)


def average_gradients(model):
    n = dist.get_world_size()
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
            p.grad /= n


def wrap(model, device):
    model.to(device)
    if device.type == "cuda":
        return DDP(model, device_ids=[device.index])
    return DDP(model)


def train(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0):
    device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
    model = wrap(model, device)
    loader = sharded_loader(dataset, batch_size, rank, world_size, seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x.to(device)), y.to(device)).backward()
            optimizer.step()
    return {name: t.cpu() for name, t in model.module.state_dict().items()}


@torch.no_grad()
def global_accuracy(model, loader):
    device = next(model.parameters()).device
    counts = torch.zeros(2, device=device, dtype=torch.float64)
    for x, y in loader:
        counts[0] += (model(x.to(device)).argmax(1) == y.to(device)).sum()
        counts[1] += len(y)
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def save_on_rank0(model, path):
    if dist.get_rank() == 0:
        model = model.module if isinstance(model, DDP) else model
        torch.save(model.state_dict(), path)
    dist.barrier()


ROWS, EPOCHS, LEARNING_RATE = 64, 12, 0.5
"""What `main` trains with: each step takes all `ROWS` rows of the toy data, shared by the ranks."""


def toy_data(seed: int) -> TensorDataset:
    """`ROWS` pairs ``(features (2,), label)`` for `main`; the same seed gives the same data."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(ROWS, 2, generator=generator)
    return TensorDataset(features, (features.sum(dim=1) + torch.randn(ROWS, generator=generator) > 0).long())


def toy_model(seed: int) -> nn.Module:
    """A linear model with two logits for `main`; the same seed gives the same weights."""
    generator = torch.Generator().manual_seed(seed + 1)
    model = nn.Linear(2, 2)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=generator))
    return model


def main():
    rank, _, world_size = read_env(os.environ)
    seed = int(os.environ.get("SEED", 0))
    ddp_setup(rank, world_size)
    dataset = toy_data(seed)
    model = toy_model(seed)
    train(rank, world_size, model, dataset, EPOCHS, LEARNING_RATE, ROWS // world_size)
    if rank == 0:
        x, y = dataset.tensors
        print(f"{world_size} ranks, loss {F.cross_entropy(model(x), y).item():.4f}")
    ddp_cleanup()


if __name__ == "__main__":
    main()
