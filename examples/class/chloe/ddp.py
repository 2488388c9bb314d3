"""Week 7, the hard one. Every rank must come to every collective, in the same order."""

import os
import platform

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def read_env(environ):
    rank = 0
    local_rank = 0
    world_size = 1
    if "RANK" in environ:
        rank = int(environ["RANK"])
    if "LOCAL_RANK" in environ:
        local_rank = int(environ["LOCAL_RANK"])
    if "WORLD_SIZE" in environ:
        world_size = int(environ["WORLD_SIZE"])
    return rank, local_rank, world_size


def choose_backend(device_type, system):
    if device_type != "cuda":
        return "gloo"
    if system == "Windows":
        return "gloo"
    return "nccl"


def ddp_setup(rank, world_size):
    if os.environ.get("MASTER_ADDR") is None:
        os.environ["MASTER_ADDR"] = "localhost"
    if os.environ.get("MASTER_PORT") is None:
        os.environ["MASTER_PORT"] = "12345"
    if platform.system() == "Windows":
        os.environ.setdefault("USE_LIBUV", "0")
    if torch.cuda.is_available():
        backend = choose_backend("cuda", platform.system())
        if "LOCAL_RANK" in os.environ:
            number_of_gpu = int(os.environ["LOCAL_RANK"])
        else:
            number_of_gpu = rank % torch.cuda.device_count()
        torch.cuda.set_device(torch.device("cuda", number_of_gpu))
    else:
        backend = "gloo"
    dist.init_process_group(backend, rank=rank, world_size=world_size)


def ddp_cleanup():
    there_is_a_group = dist.is_available() and dist.is_initialized()
    if there_is_a_group:
        dist.destroy_process_group()


def sharded_loader(dataset, batch_size, rank, world_size, seed):
    sampler = DistributedSampler(
        dataset,
        num_replicas=world_size,
        rank=rank,
        shuffle=True,
        seed=seed,
        drop_last=True,
    )
    return DataLoader(dataset, batch_size=batch_size, shuffle=False, sampler=sampler, drop_last=False)


def average_gradients(model):
    number_of_ranks = dist.get_world_size()
    for parameter in model.parameters():
        if parameter.grad is None:
            continue
        gradients_of_all_ranks = []
        for rank in range(number_of_ranks):
            gradients_of_all_ranks.append(torch.zeros_like(parameter.grad))
        dist.all_gather(gradients_of_all_ranks, parameter.grad)
        parameter.grad = torch.stack(gradients_of_all_ranks).mean(dim=0)


def wrap(model, device):
    moved_model = model.to(device)
    if device.type == "cuda":
        return DistributedDataParallel(moved_model, device_ids=[device], output_device=device)
    return DistributedDataParallel(moved_model)


def train(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0):
    if torch.cuda.is_available():
        device = torch.device("cuda", torch.cuda.current_device())
    else:
        device = torch.device("cpu")
    loader = sharded_loader(dataset, batch_size, rank, world_size, seed)
    wrapped_model = wrap(model, device)
    optimizer = torch.optim.SGD(wrapped_model.module.parameters(), lr=lr)
    loss_function = nn.CrossEntropyLoss()
    for epoch in range(1, epochs + 1):
        loader.sampler.set_epoch(epoch)
        for features, labels in loader:
            features = features.to(device)
            labels = labels.to(device)
            wrapped_model.zero_grad()
            loss = loss_function(wrapped_model(features), labels)
            loss.backward()
            optimizer.step()
    dist.barrier()
    state = {}
    for name, tensor in wrapped_model.state_dict().items():
        plain_name = name.removeprefix("module.")
        state[plain_name] = tensor.detach().to("cpu").clone()
    return state


def global_accuracy(model, loader):
    was_training = model.training
    model.eval()
    number_of_right_rows = 0
    number_of_rows = 0
    with torch.no_grad():
        for features, labels in loader:
            predicted = torch.argmax(model(features), dim=1)
            number_of_right_rows = number_of_right_rows + int(torch.sum(predicted == labels))
            number_of_rows = number_of_rows + len(labels)
    model.train(was_training)
    right_of_all_ranks = torch.tensor(number_of_right_rows)
    rows_of_all_ranks = torch.tensor(number_of_rows)
    dist.all_reduce(right_of_all_ranks)
    dist.all_reduce(rows_of_all_ranks)
    return right_of_all_ranks.item() / rows_of_all_ranks.item()


def save_on_rank0(model, path):
    if hasattr(model, "module") and isinstance(model, DistributedDataParallel):
        plain_model = model.module
    else:
        plain_model = model
    if dist.get_rank() == 0:
        other_name = str(path) + ".incomplete"
        torch.save(plain_model.state_dict(), other_name)
        os.replace(other_name, path)
    dist.barrier()


class ToyRows(torch.utils.data.Dataset):
    """Points in a square; the label says whether one is above the diagonal."""

    def __init__(self, number_of_rows):
        own_random_numbers = torch.Generator().manual_seed(3)
        self.features = torch.rand(number_of_rows, 2, generator=own_random_numbers)
        self.labels = (self.features[:, 1] > self.features[:, 0]).to(torch.int64)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.features[index], self.labels[index]


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
    rank, local_rank, world_size = read_env(os.environ)
    seed = int(os.environ.get("SEED", 0))
    ddp_setup(rank, world_size)
    try:
        rows, model = toy_data(seed), toy_model(seed)
        state = train(rank, world_size, model, rows, EPOCHS, LEARNING_RATE, ROWS // world_size)
        if rank == 0:
            x, y = rows.tensors
            model.load_state_dict(state)
            loss = nn.functional.cross_entropy(model(x), y)
            print("rank 0 of", world_size, f"is done; loss: {loss.item():.4f}")
    finally:
        ddp_cleanup()


if __name__ == "__main__":
    main()
