"""Checks of ddp: real ranks that communicate over gloo, and the state of each of them at the end.

Never decide what the contract leaves open: how rows are shuffled, which port is chosen, how the ranks are kept
together, what the functions that return nothing return.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from grader.testkit import (
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    counted,
    exercise,
    needs,
    probes,
    recipes,
)
from grader.testkit import ranks as r
from kit import distributed as d

pytestmark = needs("ranks")

ADDRESS = ("MASTER_ADDR", "MASTER_PORT")


# ---------------------------------------------------------------- read_env


@exercise("ddp.read_env")
@needs()
@pytest.mark.parametrize("numbers", [(3, 1, 4), (0, 0, 2), (11, 3, 16)])
def test_what_torchrun_says(submission: Submission, numbers: tuple[int, int, int]) -> None:
    """Rank, local rank and world size come from RANK, LOCAL_RANK and WORLD_SIZE, in this order, as ints."""
    rank, local_rank, world_size = map(str, numbers)
    environ = {"HOME": "/home/me", "WORLD_SIZE": world_size, "RANK": rank, "LOCAL_RANK": local_rank}
    assert_equal(submission.read_env(environ), numbers)


@exercise("ddp.read_env")
@needs()
def test_a_process_on_its_own(submission: Submission) -> None:
    """Without these variables the result is rank 0, local rank 0, world size 1."""
    assert_equal(submission.read_env({"HOME": "/home/me"}), (0, 0, 1))


# ---------------------------------------------------------------- choose_backend


@exercise("ddp.choose_backend")
@needs()
@pytest.mark.parametrize("device", ["cuda", "cpu", "mps", "xpu"])
@pytest.mark.parametrize("system", ["Linux", "Windows", "Darwin"])
def test_backend_for(submission: Submission, device: str, system: str) -> None:
    """NCCL for CUDA, except on Windows; gloo for everything else."""
    expected = "nccl" if device == "cuda" and system != "Windows" else "gloo"
    assert_equal(submission.choose_backend(device, system), expected)


# ---------------------------------------------------------------- ddp_setup


def joined(rank: int, size: int, backend: str = "gloo") -> dict[str, object]:
    """What `kit.distributed.group_facts` gives on a rank that has joined."""
    total = float(size * (size + 1) // 2)
    return {"initialized": True, "backend": backend, "rank": rank, "world_size": size, "sum": total}


@exercise("ddp.ddp_setup")
@pytest.mark.parametrize("size", [2, 3, 1])
def test_joins_the_group(submission: Submission, size: int) -> None:
    """Afterwards each process is in a gloo group, with its rank and the right size, and the ranks can communicate."""
    world = r.run(submission.ddp_setup, r.RANK, r.WORLD_SIZE, world_size=size, group=False, look=r.call(d.group_facts))
    assert_equal(world.looks, [joined(rank, size) for rank in range(size)], what="the groups")


@exercise("ddp.ddp_setup")
def test_arguments_count(submission: Submission) -> None:
    """Rank and world size are taken from the arguments, also when the environment does not have them."""
    env = {"RANK": None, "LOCAL_RANK": None, "WORLD_SIZE": None}
    world = r.run(submission.ddp_setup, r.RANK, r.WORLD_SIZE, group=False, env=env, look=r.call(d.group_facts))
    assert_equal(world.looks, [joined(rank, 2) for rank in range(2)], what="the groups")


@exercise("ddp.ddp_setup")
def test_an_address_that_is_set_stays(submission: Submission) -> None:
    """Where torchrun has set MASTER_ADDR and MASTER_PORT, they are used and not changed."""
    look = r.call(d.address_kept)
    world = r.run(submission.ddp_setup, r.RANK, r.WORLD_SIZE, group=False, before=r.call(d.note_address), look=look)
    assert_equal(world.looks, [(True, True)] * 2, what="whether MASTER_ADDR and MASTER_PORT are as they were")


@exercise("ddp.ddp_setup")
@pytest.mark.parametrize("unset", [ADDRESS, ("MASTER_PORT",)], ids=["both", "port"])
def test_an_address_that_is_not_set(submission: Submission, unset: tuple[str, ...]) -> None:
    """Where MASTER_ADDR or MASTER_PORT is not set, it gets a value that lets the ranks meet."""
    env = dict.fromkeys(unset)
    look = r.call(d.address_is_set)
    world = r.run(submission.ddp_setup, r.RANK, r.WORLD_SIZE, group=False, env=env, look=look)
    assert_equal(world.looks, [(True, True)] * 2, what="whether MASTER_ADDR and MASTER_PORT are set")


@exercise("ddp.ddp_setup")
@pytest.mark.parametrize("local", ["1", None], ids=["local_rank", "no_local_rank"])
def test_picks_the_gpu(submission: Submission, local: str | None) -> None:
    """With CUDA (two GPUs, simulated) it picks the device by LOCAL_RANK, else by rank modulo 2, and NCCL as the
    backend."""
    world = r.run(
        submission.ddp_setup, r.RANK, r.WORLD_SIZE, world_size=3, group=False,
        env={"LOCAL_RANK": local}, before=r.call(d.pretend_gpus, 2), look=r.call(d.pretended),
    )  # fmt: skip
    devices = [1, 1, 1] if local else [0, 1, 0]
    assert_equal([look["device"] for look in world.looks], devices, what="the current CUDA device of each rank")
    assert_equal([look["backend"] for look in world.looks], ["nccl"] * 3, what="the backend of each rank")


# ---------------------------------------------------------------- ddp_cleanup


@exercise("ddp.ddp_cleanup")
def test_leaves_the_group(submission: Submission) -> None:
    """Afterwards there is no process group, on any rank."""
    world = r.run(submission.ddp_cleanup, look=r.call(probes.has_group))
    assert_equal(world.looks, [False, False], what="whether a group is left")


@exercise("ddp.ddp_cleanup")
def test_no_group_no_harm(submission: Submission) -> None:
    """It does nothing where there is no group."""
    world = r.run(submission.ddp_cleanup, world_size=1, group=False, look=r.call(probes.has_group))
    assert_equal(world.looks, [False], what="whether a group is left")


@exercise("ddp.ddp_cleanup")
def test_twice(submission: Submission) -> None:
    """A second call does nothing and raises no error."""
    world = r.run(submission.ddp_cleanup, look=r.call(d.again, submission.ddp_cleanup))
    assert_equal(world.looks, [False, False], what="whether a group is left")


# ---------------------------------------------------------------- sharded_loader


def shares(submission: Submission, count: int, batch: int, size: int, epochs: list[int]) -> list[list[list[list[int]]]]:
    """Per rank, per epoch, per batch: the rows."""
    rows = r.call(d.rows, count)
    world = r.run(
        submission.sharded_loader, rows, batch, r.RANK, r.WORLD_SIZE, 5, world_size=size,
        look=r.call(d.dealt, r.RESULT, epochs),
    )  # fmt: skip
    return world.looks


def flat(batches: list[list[int]]) -> list[int]:
    """All rows of some batches."""
    return [row for batch in batches for row in batch]


@exercise("ddp.sharded_loader")
@pytest.mark.parametrize(("count", "batch", "size"), [(16, 4, 2), (13, 3, 2), (23, 4, 3)])
def test_disjoint_and_equal_shares(submission: Submission, count: int, batch: int, size: int) -> None:
    """No row goes to two ranks, all ranks get equally many rows and batches; only a remainder is dropped."""
    found = [look[0] for look in shares(submission, count, batch, size, [0])]
    rows = [row for batches in found for row in flat(batches)]
    assert_that(len(set(rows)) == len(rows), "some rows go to more than one rank")
    assert_equal([len(batches) for batches in found], [len(found[0])] * size, what="batches per rank")
    most, share = count // size, len(flat(found[0]))
    assert_equal([len(flat(batches)) for batches in found], [share] * size, what="rows per rank")
    assert_that(
        most - most % batch <= share <= most,
        f"each rank gets {share} of {counted(count, 'row')}, with {counted(size, 'rank')}",
    )
    sizes = [len(rows) for batches in found for rows in batches[:-1]]
    assert_equal(sizes, [batch] * len(sizes), what="rows per batch, but for each rank's last")


@exercise("ddp.sharded_loader")
def test_shuffles_anew(submission: Submission) -> None:
    """set_epoch gives another shuffle for each epoch, and the same shuffle again for the same epoch."""
    for epochs in shares(submission, 40, 5, 2, [0, 1, 0]):
        first, second, third = map(flat, epochs)
        assert_that(first != second, "the order is the same in epochs 0 and 1")
        assert_equal(third, first, what="epoch 0 again")
        assert_that(first != sorted(first), "the rows are not shuffled")


@exercise("ddp.sharded_loader")
def test_seed_decides(submission: Submission) -> None:
    """Another seed gives another shuffle."""
    rows = r.call(d.rows, 40)
    look = r.call(d.dealt, r.RESULT, [0])
    one, other = (
        r.run(submission.sharded_loader, rows, 5, r.RANK, r.WORLD_SIZE, seed, look=look).looks for seed in (1, 2)
    )
    assert_that(one[0] != other[0], "seeds 1 and 2 give the same shuffle")


# ---------------------------------------------------------------- average_gradients


@exercise("ddp.average_gradients")
@pytest.mark.parametrize(("kind", "size"), [("mlp", 2), ("tied", 2), ("mlp", 3)])
def test_the_mean_over_ranks(submission: Submission, kind: str, size: int) -> None:
    """Each gradient becomes the mean of that gradient over all ranks, on every rank, with two ranks and with three."""
    model = r.call(d.with_grads, kind, r.RANK)
    world = r.run(submission.average_gradients, model, world_size=size, look=r.call(probes.model_grads, r.argument(0)))
    grads = [probes.model_grads(d.with_grads(kind, rank)) for rank in range(size)]
    mean = {name: torch.stack([grad[name] for grad in grads]).mean(0) for name in grads[0]}  # type: ignore[misc]
    assert_close(world.looks, [mean] * size, what=".grad, rank by rank")


@exercise("ddp.average_gradients")
def test_without_a_gradient(submission: Submission) -> None:
    """A parameter that has no gradient on any rank is skipped, and still has none."""
    model = r.call(d.with_grads, "frozen", r.RANK)
    world = r.run(submission.average_gradients, model, look=r.call(probes.model_grads, r.argument(0)))
    grads = [probes.model_grads(d.with_grads("frozen", rank)) for rank in range(2)]
    mean = {name: None if g is None else (g + grads[1][name]) / 2 for name, g in grads[0].items()}  # type: ignore[operator]
    assert_close(world.looks, [mean] * 2, what=".grad, rank by rank")


# ---------------------------------------------------------------- wrap


@exercise("ddp.wrap")
def test_averages_on_backward(submission: Submission) -> None:
    """The result is a DDP module: after backward each gradient is the mean over the ranks."""
    look = r.call(d.step_grads, r.RESULT, 6, r.RANK)
    world = r.run(submission.wrap, r.call(recipes.model, "mlp", 1), torch.device("cpu"), look=look)
    grads = [d.step_grads(recipes.model("mlp", 1), 6, rank) for rank in range(2)]
    mean = {f"module.{name}": (grad + grads[1][name]) / 2 for name, grad in grads[0].items()}  # type: ignore[operator]
    assert_close(world.looks, [mean] * 2, what="gradients, rank by rank")


@exercise("ddp.wrap")
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_moved_before_it_is_wrapped(submission: Submission, device: str) -> None:
    """The model is moved first and then wrapped; device_ids=[that device] on CUDA (simulated), and None on the CPU."""
    cuda = device == "cuda"
    where = r.each(torch.device("cuda", 1), torch.device("cuda", 0)) if cuda else torch.device("cpu")
    world = r.run(
        submission.wrap, r.call(d.movable, "mlp"), where, env={"LOCAL_RANK": None},
        before=r.call(d.pretend_gpus, 2) if cuda else None, look=r.call(d.wrap_facts, r.RESULT, r.argument(0)),
    )  # fmt: skip
    for rank, seen in enumerate(world.looks):
        assert_equal(seen["kind"], "DistributedDataParallel", what="the result")
        assert_that(not seen["moved_inside"], "the model was moved after it was wrapped in DDP")
        assert_equal(seen["device_ids"], [1 - rank] if cuda else [], what=f"device_ids on rank {rank}")
        if cuda:
            assert_equal(seen["moved_to"], f"cuda:{1 - rank}", what=f"where the model of rank {rank} was moved")


# ---------------------------------------------------------------- train


def trained(
    submission: Submission, count: int, batch: int, size: int = 2, epochs: int = 2, lr: float = 0.5
) -> tuple[list[dict[str, Tensor]], list[list[list[int]]]]:
    """Per rank: the returned state_dict, and the rows of each batch that the model was trained on."""
    world = r.run(
        submission.train, r.RANK, r.WORLD_SIZE, r.call(d.watched, "mlp", r.RANK), r.call(d.rows, count), epochs, lr,
        batch, world_size=size, look=r.call(d.trained),
    )  # fmt: skip
    for look in world.looks:
        assert_that(look["group"], "the process group is gone: train must leave it as it was")
    return world.results, [look["batches"] for look in world.looks]


def one_process(count: int, batches: list[list[int]], lr: float) -> dict[str, Tensor]:
    """The weights after SGD steps over these rows, from those that rank 0 begins with."""
    model, data = d.watched("mlp", 0), d.rows(count)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for rows in batches:
        features, labels = data[rows]
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(model(features), labels))
        optimizer.step()
    return probes.state(model)


@exercise("ddp.train")
@pytest.mark.parametrize(("batch", "size"), [(4, 2), (2, 3)])
def test_equals_one_process(submission: Submission, batch: int, size: int) -> None:
    """The weights are those of one process that trains on the joined batches of all ranks, step by step."""
    count = 4 * batch * size
    states, batches = trained(submission, count, batch, size)
    assert_that(len({len(one) for one in batches}) == 1, "the ranks did not make the same number of steps")
    joint = [flat(list(step)) for step in zip(*batches, strict=True)]
    for epoch in (joint[: len(joint) // 2], joint[len(joint) // 2 :]):
        assert_equal(sorted(flat(epoch)), list(range(count)), what="the rows that all ranks together took in an epoch")
    expected = one_process(count, joint, 0.5)
    assert_close(states[0], expected, rtol=1e-3, atol=1e-4, what="the weights of rank 0")


@exercise("ddp.train")
def test_all_ranks_alike(submission: Submission) -> None:
    """All ranks return the same weights, also with a remainder, as CPU tensors with the plain model's names."""
    states, _ = trained(submission, 19, 4)
    assert_equal(sorted(states[0]), sorted(probes.state(d.watched("mlp"))), what="the names")
    assert_close(states[1], states[0], what="the weights of rank 1, compared with those of rank 0")


@exercise("ddp.train")
def test_a_new_shuffle_each_epoch(submission: Submission) -> None:
    """The second epoch goes over the rows in another order than the first."""
    _, batches = trained(submission, 32, 4)
    half = len(batches[0]) // 2
    assert_that(batches[0][:half] != batches[0][half:], "both epochs take the same batches in the same order")


@exercise("ddp.train")
def test_rank_0_counts(submission: Submission) -> None:
    """If the models have different weights at the start, all ranks start with those of rank 0."""
    states, _ = trained(submission, 16, 4, epochs=1, lr=0.0)
    start = probes.state(d.watched("mlp", 0))
    assert_close(states, [start] * 2, what="the weights after steps with lr = 0, rank by rank")


# ---------------------------------------------------------------- global_accuracy


@exercise("ddp.global_accuracy")
@pytest.mark.parametrize(
    ("counts", "right"),
    [((8, 8), (0, 1, 2, 8, 9)), ((9, 2), (0, 9, 10)), ((3, 0), (1,)), ((1, 4, 7), (0, 1, 5, 6, 11))],
    ids=["equal", "unequal", "none_on_one", "three"],
)
def test_right_rows_over_all_rows(submission: Submission, counts: tuple[int, ...], right: tuple[int, ...]) -> None:
    """The result is the same float on every rank: the right rows of all ranks divided by the rows of all ranks."""
    starts = [sum(counts[:rank]) for rank in range(len(counts))]
    loaders = [r.call(d.loader, n, 3, rank, start) for rank, (n, start) in enumerate(zip(counts, starts, strict=True))]
    labels = [int(y) for rank, n in enumerate(counts) for y in recipes.labels(n, recipes.CLASSES, rank + 1)]
    model = r.call(d.scorer, labels, list(right))
    world = r.run(submission.global_accuracy, model, r.each(*loaders), world_size=len(counts))
    assert_close(world.results, [len(right) / sum(counts)] * len(counts), what="the accuracy, rank by rank")


# ---------------------------------------------------------------- save_on_rank0


@exercise("ddp.save_on_rank0")
@pytest.mark.parametrize("inside", [True, False], ids=["ddp", "plain"])
def test_there_when_it_returns(submission: Submission, inside: bool) -> None:
    """When it returns, on any rank, the file exists and has rank 0's weights with the plain model's names."""
    model = r.call(d.late_to_save, "mlp", 3)
    model = r.call(d.in_ddp, model) if inside else model
    world = r.run(submission.save_on_rank0, model, "weights.pt", look=r.call(d.saved, "weights.pt"))
    for rank, found in enumerate(world.looks):
        assert_that(found is not None, f"rank {rank} returned before the file was there")
    expected = {f"net.{name}": value for name, value in probes.state(recipes.model("mlp", 3)).items()}
    assert_close(world.looks, [expected] * 2, what="what is in the file, seen from each rank")


@exercise("ddp.save_on_rank0")
def test_one_writer(submission: Submission) -> None:
    """Only rank 0 writes. (In this check the other rank cannot write to any file: if it tries, it gets an error.)"""
    model = r.call(d.in_ddp, r.call(recipes.model, "mlp", 3))
    world = r.run(submission.save_on_rank0, model, "weights.pt", read_only=[1], look=r.call(d.saved, "weights.pt"))
    assert_close(world.looks[0], probes.state(recipes.model("mlp", 3)), what="what is in the file")


# ---------------------------------------------------------------- main


@exercise("ddp.main")
@pytest.mark.parametrize("size", [2, 1], ids=["two_ranks", "alone"])
def test_one_line_and_no_group_left(submission: Submission, size: int) -> None:
    """On two ranks, or alone, rank 0 prints one line, other ranks print none, and no process group is left at the
    end."""
    env = r.ALONE if size == 1 else None
    world = r.run(
        submission.main, world_size=size, group=False, env=env, lines=True, may_exit=True, look=r.call(probes.has_group)
    )
    assert_equal(world.lines, [1, 0][:size], what="lines printed, rank by rank")
    assert_equal(world.looks, [False] * size, what="whether a group is left, rank by rank")


@exercise("ddp.main")
def test_under_torchrun(submission: Submission) -> None:
    """`torchrun --standalone --nproc-per-node=2 ddp.py` prints one line, on rank 0, and ends with exit code 0."""
    for size, env in ((2, None), (1, r.ALONE)):
        world = r.run(submission.main, world_size=size, group=False, env=env, lines=True, may_exit=True)
        assert_equal(world.lines, [1, 0][:size], what="lines printed, rank by rank")
    script = r.torchrun(submission.main, "ddp.py")
    assert_equal(script.exit_code, 0, what="the exit code")
    assert_equal(script.lines, [1, 0], what="lines printed, rank by rank")
