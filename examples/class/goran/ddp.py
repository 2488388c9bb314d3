"""DistributedDataParallel: many processes train one model.

Every process, a *rank*, runs the same program with a copy of the model and its own share of the rows. After each
backward the ranks average their gradients, so that all copies take the same step and stay equal. They communicate by
*collectives* (all_reduce, broadcast, barrier ...): a collective returns only when every rank has called it. If one rank
does not call it, all others wait for ever.

``torchrun --nproc-per-node=2 ddp.py`` starts two ranks; environment variables say which one each is.

Read:
- PyTorch docs, torchrun (Elastic Launch): https://docs.pytorch.org/docs/stable/elastic/run.html
- PyTorch docs, torch.distributed: https://docs.pytorch.org/docs/stable/distributed.html
- PyTorch tutorial, Getting Started with DDP: https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html
- PyTorch tutorial, Writing Distributed Applications: https://docs.pytorch.org/tutorials/intermediate/dist_tuto.html
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset


def read_env(environ: Mapping[str, str]) -> tuple[int, int, int]:
    """The rank of this process, from the variables that torchrun sets.

    Args:
        environ: the environment, ``os.environ`` or a dict like it. It is only read.

    Returns:
        ``(rank, local_rank, world_size)`` as ints: the number of this process among all (``RANK``), its number among
        those on the same machine (``LOCAL_RANK``), and how many there are in all (``WORLD_SIZE``). A process that was
        not started by torchrun finds none of them: it is on its own, ``(0, 0, 1)``.

    Example:
        >>> read_env({"RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8"})
        (5, 1, 8)
        >>> read_env({})
        (0, 0, 1)

    Read: PyTorch docs, "torchrun (Elastic Launch)", the section on environment variables; "Deep Learning with GPU",
    DistributedDataParallel.
    """
    # environment variables are strings
    raise NotImplementedError("write `read_env` here")


def choose_backend(device_type: str, system: str) -> str:
    """The library that the ranks communicate with.

    Args:
        device_type: ``"cuda"``, ``"cpu"``, ``"mps"`` ...: the ``type`` of a ``torch.device``.
        system: the operating system as ``platform.system()`` returns it: ``"Linux"``, ``"Windows"``, ``"Darwin"``.

    Returns:
        ``"nccl"`` for CUDA, except on Windows, which has no NCCL; ``"gloo"`` for everything else.

    Example:
        >>> choose_backend("cuda", "Linux"), choose_backend("cuda", "Windows"), choose_backend("cpu", "Linux")
        ('nccl', 'gloo', 'gloo')

    Read: PyTorch docs, "Distributed communication package", the section on backends; Raschka, "Build a Large Language
    Model (From Scratch)", appendix A.9.3 "Training with multiple GPUs".
    """
    # one condition
    raise NotImplementedError("write `choose_backend` here")


def ddp_setup(rank: int, world_size: int) -> None:
    """Joins the process group; every rank calls it once, and it returns when all ranks have joined.

    The ranks meet at ``MASTER_ADDR``:``MASTER_PORT``. If they are set already (torchrun does this), they must not
    change. Where one is not set, this function sets it in ``os.environ``: one machine, any free port that all ranks
    agree on. The backend follows the rule of `choose_backend`. If there is CUDA, the current device becomes the one
    with the number ``LOCAL_RANK``, or, where that is not set, the rank modulo the number of devices. On Windows
    (``platform.system()`` says so) torch comes without libuv: ``USE_LIBUV`` becomes ``"0"`` where it is not set.

    Args:
        rank: the number of this process, from 0. (It need not be in the environment.)
        world_size: how many ranks there are.

    Example:
        ::

            rank, _, world_size = read_env(os.environ)
            ddp_setup(rank, world_size)

    Read: PyTorch docs, `torch.distributed.init_process_group` and "Initialization"; Raschka, appendix A.9.3 "Training
    with multiple GPUs".
    """
    # setdefault leaves what is there
    raise NotImplementedError("write `ddp_setup` here")


def ddp_cleanup() -> None:
    """Leaves the process group; does nothing where there is none.

    A program that ends without it may hang, or leave the other ranks waiting.

    Example:
        >>> ddp_cleanup()

    Read: PyTorch docs, "Distributed communication package", the section on shutdown.
    """
    # ask before you destroy
    raise NotImplementedError("write `ddp_cleanup` here")


def sharded_loader(dataset: Dataset, batch_size: int, rank: int, world_size: int, seed: int) -> DataLoader:
    """This rank's share of a dataset, in batches.

    In every epoch the rows are shuffled and divided among the ranks: no row goes to two ranks. All ranks get equally
    many; the rows that are left over when ``world_size`` does not divide the dataset, and only these, are dropped for
    that epoch. Every rank has the same number of batches: a rank with one more batch would wait for the others for
    ever. No process group is needed: rank and world size are arguments.

    Args:
        dataset: has a length, the same on all ranks.
        batch_size: rows per batch *of this rank*; its last batch is shorter where that does not divide its share.
        rank: whose share; world_size: how many shares.
        seed: decides the shuffles; the same on all ranks.

    Returns:
        A loader whose ``.sampler`` has ``set_epoch(epoch)``: called before an epoch, with another number each time,
        it makes another shuffle. The same seed and epoch give the same one again.

    Example:
        >>> rows = TensorDataset(torch.arange(7))
        >>> loaders = [sharded_loader(rows, batch_size=2, rank=r, world_size=2, seed=0) for r in range(2)]
        >>> [len(loader) for loader in loaders]
        [2, 2]
        >>> len({int(x) for loader in loaders for (batch,) in loader for x in batch})
        6

    Read: PyTorch docs, `torch.utils.data.distributed.DistributedSampler` (mind ``drop_last``); Raschka, appendix A.9.3.
    """
    # the sampler shuffles and divides; with drop_last of its own, or it repeats rows to make the shares equal
    raise NotImplementedError("write `sharded_loader` here")


def average_gradients(model: nn.Module) -> None:
    """Makes the gradients of all ranks equal: each becomes their mean. DDP does the same automatically.

    Every rank calls it after its own ``backward()``. Afterwards ``p.grad`` of every parameter is the mean of its
    gradients on all ranks. A parameter without a gradient (then it has none on any rank) still has none. The process
    group knows how many ranks there are: the environment need not say it.

    Args:
        model: a plain module, the same on every rank, except for its gradients. They may have any float dtype, and any
            layout in memory (``torch.channels_last`` is one).

    Example:
        ::

            loss.backward()
            average_gradients(model)
            optimizer.step()

    Read: PyTorch docs, `torch.distributed.all_reduce`, and the tutorial "Writing Distributed Applications with
    PyTorch", section "Distributed Training".
    """
    # a sum over the ranks, then one division
    raise NotImplementedError("write `average_gradients` here")


def wrap(model: nn.Module, device: torch.device) -> DDP:
    """The model on its device, inside DistributedDataParallel.

    DDP uses the parameters that it finds when it is made: they must not move after that. For a CUDA device pass
    ``device_ids=[that device]``; for any other device ``device_ids`` is left out.

    Args:
        model: a plain module, wherever it is.
        device: where it must be; of type ``"cuda"``, with an index, or ``"cpu"``.

    Returns:
        The DDP module. Calling it and then ``backward()`` averages the gradients over the ranks.

    Example:
        ::

            net = wrap(model, torch.device("cuda", local_rank))
            loss = F.cross_entropy(net(x), y)    # not net.module(x): that one averages nothing

    Read: PyTorch docs, `torch.nn.parallel.DistributedDataParallel`; "Deep Learning with GPU",
    DistributedDataParallel.
    """
    # first the device, then the wrap
    raise NotImplementedError("write `wrap` here")


def train(
    rank: int,
    world_size: int,
    model: nn.Module,
    dataset: Dataset,
    epochs: int,
    lr: float,
    batch_size: int,
    seed: int = 0,
) -> dict[str, Tensor]:
    """Trains one model on all ranks together: plain SGD on the cross-entropy of logits.

    The process group is set up already, and still is afterwards. Each epoch goes over the rows that `sharded_loader`
    gives to this rank, with a new shuffle. Each step uses the mean gradient over all ranks: where ``world_size *
    batch_size`` divides the rows, the result is the same as that of one process that trains on the ranks' batches
    joined together.

    Args:
        rank, world_size: which rank this is, of how many.
        model: of the same architecture on every rank, but perhaps with different weights: rank 0's weights are used.
        dataset: pairs ``(features, label)``, the same on all ranks; features have the dtype of the model.
        epochs: how often to go over the rows.
        lr: the learning rate.
        batch_size: rows per rank and step.
        seed: for `sharded_loader`.

    Returns:
        The trained ``state_dict``, buffers too: the names of the plain model (no ``module.`` in front), CPU tensors,
        the same numbers on every rank. (Only what BatchNorm counts may be this rank's own: it sees no other rows.)

    Example:
        ::

            ddp_setup(rank, world_size)
            state = train(rank, world_size, model, dataset, epochs=3, lr=0.1, batch_size=16)
            ddp_cleanup()

    Read: Raschka, appendix A.9.3 "Training with multiple GPUs"; "Deep Learning with GPU", DistributedDataParallel;
    PyTorch tutorial "Getting Started with Distributed Data Parallel".
    """
    # the usual training loop, with a wrapped model, a sharded loader, and set_epoch
    raise NotImplementedError("write `train` here")


def global_accuracy(model: nn.Module, loader: DataLoader) -> float:
    """The fraction of all ranks' rows that the model gets right: one number, the same on every rank.

    Every rank calls it with a loader of its own rows, which are perhaps not all rows of its dataset. The loaders may
    have different numbers of rows, and of batches; a rank may even have none.

    Args:
        model: the same on every rank; gives logits ``(n, classes)``.
        loader: batches ``(features, labels)``.

    Returns:
        A Python float in [0, 1]: right rows of all ranks, divided by rows of all ranks.

    Example:
        ::

            # rank 0: 3 of 3 right, rank 1: 1 of 5 right
            global_accuracy(model, loader)    # 0.5 on both

    Read: PyTorch docs, `torch.distributed.all_reduce`; Raschka, appendix A.9.3.
    """
    # count here, add over the ranks, divide once
    raise NotImplementedError("write `global_accuracy` here")


def save_on_rank0(model: nn.Module, path: str | Path) -> None:
    """Saves the weights once, for all ranks.

    All ranks call it. Only rank 0 of the process group writes, even if the ranks are on several machines; the others
    wait, however long it takes, so that when the function returns, on any rank, the file exists and is complete. The
    environment need not say which rank this is.

    Args:
        model: inside DistributedDataParallel, or a plain module, which may have a part that is called ``module``.
        path: the file, the same on all ranks.

    The file holds what ``torch.save`` makes of a ``state_dict`` with the plain model's names, so that a program without
    DDP can load it.

    Example:
        ::

            save_on_rank0(net, "weights.pt")
            state = torch.load("weights.pt", weights_only=True)    # works on every rank

    Read: PyTorch tutorial "Getting Started with Distributed Data Parallel", the section on checkpoints;
    `torch.distributed.barrier`.
    """
    # the barrier is for all ranks, also for those that have nothing to do before it
    raise NotImplementedError("write `save_on_rank0` here")


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


def main() -> None:
    """A whole program: sets up, trains a small model on toy data, prints the loss, and cleans up.

    The seed of the data and of the model is the integer in the environment's ``SEED``, or 0 where that is not set:
    `toy_data` and `toy_model` make them. It trains for `EPOCHS` epochs with `LEARNING_RATE` and full batches: each rank
    takes ``ROWS // world_size`` rows in its one step of an epoch, so that the result does not depend on how many ranks
    there are, nor on the order of the rows. Then rank 0, and no other, prints one line with the cross-entropy of the
    trained model on all rows, with 4 decimals. Nothing else is printed on any rank, by `main` or by what it calls.

    It runs under ``torchrun --nproc-per-node=2 ddp.py``, where each worker finds its rank in the environment, and
    alone, by ``python ddp.py``, where the environment has none of these variables. It takes no arguments, and ends with
    exit code 0, after it has left the process group.

    Example:
        .. code-block:: text

            $ SEED=3 torchrun --nproc-per-node=2 ddp.py
            2 ranks, loss 0.4282

    Read: PyTorch docs, "torchrun (Elastic Launch)"; Raschka, appendix A.9.3 "Training with multiple GPUs".
    """
    # you have written all the parts already
    raise NotImplementedError("write `main` here")


if __name__ == "__main__":
    main()
