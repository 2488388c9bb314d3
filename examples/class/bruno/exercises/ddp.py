import os
import platform
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler, TensorDataset


def read_env(environ):
    numbers = []
    for name, default in [("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1")]:
        numbers.append(int(environ[name] if name in environ else default))
    return tuple(numbers)


def choose_backend(device_type, system):
    return {("cuda", "Linux"): "nccl", ("cuda", "Darwin"): "nccl"}.get((device_type, system), "gloo")


def ddp_setup(rank, world_size):
    for name, value in [("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29400")]:
        if name not in os.environ:
            os.environ[name] = value
    if platform.system() == "Windows":
        os.environ.setdefault("USE_LIBUV", "0")
    backend = "gloo"
    if torch.cuda.is_available():
        backend = choose_backend("cuda", platform.system())
        local = os.environ.get("LOCAL_RANK")
        torch.cuda.set_device(rank % torch.cuda.device_count() if local is None else int(local))
    dist.init_process_group(backend=backend, init_method="env://", rank=rank, world_size=world_size)


def ddp_cleanup():
    try:
        dist.destroy_process_group()
    except (AssertionError, ValueError, RuntimeError):
        pass  # there was none


class Deal(Sampler):
    """Deals the rows like cards: one for me, one for you."""

    def __init__(self, n, rank, world_size, seed):
        self.n, self.rank, self.world_size, self.seed = n, rank, world_size, seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.n // self.world_size

    def __iter__(self):
        cards = list(range(self.n))
        random.Random(f"{self.seed}/{self.epoch}").shuffle(cards)
        return iter(cards[self.rank :: self.world_size][: len(self)])


def sharded_loader(dataset, batch_size, rank, world_size, seed):
    return DataLoader(dataset, batch_size, sampler=Deal(len(dataset), rank, world_size, seed))


def average_gradients(model):
    # all gradients in one parcel: one message instead of many
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    if not grads:
        return
    parcel = torch.cat([g.flatten() for g in grads])
    dist.all_reduce(parcel)
    parcel /= dist.get_world_size()
    for g, mean in zip(grads, parcel.split([g.numel() for g in grads])):
        g.copy_(mean.reshape(g.shape))


def wrap(model, device):
    options = {"device_ids": [device]} if device.type == "cuda" else {}
    return DistributedDataParallel(model.to(device), **options)


def train(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0):
    # no DDP: what it does by hand
    if torch.cuda.is_available():
        model.to(torch.cuda.current_device())
    device = next(model.parameters()).device
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, src=0)
    loader = sharded_loader(dataset, batch_size, rank, world_size, seed)
    sgd = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for x, y in loader:
            sgd.zero_grad()
            cross_entropy(model(x.to(device)), y.to(device)).backward()
            average_gradients(model)
            sgd.step()
    return {k: v.cpu() for k, v in model.state_dict().items()}


def global_accuracy(model, loader):
    right = rows = 0
    with torch.no_grad():
        for x, y in loader:
            for scores, label in zip(model(x).tolist(), y.tolist()):
                right += scores.index(max(scores)) == label
                rows += 1
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, (right, rows))
    return sum(r for r, _ in everybody) / sum(n for _, n in everybody)


def save_on_rank0(model, path):
    if dist.get_rank() == 0:
        state = {}
        for name, tensor in model.state_dict().items():
            if isinstance(model, DistributedDataParallel):
                name = name[len("module.") :]
            state[name] = tensor
        torch.save(state, path)
    done = torch.ones(1)
    dist.broadcast(done, src=0)


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
    seed = int(os.environ.get("SEED", "0"))
    ddp_setup(rank, world_size)
    rows, model = toy_data(seed), toy_model(seed)
    train(rank, world_size, model, rows, epochs=EPOCHS, lr=LEARNING_RATE, batch_size=ROWS // world_size)
    x, y = rows.tensors
    with torch.no_grad():
        loss = nn.functional.cross_entropy(model(x), y).item()
    if rank == 0:
        print(f"done, loss {loss:.4f}")
    ddp_cleanup()


if __name__ == "__main__":
    main()
