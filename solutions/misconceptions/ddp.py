"""Classic wrong answers of ddp, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check. Some hang on purpose; the ranks are ended soon.
"""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Mapping

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, RandomSampler, Subset, TensorDataset

from grader.testkit import misconception

CPU = torch.device("cpu")

# ---------------------------------------------------------------- read_env


@misconception(
    "read_env", tell="You return the variables as they are. Environment variables are strings: turn them into ints."
)
def numbers_as_strings(environ: Mapping[str, str]) -> tuple:
    return environ.get("RANK", "0"), environ.get("LOCAL_RANK", "0"), environ.get("WORLD_SIZE", "1")


@misconception(
    "read_env",
    tell="Without torchrun the variables are not there, and environ[...] raises KeyError. Give each one a default.",
)
def needs_torchrun_to_start(environ: Mapping[str, str]) -> tuple[int, int, int]:
    return int(environ["RANK"]), int(environ["LOCAL_RANK"]), int(environ["WORLD_SIZE"])


@misconception("read_env", tell="A process on its own has world size 1, not 0.")
def world_of_none(environ: Mapping[str, str]) -> tuple[int, int, int]:
    return int(environ.get("RANK", 0)), int(environ.get("LOCAL_RANK", 0)), int(environ.get("WORLD_SIZE", 0))


@misconception(
    "read_env",
    tell="Local rank and rank are not the same: on the second of two machines the ranks go on, but the local ranks "
    "begin at 0 again.",
)
def rank_as_local_rank(environ: Mapping[str, str]) -> tuple[int, int, int]:
    rank = int(environ.get("RANK", 0))
    return rank, rank, int(environ.get("WORLD_SIZE", 1))


@misconception("read_env", tell="You read os.environ. Read the mapping that you are given.")
def reads_os_environ(environ: Mapping[str, str]) -> tuple[int, int, int]:
    return int(os.environ.get("RANK", 0)), int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


@misconception(
    "read_env",
    tell="You change the environment: you take variables out, or write your defaults into it. Others read it too: "
    "leave it as it is (.get reads only).",
)
def takes_them_out(environ: Mapping[str, str]) -> tuple[int, int, int]:
    return int(environ.pop("RANK", 0)), int(environ.pop("LOCAL_RANK", 0)), int(environ.pop("WORLD_SIZE", 1))


# ---------------------------------------------------------------- choose_backend


@misconception("choose_backend", tell="NCCL works between CUDA GPUs only. Without them use gloo.")
def always_nccl(device_type: str, system: str) -> str:
    return "nccl"


@misconception(
    "choose_backend",
    tell=(
        "On Windows with CUDA you return nccl, which is not there: use gloo. What is platform.system() "
        "compared with? It says 'Windows'."
    ),
)
def nccl_on_windows(device_type: str, system: str) -> str:
    return "nccl" if device_type == "cuda" else "gloo"


@misconception(
    "choose_backend",
    tell="gloo works everywhere, but GPUs communicate much faster over nccl: use nccl for CUDA, except on Windows.",
)
def always_gloo(device_type: str, system: str) -> str:
    return "gloo"


@misconception(
    "choose_backend", tell="NCCL does not support every kind of GPU, such as mps and xpu devices. Use it for CUDA only."
)
def nccl_for_all_gpus(device_type: str, system: str) -> str:
    return "nccl" if device_type != "cpu" and system != "Windows" else "gloo"


# ---------------------------------------------------------------- ddp_setup


def _backend() -> str:
    return "nccl" if torch.cuda.is_available() and platform.system() != "Windows" else "gloo"


def _pick(rank: int) -> None:
    _choose_store()
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank % torch.cuda.device_count())))


def _choose_store() -> None:
    if platform.system() == "Windows":
        os.environ.setdefault("USE_LIBUV", "0")


@misconception(
    "ddp_setup",
    tell="You overwrite MASTER_ADDR and MASTER_PORT. torchrun has set the same address for all ranks on all machines: "
    "set a variable only where it is not set (os.environ.setdefault).",
)
def overwrites_the_address(rank: int, world_size: int) -> None:
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12345"
    _pick(rank)
    dist.init_process_group(_backend(), rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="You overwrite MASTER_PORT. torchrun has chosen one that is free: set it only where it is not set.",
)
def overwrites_the_port(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ["MASTER_PORT"] = "12355"
    _pick(rank)
    dist.init_process_group(_backend(), rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="You expect MASTER_ADDR and MASTER_PORT to be set. Without torchrun they are not: set them where they are "
    "missing.",
    seen="lacks('MASTER_ADDR', 'MASTER_PORT', 'init_method', 'store')",
)
def never_sets_the_address(rank: int, world_size: int) -> None:
    _pick(rank)
    dist.init_process_group(_backend(), rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="Your backend is always nccl. Without CUDA, and on Windows, it must be gloo.",
    seen="passes('nccl')",
)
def hard_coded_nccl(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    _pick(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="Your backend is gloo even with CUDA. With CUDA it should be nccl, except on Windows.",
    seen="passes('gloo')",
)
def hard_coded_gloo(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    _pick(rank)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="You use the global rank as the index of the GPU. Rank 5 may be the second process of the second machine: "
    "LOCAL_RANK says which GPU of its machine it uses.",
)
def global_rank_as_device(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    _choose_store()
    if torch.cuda.is_available():
        torch.cuda.set_device(rank)
    dist.init_process_group(_backend(), rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="LOCAL_RANK is not always set (only torchrun does it). Where it is not, take the rank modulo the number of "
    "GPUs.",
)
def local_rank_or_nothing(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    _choose_store()
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(_backend(), rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="You never choose the CUDA device, so all ranks of a machine use GPU 0. Call torch.cuda.set_device.",
    seen="lacks('set_device', at='init_process_group')",
)
def never_picks_a_device(rank: int, world_size: int) -> None:
    _choose_store()
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    dist.init_process_group(_backend(), rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="You read rank and world_size from the environment, which has them only under torchrun. Use the arguments.",
)
def ignores_its_arguments(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    _pick(rank)
    dist.init_process_group(_backend())


@misconception(
    "ddp_setup",
    tell="Only rank 0 joins. Every rank must call init_process_group, which returns when all have called it: rank 0 "
    "waits for the others.",
)
def only_rank_0_joins(rank: int, world_size: int) -> None:
    _pick(rank)
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    if rank == 0:
        dist.init_process_group(_backend(), rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="The ranks meet at an address of your own (init_method), not at MASTER_ADDR and MASTER_PORT, which torchrun "
    "has set for all machines. Leave init_method out.",
)
def meets_somewhere_else(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    _pick(rank)
    dist.init_process_group(_backend(), init_method="tcp://127.0.0.1:12399", rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="On Windows with CUDA your backend is nccl, which is not there: is platform.system() asked, as "
    "choose_backend does?",
)
def nccl_with_cuda_everywhere(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    _pick(rank)
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="On Windows torch has no libuv, and the ranks cannot meet: set USE_LIBUV to 0 there, where it is not set.",
)
def libuv_on_windows(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank % torch.cuda.device_count())))
    dist.init_process_group(_backend(), rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="On Windows you overwrite USE_LIBUV. Whoever has set it knows their torch: set it only where it is not set.",
)
def overwrites_libuv(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12355")
    _pick(rank)
    if platform.system() == "Windows":
        os.environ["USE_LIBUV"] = "0"
    dist.init_process_group(_backend(), rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="You set MASTER_PORT only where MASTER_ADDR is missing, too. Each of them may be missing without the other.",
)
def both_or_none(rank: int, world_size: int) -> None:
    if "MASTER_ADDR" not in os.environ:
        os.environ["MASTER_ADDR"] = "localhost"
        os.environ["MASTER_PORT"] = "12355"
    _pick(rank)
    dist.init_process_group(_backend(), rank=rank, world_size=world_size)


@misconception(
    "ddp_setup",
    tell="Each rank chooses a free port of its own, so they never meet. All must choose the same: a fixed number will "
    "do.",
)
def a_port_for_each_rank(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    with socket.socket() as any_socket:
        any_socket.bind(("127.0.0.1", 0))
        os.environ.setdefault("MASTER_PORT", str(any_socket.getsockname()[1]))
    _pick(rank)
    dist.init_process_group(_backend(), rank=rank, world_size=world_size)


# ---------------------------------------------------------------- ddp_cleanup


@misconception("ddp_cleanup", tell="The process group still exists afterwards. Call destroy_process_group.")
def never_destroys_the_group() -> None:
    return None


@misconception(
    "ddp_cleanup",
    tell=(
        "Where there is no group, your ddp_cleanup raises an error: does it ask dist.is_initialized() first, "
        "with its brackets?"
    ),
)
def destroys_what_is_not_there() -> None:
    dist.destroy_process_group()


@misconception("ddp_cleanup", tell="Only rank 0 leaves the group. Every process has to leave it.")
def only_rank_0_leaves() -> None:
    if dist.is_initialized() and dist.get_rank() == 0:
        dist.destroy_process_group()


@misconception(
    "ddp_cleanup", tell="You call a barrier before you check whether there is a group. Without a group a barrier fails."
)
def barrier_without_a_group() -> None:
    dist.barrier()
    if dist.is_initialized():
        dist.destroy_process_group()


# ---------------------------------------------------------------- sharded_loader


def _sampler(dataset: Dataset, rank: int, world_size: int, seed: int, **options: bool) -> DistributedSampler:
    return DistributedSampler(dataset, num_replicas=world_size, rank=rank, seed=seed, **options)


@misconception(
    "sharded_loader",
    tell="Every rank gets all rows, so all ranks do the same work. A DistributedSampler gives each rank its share.",
)
def everybody_gets_everything(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    sampler = RandomSampler(dataset, generator=torch.Generator().manual_seed(seed))
    sampler.set_epoch = lambda epoch: sampler.generator.manual_seed(seed + epoch)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler)


@misconception(
    "sharded_loader",
    tell="Your loader shuffles by itself (shuffle=True): its sampler has no set_epoch, and every rank gets all rows. "
    "A DistributedSampler shuffles the rows and gives each rank its share.",
)
def plain_shuffle(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    return DataLoader(dataset, batch_size=batch_size, shuffle=True, generator=torch.Generator().manual_seed(seed))


@misconception(
    "sharded_loader",
    tell="The rows are divided among the ranks but not shuffled: every epoch is the same. Pass shuffle=True to the "
    "sampler.",
    seen="passes(False, 'shuffle')",
)
def never_shuffles(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    return DataLoader(
        dataset, batch_size, sampler=_sampler(dataset, rank, world_size, seed, shuffle=False, drop_last=True)
    )


@misconception(
    "sharded_loader",
    tell="With a remainder, some rows go to two ranks: by default the sampler repeats rows to make the shares equal. "
    "drop_last=True of the sampler drops them instead.",
    seen="lacks('drop_last', at='DistributedSampler')",
)
def repeats_rows(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    return DataLoader(dataset, batch_size, sampler=_sampler(dataset, rank, world_size, seed))


@misconception(
    "sharded_loader",
    tell="You pass drop_last to the loader, where it drops a short last batch. Pass it to the sampler, where it drops "
    "the remainder that does not divide among the ranks.",
)
def drops_at_the_loader(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    return DataLoader(dataset, batch_size, sampler=_sampler(dataset, rank, world_size, seed), drop_last=True)


@misconception(
    "sharded_loader",
    tell="Each rank shuffles with a seed of its own, so their shares overlap. All ranks need the same shuffle, to "
    "take "
    "different parts of it.",
)
def another_seed_on_each_rank(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    return DataLoader(dataset, batch_size, sampler=_sampler(dataset, rank, world_size, seed + rank, drop_last=True))


@misconception("sharded_loader", tell="The shuffle is the same for every seed: does the sampler get the seed?")
def forgets_the_seed(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    return DataLoader(dataset, batch_size, sampler=_sampler(dataset, rank, world_size, 0, drop_last=True))


@misconception(
    "sharded_loader",
    tell=("A batch has fewer rows than batch_size, which is meant per rank: is it divided by the number of ranks?"),
)
def divides_the_batch_size(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    sampler = _sampler(dataset, rank, world_size, seed, drop_last=True)
    return DataLoader(dataset, max(1, batch_size // world_size), sampler=sampler)


@misconception(
    "sharded_loader",
    tell="A rank's last batch is dropped where it is short (drop_last=True of the loader). Only the rows that do not "
    "divide among the ranks are to be dropped, by the sampler.",
)
def drops_short_batches(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    sampler = _sampler(dataset, rank, world_size, seed, drop_last=True)
    return DataLoader(dataset, batch_size, sampler=sampler, drop_last=True)


@misconception(
    "sharded_loader",
    tell="You leave out num_replicas and rank, so the sampler asks the process group, which there need not be. Pass "
    "the arguments on.",
    seen="lacks('num_replicas', 'rank', at='DistributedSampler')",
)
def asks_the_group(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    return DataLoader(dataset, batch_size, sampler=DistributedSampler(dataset, seed=seed, drop_last=True))


class _Keeps(RandomSampler):
    def set_epoch(self, epoch: int) -> None:
        self.generator.manual_seed(self.seed + epoch)


@misconception(
    "sharded_loader",
    tell="You divide the rows once and shuffle each share: a rank sees the same rows in every epoch. Shuffle all rows "
    "first, then divide.",
)
def always_the_same_share(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    share = len(dataset) // world_size
    own = Subset(dataset, range(rank * share, (rank + 1) * share))
    sampler = _Keeps(own, generator=torch.Generator())
    sampler.seed = seed
    sampler.set_epoch(0)
    return DataLoader(own, batch_size, sampler=sampler)


class _Dealer(RandomSampler):
    """Deals a shuffle of its own to the ranks: with one more row to some where it does not divide, if asked."""

    def __init__(self, dataset: Dataset, rank: int, world_size: int, seed: int, keeps_all: bool = False) -> None:
        super().__init__(dataset)
        self.seed, self.rank, self.world_size = seed, rank, world_size
        self.count = len(dataset) if keeps_all else len(dataset) // world_size * world_size
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        self.generator = torch.Generator().manual_seed(self.seed + epoch)

    def __iter__(self):
        order = torch.randperm(len(self.data_source), generator=self.generator)
        return iter(order[: self.count].tolist()[self.rank :: self.world_size])

    def __len__(self) -> int:
        return len(range(self.count)[self.rank :: self.world_size])


@misconception(
    "sharded_loader",
    tell="The shares are of different sizes: a rank with one more batch would wait for the others for ever. Drop the "
    "rows that do not divide among the ranks.",
)
def one_rank_has_more(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    return DataLoader(dataset, batch_size, sampler=_Dealer(dataset, rank, world_size, seed, keeps_all=True))


class _SetOnce(_Dealer):
    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(0)


@misconception(
    "sharded_loader",
    tell="set_epoch changes nothing: every epoch has the same shuffle. The epoch must be part of the seed.",
)
def shuffled_once(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    return DataLoader(dataset, batch_size, sampler=_SetOnce(dataset, rank, world_size, seed))


class _GoesOn(_Dealer):
    generator = None

    def set_epoch(self, epoch: int) -> None:
        self.generator = self.generator or torch.Generator().manual_seed(self.seed)


@misconception(
    "sharded_loader",
    tell="The shuffle depends on how often the loader was used before, and not on the epoch: the same epoch gives "
    "another shuffle each time. Seed the generator anew for each epoch, with seed and epoch.",
)
def one_generator_for_all_epochs(
    dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int
) -> DataLoader:
    return DataLoader(dataset, batch_size, sampler=_GoesOn(dataset, rank, world_size, seed))


# ---------------------------------------------------------------- average_gradients


@misconception(
    "average_gradients",
    tell="Your result is the sum over the ranks, so more ranks make larger steps. Divide by the world size.",
    seen="lacks('get_world_size', 'AVG', at='all_reduce')",
)
def sums_without_dividing(model: nn.Module) -> None:
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)


@misconception(
    "average_gradients",
    tell=(
        "The gradients are divided by the number of ranks once too often, such as before the sum and after "
        "it. One division makes the mean."
    ),
)
def divides_twice(model: nn.Module) -> None:
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= dist.get_world_size()
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()


@misconception(
    "average_gradients", tell="You divide by 2. There may be any number of ranks: divide by dist.get_world_size()."
)
def always_two_ranks(model: nn.Module) -> None:
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= 2


@misconception(
    "average_gradients",
    tell="You divide by the rank, which is 0 on rank 0. Divide by the number of ranks, dist.get_world_size().",
)
def divides_by_the_rank(model: nn.Module) -> None:
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_rank()


@misconception(
    "average_gradients",
    tell="You divide by the rank, which is 0 on rank 0: divide by dist.get_world_size(). And a parameter without a "
    "gradient has None there, which no rank can send: skip it.",
)
def divides_every_gradient_by_the_rank(model: nn.Module) -> None:
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_rank()


@misconception(
    "average_gradients",
    tell="Only rank 0 calls the collective, so it waits for the others for ever. All ranks must call it.",
    seen="collective_on_one_rank",
)
def a_collective_on_rank_0_only(model: nn.Module) -> None:
    if dist.get_rank() == 0:
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
                p.grad /= dist.get_world_size()


@misconception(
    "average_gradients",
    tell="reduce brings the sum to rank 0 only; the other ranks do not get it. all_reduce brings it to all.",
    seen="calls('reduce')",
)
def reduces_to_rank_0(model: nn.Module) -> None:
    for p in model.parameters():
        if p.grad is not None:
            dist.reduce(p.grad, dst=0)
            p.grad /= dist.get_world_size()


@misconception(
    "average_gradients",
    tell="The gradients have not changed. Change .grad itself, in place: not a copy of it, and not the weights, which "
    "are equal on all ranks already.",
)
def averages_something_else(model: nn.Module) -> None:
    for p in model.parameters():
        dist.all_reduce(p.data)
        p.data /= dist.get_world_size()


@misconception(
    "average_gradients",
    tell="all_reduce writes the sum into the tensor that it gets, and yours is a copy: the gradient itself is only "
    "divided. Give it p.grad, or copy the sum back.",
)
def sums_a_copy(model: nn.Module) -> None:
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad.clone())
            p.grad /= dist.get_world_size()


@misconception(
    "average_gradients",
    tell="broadcast copies rank 0's gradients to all ranks: what the others have computed is lost. Sum and divide.",
    seen="calls('broadcast', unless=('all_reduce', 'all_gather', 'reduce', 'gather'))",
)
def broadcasts_rank_0(model: nn.Module) -> None:
    for p in model.parameters():
        if p.grad is not None:
            dist.broadcast(p.grad, src=0)


@misconception(
    "average_gradients", tell="A parameter without a gradient has .grad None, and None cannot be summed. Skip it."
)
def no_gradient_forgotten(model: nn.Module) -> None:
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


@misconception(
    "average_gradients",
    tell="You give zeros to a parameter that has no gradient. None and zeros differ: an optimizer skips only "
    "parameters whose gradient is None.",
)
def zeros_for_none(model: nn.Module) -> None:
    for p in model.parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


@misconception(
    "average_gradients",
    tell="You take the number of ranks from the environment, which need not say it. The process group knows it: "
    "dist.get_world_size().",
    seen="reads('environ', 'getenv')",
)
def asks_the_environment(model: nn.Module) -> None:
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= int(os.environ.get("WORLD_SIZE", 1))


# ---------------------------------------------------------------- wrap


@misconception(
    "wrap",
    tell="You move the model only if the device is a GPU. A model that is on a GPU must move for the CPU as well.",
)
def moves_to_gpus_only(model: nn.Module, device: torch.device) -> nn.Module:
    if device.type == "cuda":
        return DDP(model.to(device), device_ids=[device])
    return DDP(model)


@misconception(
    "wrap",
    tell="You wrap the model first and move it afterwards. DDP uses the parameters that it finds when it is made: "
    "move first, then wrap.",
)
def wraps_before_moving(model: nn.Module, device: torch.device) -> nn.Module:
    return DDP(model, device_ids=[device] if device.type == "cuda" else None).to(device)


@misconception(
    "wrap",
    tell="You put the global rank into device_ids. Put the device there that you are given: on another machine, the "
    "rank may be the index of another GPU, or of none.",
)
def global_rank_as_device_id(model: nn.Module, device: torch.device) -> nn.Module:
    return DDP(model.to(device), device_ids=[dist.get_rank()] if device.type == "cuda" else None)


@misconception("wrap", tell="device_ids is for CUDA only. For a model on the CPU it must be None.")
def device_ids_on_the_cpu(model: nn.Module, device: torch.device) -> nn.Module:
    return DDP(model.to(device), device_ids=[device.index or 0])


@misconception(
    "wrap", tell="On CUDA, pass device_ids=[device] to DDP: the device of this process.", seen="lacks('device_ids')"
)
def no_device_ids(model: nn.Module, device: torch.device) -> nn.Module:
    return DDP(model.to(device))


@misconception("wrap", tell="The model stays where it was. Move it to the device before you wrap it.")
def never_moves(model: nn.Module, device: torch.device) -> nn.Module:
    return DDP(model, device_ids=[device] if device.type == "cuda" else None)


@misconception(
    "wrap",
    tell="nn.DataParallel uses several GPUs from one process, without ranks. Use DistributedDataParallel.",
    seen="calls('DataParallel')",
)
def data_parallel(model: nn.Module, device: torch.device) -> nn.Module:
    return nn.DataParallel(model.to(device))


@misconception(
    "wrap",
    tell="You return the model itself, not the DDP module around it: the gradients of the ranks are never averaged.",
)
def returns_the_bare_model(model: nn.Module, device: torch.device) -> nn.Module:
    return DDP(model.to(device), device_ids=[device] if device.type == "cuda" else None).module


# ---------------------------------------------------------------- train


def _loop(net: nn.Module, loader: DataLoader, epochs: int, lr: float, **how: object) -> nn.Module:
    """The training loop, with what each wrong answer has else in it."""
    inner = net.module if isinstance(net, DDP) else net
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for features, labels in loader:
            loss = F.cross_entropy(net(features), labels)
            optimizer.zero_grad()
            (loss * how.get("factor", 1.0)).backward()
            how.get("after", lambda model: None)(inner)
            optimizer.step()
    return inner


def _state(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().cpu() for name, value in model.state_dict().items()}


def _dealt(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    return DataLoader(dataset, batch_size, sampler=_sampler(dataset, rank, world_size, seed, drop_last=True))


@misconception(
    "train", tell="Every rank trains on all rows: the ranks all do the same work. Use sharded_loader's rows."
)
def no_distributed_sampler(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    loader = everybody_gets_everything(dataset, batch_size, rank, world_size, seed)
    return _state(_loop(DDP(model), loader, epochs, lr))


@misconception(
    "train",
    tell="Every epoch takes the same batches in the same order: does set_epoch get the number of the epoch, "
    "before each epoch?",
    seen="lacks('set_epoch', at='backward')",
)
def no_set_epoch(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    net, loader = DDP(model), _dealt(dataset, batch_size, rank, world_size, seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for _ in range(epochs):
        for features, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(features), labels).backward()
            optimizer.step()
    return _state(model)


@misconception(
    "train",
    tell="You call net.module(x), the model inside DDP: its gradients are never averaged over the ranks, and the "
    "copies become different. Call the DDP module itself.",
    seen="calls('net.module', 'model.module', 'ddp_model.module')",
)
def calls_the_inner_module(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    net, loader = DDP(model), _dealt(dataset, batch_size, rank, world_size, seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for features, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(net.module(features), labels).backward()
            optimizer.step()
    return _state(model)


@misconception("train", tell="There is no DDP: each rank trains a model of its own, on its own rows. Wrap the model.")
def never_wraps(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    return _state(_loop(model, _dealt(dataset, batch_size, rank, world_size, seed), epochs, lr))


@misconception(
    "train", tell="The names begin with `module.`: that is the state_dict of the DDP module. Return that of net.module."
)
def module_in_the_names(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    net = DDP(model)
    _loop(net, _dealt(dataset, batch_size, rank, world_size, seed), epochs, lr)
    return _state(net)


@misconception(
    "train",
    tell="With n ranks each step is n times too small: is something divided by the number of ranks once more? "
    "DDP's backward has computed the mean already.",
)
def divides_the_mean_again(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    loader = _dealt(dataset, batch_size, rank, world_size, seed)
    return _state(_loop(DDP(model), loader, epochs, lr, factor=1 / world_size))


@misconception(
    "train",
    tell=(
        "With n ranks each step is n times too large: are the ranks' gradients added up and not divided, or "
        "is the learning rate multiplied by the number of ranks?"
    ),
)
def steps_with_the_sum(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    loader = _dealt(dataset, batch_size, rank, world_size, seed)
    return _state(_loop(DDP(model), loader, epochs, lr, factor=float(world_size)))


@misconception(
    "train",
    tell="You average gradients by hand, but never make the models equal at the start: ranks that begin with "
    "different weights stay different. DDP sends rank 0's weights to all ranks.",
)
def other_weights_on_each_rank(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    def average(inner: nn.Module) -> None:
        for p in inner.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world_size

    loader = _dealt(dataset, batch_size, rank, world_size, seed)
    return _state(_loop(model, loader, epochs, lr, after=average))


@misconception(
    "train",
    tell="After training only rank 0 calls a barrier, and waits there for ever: every rank must call a collective.",
    seen="collective_on_one_rank",
)
def a_barrier_on_rank_0_only(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    inner = _loop(DDP(model), _dealt(dataset, batch_size, rank, world_size, seed), epochs, lr)
    if rank == 0:
        dist.barrier()
    return _state(inner)


@misconception("train", tell="Only rank 0 returns the weights. Every rank has them, and every rank returns them.")
def only_rank_0_returns(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor] | None:
    inner = _loop(DDP(model), _dealt(dataset, batch_size, rank, world_size, seed), epochs, lr)
    return _state(inner) if rank == 0 else None


@misconception(
    "train",
    tell="You leave the process group at the end. The caller has set it up and may still need it: do not destroy it.",
    seen="calls('destroy_process_group', 'ddp_cleanup')",
)
def destroys_the_callers_group(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    inner = _loop(DDP(model), _dealt(dataset, batch_size, rank, world_size, seed), epochs, lr)
    state = _state(inner)
    dist.destroy_process_group()
    return state


@misconception(
    "train",
    tell="Gradients are never cleared, so each step adds all earlier ones. Call optimizer.zero_grad() in the loop.",
    seen="no_zero_grad",
)
def never_clears_gradients(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    net, loader = DDP(model), _dealt(dataset, batch_size, rank, world_size, seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for features, labels in loader:
            F.cross_entropy(net(features), labels).backward()
            optimizer.step()
    return _state(model)


@misconception(
    "train",
    tell="You call zero_grad between backward and step: the gradients are gone before the step, and nothing is "
    "learned.",
    seen="zero_grad_before_step",
)
def clears_before_the_step(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    net, loader = DDP(model), _dealt(dataset, batch_size, rank, world_size, seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for features, labels in loader:
            F.cross_entropy(net(features), labels).backward()
            optimizer.zero_grad()
            optimizer.step()
    return _state(model)


@misconception(
    "train",
    tell="Your optimizer has momentum. Plain SGD takes a step along the gradient and remembers nothing.",
    seen="keyword('momentum')",
)
def has_momentum(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    net, loader = DDP(model), _dealt(dataset, batch_size, rank, world_size, seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for features, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(features), labels).backward()
            optimizer.step()
    return _state(model)


@misconception(
    "train",
    tell=(
        "A step takes fewer rows than batch_size, which is meant per rank and step: is it divided by the "
        "number of ranks?"
    ),
)
def smaller_batches(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    loader = _dealt(dataset, max(1, batch_size // world_size), rank, world_size, seed)
    return _state(_loop(DDP(model), loader, epochs, lr))


@misconception(
    "train",
    tell="You cut `module.` out of the names wherever it stands. A plain model may have it in the middle of a name: "
    "take the state_dict of net.module, or remove it at the front only.",
)
def module_cut_out_anywhere(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    net = DDP(model)
    _loop(net, _dealt(dataset, batch_size, rank, world_size, seed), epochs, lr)
    return {name.replace("module.", ""): value for name, value in _state(net).items()}


@misconception("train", tell="The shuffles are the same for every seed: is the seed passed on?")
def always_shuffles_with_0(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    return _state(_loop(DDP(model), _dealt(dataset, batch_size, rank, world_size, 0), epochs, lr))


@misconception(
    "train",
    tell="You put a softmax before cross-entropy, which takes logits and has a softmax in it.",
    seen="softmax_before_loss",
)
def probabilities_for_logits(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    net, loader = DDP(model), _dealt(dataset, batch_size, rank, world_size, seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for features, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(features).softmax(dim=1), labels).backward()
            optimizer.step()
    return _state(model)


@misconception(
    "train",
    tell="You set up the process group in train. It is set up already: the caller does that, and leaves it later.",
    seen="calls('init_process_group', 'ddp_setup')",
)
def joins_in_train(rank, world_size, model, dataset, epochs, lr, batch_size, seed=0) -> dict[str, Tensor]:
    _pick(rank)
    dist.init_process_group(_backend(), rank=rank, world_size=world_size)
    return _state(_loop(DDP(model), _dealt(dataset, batch_size, rank, world_size, seed), epochs, lr))


# ---------------------------------------------------------------- global_accuracy


def _counts(model: nn.Module, loader: DataLoader) -> tuple[int, int]:
    right = rows = 0
    with torch.no_grad():
        for features, labels in loader:
            right += int((model(features).argmax(dim=1) == labels).sum())
            rows += len(labels)
    return right, rows


@misconception(
    "global_accuracy",
    tell="The ranks return different numbers, each that of its own rows: do the counts of all ranks come to "
    "every rank, as all_reduce brings them?",
    seen="lacks('all_reduce', 'all_gather', 'all_gather_object', 'reduce', 'gather', 'gather_object', 'broadcast')",
)
def this_rank_only(model: nn.Module, loader: DataLoader) -> float:
    right, rows = _counts(model, loader)
    return right / max(rows, 1)


@misconception(
    "global_accuracy",
    tell="You average the ranks' accuracies: a rank with few rows counts as much as one with many. Add up right rows "
    "and all rows, then divide once.",
    seen="divides_by('get_world_size', just=True)",
)
def averages_the_ranks(model: nn.Module, loader: DataLoader) -> float:
    right, rows = _counts(model, loader)
    accuracy = torch.tensor(right / max(rows, 1), dtype=torch.float64)
    dist.all_reduce(accuracy)
    return accuracy.item() / dist.get_world_size()


@misconception(
    "global_accuracy",
    tell="You average the accuracies of batches: a short batch counts as much as a full one. Count rows.",
)
def averages_the_batches(model: nn.Module, loader: DataLoader) -> float:
    sums = torch.zeros(2, dtype=torch.float64)
    with torch.no_grad():
        for features, labels in loader:
            sums += torch.tensor([(model(features).argmax(dim=1) == labels).double().mean(), 1.0])
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()


@misconception(
    "global_accuracy",
    tell="There is a collective in the loop over batches. A rank with fewer batches calls it less often, and the "
    "others "
    "wait for ever: call it once, after the loop.",
    seen="call_in_loop('all_reduce', 'all_gather', 'all_gather_object', 'reduce')",
)
def a_collective_per_batch(model: nn.Module, loader: DataLoader) -> float:
    totals = torch.zeros(2, dtype=torch.int64)
    with torch.no_grad():
        for features, labels in loader:
            counts = torch.tensor([(model(features).argmax(dim=1) == labels).sum(), len(labels)])
            dist.all_reduce(counts)
            totals += counts
    return (totals[0] / totals[1]).item()


@misconception(
    "global_accuracy",
    tell="Only rank 0 gets the right number: reduce gives the sum to one rank. Use all_reduce, so that every rank "
    "returns the same number.",
    seen="calls('reduce', unless=('broadcast', 'broadcast_object_list'))",
)
def only_rank_0_knows(model: nn.Module, loader: DataLoader) -> float:
    counts = torch.tensor(_counts(model, loader))
    dist.reduce(counts, dst=0)
    return counts[0].item() / max(counts[1].item(), 1)


@misconception(
    "global_accuracy",
    tell="Only the right rows are added up over the ranks, and divided by this rank's rows. Add up both.",
)
def divides_by_its_own_rows(model: nn.Module, loader: DataLoader) -> float:
    right, rows = _counts(model, loader)
    total = torch.tensor(right)
    dist.all_reduce(total)
    return total.item() / max(rows, 1)


@misconception(
    "global_accuracy",
    tell="The collective is inside an `if rank == 0`: rank 0 waits there, and the others never call it.",
    seen="collective_on_one_rank",
)
def asks_on_rank_0_only(model: nn.Module, loader: DataLoader) -> float:
    counts = torch.tensor(_counts(model, loader))
    if dist.get_rank() == 0:
        dist.all_reduce(counts)
    return counts[0].item() / max(counts[1].item(), 1)


@misconception(
    "global_accuracy",
    tell="You return a tensor. Return a plain Python float: use .item().",
    seen="lacks('item', 'tolist', 'float', at='all_reduce')",
)
def a_tensor_for_a_float(model: nn.Module, loader: DataLoader) -> Tensor:
    counts = torch.tensor(_counts(model, loader))
    dist.all_reduce(counts)
    return counts[0] / counts[1]


@misconception(
    "global_accuracy",
    tell="A rank may have no rows at all: then there is nothing to concatenate, and torch.cat fails. Add up counts.",
)
def nothing_to_concatenate(model: nn.Module, loader: DataLoader) -> float:
    with torch.no_grad():
        right = torch.cat([model(features).argmax(dim=1) == labels for features, labels in loader])
    counts = torch.tensor([int(right.sum()), len(right)])
    dist.all_reduce(counts)
    return counts[0].item() / counts[1].item()


@misconception(
    "global_accuracy",
    tell="len(loader.dataset) counts the rows of the whole dataset, and a loader may give only some of them (with a "
    "DistributedSampler, for one). Add up len(labels) of its batches.",
    seen="divides_by('dataset')",
)
def counts_the_whole_dataset(model: nn.Module, loader: DataLoader) -> float:
    right, _ = _counts(model, loader)
    counts = torch.tensor([right, len(loader.dataset)])
    dist.all_reduce(counts)
    return counts[0].item() / counts[1].item()


@misconception(
    "global_accuracy", tell="Your result is in percent. Return a fraction, from 0 to 1.", seen="multiplies_by(100)"
)
def in_percent(model: nn.Module, loader: DataLoader) -> float:
    counts = torch.tensor(_counts(model, loader))
    dist.all_reduce(counts)
    return 100 * counts[0].item() / counts[1].item()


# ---------------------------------------------------------------- save_on_rank0


def _plain(model: nn.Module) -> nn.Module:
    return model.module if isinstance(model, DDP) else model


@misconception(
    "save_on_rank0",
    tell="Several ranks write the same file at the same time: it may end up broken. Only rank 0 should write.",
    seen="lacks('get_rank', at='save')",
)
def every_rank_saves(model: nn.Module, path: str) -> None:
    torch.save(_plain(model).state_dict(), path)
    dist.barrier()


@misconception(
    "save_on_rank0",
    tell="The other ranks return before the file exists. They must wait at a barrier that rank 0 reaches after it has "
    "written; a barrier before the saving does not help, nor does it help to sleep for a while.",
)
def nobody_waits(model: nn.Module, path: str) -> None:
    if dist.get_rank() == 0:
        torch.save(_plain(model).state_dict(), path)


@misconception(
    "save_on_rank0",
    tell="The barrier stands inside `if rank == 0`: rank 0 waits there for ranks that never call it. Move it after "
    "the `if`.",
    seen="collective_on_one_rank",
)
def the_barrier_on_rank_0_only(model: nn.Module, path: str) -> None:
    if dist.get_rank() == 0:
        torch.save(_plain(model).state_dict(), path)
        dist.barrier()


@misconception(
    "save_on_rank0",
    tell="The names in the file begin with `module.`: a program without DDP cannot load it. Save the state_dict of "
    "model.module.",
)
def module_in_the_file(model: nn.Module, path: str) -> None:
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()


@misconception(
    "save_on_rank0", tell="You always take model.module, which only a DDP has. The model may also be a plain one."
)
def always_unwraps(model: nn.Module, path: str) -> None:
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), path)
    dist.barrier()


@misconception(
    "save_on_rank0",
    tell="You pickle the whole module. It can be loaded only with its code, and not with weights_only: save a "
    "state_dict.",
    seen="lacks('state_dict', at='save')",
)
def saves_the_whole_model(model: nn.Module, path: str) -> None:
    if dist.get_rank() == 0:
        torch.save(_plain(model), path)
    dist.barrier()


@misconception(
    "save_on_rank0",
    tell="You cut `module.` out of the names wherever it stands. A plain model may have it in the middle of a name: "
    "take the state_dict of model.module, or remove it at the front only.",
)
def module_cut_out_of_the_file(model: nn.Module, path: str) -> None:
    if dist.get_rank() == 0:
        torch.save({name.replace("module.", ""): value for name, value in model.state_dict().items()}, path)
    dist.barrier()


@misconception(
    "save_on_rank0",
    tell="A plain model may have a part that is called `module`, too, and you save that part alone. Ask for the type: "
    "isinstance(model, DistributedDataParallel).",
)
def unwraps_whatever_has_a_module(model: nn.Module, path: str) -> None:
    if dist.get_rank() == 0:
        torch.save((model.module if hasattr(model, "module") else model).state_dict(), path)
    dist.barrier()


# ---------------------------------------------------------------- main


def _join(rank: int, world_size: int) -> None:
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29502")
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def _who() -> tuple[int, int]:
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def _seed() -> int:
    return int(os.environ.get("SEED", 0))


def _toy_data(seed: int) -> TensorDataset:
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(64, 2, generator=generator)
    return TensorDataset(features, (features.sum(dim=1) + torch.randn(64, generator=generator) > 0).long())


def _toy_model(seed: int) -> nn.Module:
    generator = torch.Generator().manual_seed(seed + 1)
    model = nn.Linear(2, 2)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=generator))
    return model


def _learn(rank: int, world_size: int, seed: int, epochs: int = 12, averages: bool = True) -> float:
    dataset, model = _toy_data(seed), _toy_model(seed)
    _loop(DDP(model) if averages else model, _dealt(dataset, 64 // world_size, rank, world_size, 0), epochs, 0.5)
    features, labels = dataset.tensors
    return float(F.cross_entropy(model(features), labels).detach())


@misconception("main", tell="Every rank prints. Only rank 0 should: put the print under `if rank == 0:`.")
def every_rank_prints() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    print(f"rank {rank}: {_learn(rank, world_size, _seed()):.4f}")
    _leave()


@misconception(
    "main",
    tell="Your program needs torchrun: without it, RANK is not in the environment, and os.environ[...] raises "
    "KeyError. Use read_env, which has defaults.",
)
def cannot_run_alone() -> None:
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    _join(rank, world_size)
    loss = _learn(rank, world_size, _seed())
    if rank == 0:
        print(f"loss {loss:.4f}")
    _leave()


@misconception("main", tell="The process group still exists at the end. Call ddp_cleanup().")
def never_cleans_up() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    loss = _learn(rank, world_size, _seed())
    if rank == 0:
        print(f"loss {loss:.4f}")


@misconception("main", tell="Only rank 0 cleans up. Every process is in the group, and every process has to leave it.")
def only_rank_0_cleans_up() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    loss = _learn(rank, world_size, _seed())
    if rank == 0:
        print(f"loss {loss:.4f}")
        _leave()


@misconception("main", tell="Nothing is printed. Rank 0 must print one line.")
def says_nothing() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    _learn(rank, world_size, _seed())
    _leave()


@misconception("main", tell="More than one line is printed. Print one line, at the end, on rank 0.")
def prints_as_it_goes() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    for epoch in range(1, 13):
        loss = _learn(rank, world_size, _seed(), epochs=epoch)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f}")
    _leave()


@misconception(
    "main",
    tell="Only rank 0 trains: its collectives wait for the other ranks, which have ended. All ranks must run the same "
    "code.",
)
def only_rank_0_trains() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    if rank == 0:
        print(f"loss {_learn(rank, world_size, _seed()):.4f}")
    _leave()


@misconception(
    "main", tell="The loss is printed, but it is no result of training: train the model that toy_model makes."
)
def only_prints() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    if rank == 0:
        print(f"{world_size} ranks, loss 0.1234")
    _leave()


@misconception(
    "main",
    tell="Each rank trains a model of its own, on its own rows: nothing averages their gradients. Wrap the model in "
    "DDP, or call your train.",
)
def trains_on_its_own_share() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    loss = _learn(rank, world_size, _seed(), averages=False)
    if rank == 0:
        print(f"loss {loss:.4f}")
    _leave()


@misconception("main", tell="Data and model are always those of seed 0: is SEED in the environment read, as an int?")
def ignores_the_seed() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    loss = _learn(rank, world_size, 0)
    if rank == 0:
        print(f"loss {loss:.4f}")
    _leave()


@misconception(
    "main", tell="SEED is needed, but it need not be in the environment: where it is not set, the seed is 0."
)
def needs_a_seed() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    loss = _learn(rank, world_size, int(os.environ["SEED"]))
    if rank == 0:
        print(f"loss {loss:.4f}")
    _leave()


@misconception("main", tell="The loss is that of the model before its training. Train for EPOCHS epochs first.")
def never_trains() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    loss = _learn(rank, world_size, _seed(), epochs=0)
    if rank == 0:
        print(f"loss {loss:.4f}")
    _leave()


@misconception("main", tell="The loss has not the number of decimals that was asked for. Print it with :.4f.")
def too_few_decimals() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    loss = _learn(rank, world_size, _seed())
    if rank == 0:
        print(f"loss {loss:.2f}")
    _leave()


@misconception(
    "main",
    tell="Rank 0 trains alone, on all rows: the other ranks do nothing that counts. All ranks join the group, and each "
    "trains on its share of the rows.",
)
def rank_0_trains_alone() -> None:
    rank, world_size = _who()
    if rank == 0:
        dataset, model = _toy_data(_seed()), _toy_model(_seed())
        _loop(model, _dealt(dataset, 64, 0, 1, 0), 12, 0.5)
        features, labels = dataset.tensors
        print(f"{world_size} ranks, loss {float(F.cross_entropy(model(features), labels).detach()):.4f}")


@misconception(
    "main",
    tell="Every rank trains on all rows, so all do the same work. Each one should take ROWS // world_size of them: "
    "sharded_loader gives each rank its share.",
)
def every_rank_takes_all_rows() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    dataset, model = _toy_data(_seed()), _toy_model(_seed())
    _loop(DDP(model), _dealt(dataset, 64, 0, 1, 0), 12, 0.5)
    features, labels = dataset.tensors
    if rank == 0:
        print(f"{world_size} ranks, loss {float(F.cross_entropy(model(features), labels).detach()):.4f}")
    _leave()


@misconception("main", tell="The loss is that of rank 0's share of the rows. Measure the trained model on all rows.")
def loss_of_its_share() -> None:
    rank, world_size = _who()
    _join(rank, world_size)
    dataset, model = _toy_data(_seed()), _toy_model(_seed())
    loader = _dealt(dataset, 64 // world_size, rank, world_size, 0)
    _loop(DDP(model), loader, 12, 0.5)
    features, labels = next(iter(loader))
    if rank == 0:
        print(f"{world_size} ranks, loss {float(F.cross_entropy(model(features), labels).detach()):.4f}")
    _leave()


@misconception(
    "main",
    tell="main takes no arguments: nobody passes it a rank. torchrun starts one process for each rank, which finds its "
    "own in the environment.",
)
def takes_arguments(rank: int, world_size: int) -> None:
    _join(rank, world_size)
    loss = _learn(rank, world_size, _seed())
    if rank == 0:
        print(f"loss {loss:.4f}")
    _leave()
