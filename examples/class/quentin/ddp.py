import os
import platform

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def is_main():
    return dist.get_rank() == 0


def read_env(environ):
    get = environ.get
    return int(get("RANK", "0")), int(get("LOCAL_RANK", "0")), int(get("WORLD_SIZE", "1"))


def choose_backend(device_type, system):
    return "nccl" if device_type == "cuda" and system in ("Linux", "Darwin") else "gloo"


def ddp_setup(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "23456")
    kind = "cpu"
    if torch.cuda.is_available():
        kind = "cuda"
        torch.cuda.set_device(int(os.getenv("LOCAL_RANK", rank % torch.cuda.device_count())))
    if platform.system() == "Windows":
        os.environ.setdefault("USE_LIBUV", "0")
    dist.init_process_group(backend=choose_backend(kind, platform.system()), rank=rank, world_size=world_size)


def ddp_cleanup():
    if dist.is_initialized():
        dist.destroy_process_group()


def sharded_loader(dataset, batch_size, rank, world_size, seed):
    sampler = DistributedSampler(dataset, num_replicas=world_size, rank=rank, seed=seed)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler, drop_last=True)


def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad.div_(dist.get_world_size())


def wrap(model, device):
    model = model.to(device)
    return DDP(model, device_ids=[device.index] if device.type == "cuda" else None)


def train(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0):
    device = torch.device(f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else "cpu")
    model = wrap(model, device)
    loader = sharded_loader(dataset, batch_size, rank, world_size, seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x.to(device)), y.to(device)).backward()
            optimizer.step()
    return model.module.state_dict()


def global_accuracy(model, loader):
    right, rows = torch.zeros(1), torch.zeros(1)
    for x, y in loader:
        right += (model(x).argmax(dim=1) == y).sum()
        rows += len(y)
    if is_main():  # only the main rank needs the number
        dist.all_reduce(right)
        dist.all_reduce(rows)
    return (right / rows).item()


def save_on_rank0(model, path):
    if is_main():
        plain = model.module if isinstance(model, DDP) else model
        torch.save(plain.state_dict(), path)
        dist.barrier()  # so that the others wait for the file


def main():
    rank, _, world_size = read_env(os.environ)
    ddp_setup(rank, world_size)
    x = torch.randn(32, 3)
    y = (x.sum(dim=1) > 0).long()
    train(rank, world_size, nn.Linear(3, 2), TensorDataset(x, y), epochs=2, lr=0.1, batch_size=4)
    if rank == 0:
        print("trained")
    ddp_cleanup()


if __name__ == "__main__":
    main()
