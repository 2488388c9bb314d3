"""Checks of ddp: real ranks that communicate over gloo, and the state of each of them at the end.

Each rank alone is given drawn numbers, which the others must learn from it.
Never decide what the contract leaves open: how rows are shuffled, which port is chosen, how the ranks are kept
together, the return values of functions that return nothing.
"""

from __future__ import annotations

import functools
import random
from itertools import combinations

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.testkit import (
    Grid,
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    counted,
    exercise,
    needs,
    picture,
    probes,
    recipes,
    seeds,
    situations,
)
from grader.testkit import ranks as r
from kit import distributed as d

pytestmark = needs("ranks")

ADDRESS = ("MASTER_ADDR", "MASTER_PORT")
NOBODY = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
SEEDS = seeds().filter(bool)
"""Without 0, which would be the first to be drawn, whatever the seed of the grading is."""

once = settings(max_examples=1, phases=[Phase.explicit, Phase.generate])
"""A run of ranks is slow, and no seed is simpler than another one; inputs differ with each seed of the grading."""


def secrets(seed: int, count: int) -> list[int]:
    """Different numbers, one for each rank."""
    return random.Random(seed).sample(range(1, 1 << 20), count)


def flat(batches: list[list[int]]) -> list[int]:
    """All rows of some batches."""
    return [row for batch in batches for row in batch]


# ---------------------------------------------------------------- read_env

PARTS = "the rank", "the local rank", "the world size"
"""Names of the parts of what `read_env` returns."""


@exercise("ddp.read_env")
@needs()
@given(numbers=st.tuples(st.integers(0, 63), st.integers(0, 7), st.integers(1, 64)))
@settings(max_examples=10)
def test_what_torchrun_says(submission: Submission, numbers: tuple[int, int, int]) -> None:
    """Rank, local rank and world size come from RANK, LOCAL_RANK and WORLD_SIZE, in this order, as ints."""
    rank, local_rank, world_size = map(str, numbers)
    environ = {"HOME": "/home/me", "WORLD_SIZE": world_size, "RANK": rank, "LOCAL_RANK": local_rank}
    what = f"with RANK={rank}, LOCAL_RANK={local_rank} and WORLD_SIZE={world_size} the result"
    assert_equal(submission.read_env(environ), numbers, what=what, each=PARTS)


@exercise("ddp.read_env", when="without torchrun's variables")
@needs()
def test_a_process_on_its_own(submission: Submission) -> None:
    """Without these variables the result is rank 0, local rank 0, world size 1."""
    assert_equal(submission.read_env({"HOME": "/home/me"}), (0, 0, 1), each=PARTS)


@exercise("ddp.read_env", when="in the environment afterwards")
@given(seed=SEEDS)
@once
def test_only_reads(submission: Submission, seed: int) -> None:
    """The environment is only read: it may be one that cannot be changed."""
    numbers = tuple(secrets(seed, 3))
    environ = dict(zip(("RANK", "LOCAL_RANK", "WORLD_SIZE"), map(str, numbers), strict=True))
    assert_equal(submission.read_env(submission.there(d.read_only, environ)), numbers, each=PARTS)


# ---------------------------------------------------------------- choose_backend


@exercise("ddp.choose_backend")
@needs()
@pytest.mark.parametrize("device", ["cuda", "cpu", "mps", "xpu"])
@pytest.mark.parametrize("system", ["Linux", "Windows", "Darwin"])
def test_backend_for(submission: Submission, device: str, system: str) -> None:
    """NCCL for CUDA, except on Windows; gloo for everything else."""
    expected = "nccl" if device == "cuda" and system != "Windows" else "gloo"
    assert_equal(submission.choose_backend(device, system), expected, what=f"choose_backend({device!r}, {system!r})")


# ---------------------------------------------------------------- ddp_setup


def joined(rank: int, numbers: list[int], backend: str = "gloo") -> dict[str, object]:
    """The result of `kit.distributed.group_facts` on a rank that has joined."""
    return {
        "initialized": True, "backend": backend, "rank": rank, "world_size": len(numbers), "sum": sum(numbers),
    }  # fmt: skip


@exercise("ddp.ddp_setup")
@pytest.mark.parametrize("size", [3, 1])
@given(seed=SEEDS)
@once
def test_joins_the_group(submission: Submission, size: int, seed: int) -> None:
    """Afterwards each process is in a gloo group, with the rank and the size of the arguments, also where nothing is in
    the environment; the ranks can communicate, and MASTER_ADDR and MASTER_PORT are set."""
    numbers = secrets(seed, size)
    look = r.call(d.set_up, r.each(*numbers), *ADDRESS)
    world = r.run(
        submission.ddp_setup, r.RANK, r.WORLD_SIZE, world_size=size, group=False,
        env=dict.fromkeys((*NOBODY, *ADDRESS)), before=r.call(d.own_random_numbers, r.RANK), look=look,
    )  # fmt: skip
    for rank, (facts, _) in enumerate(world.looks):
        assert_that(facts["initialized"], f"rank {rank} is in no process group afterwards")
    assert_equal(
        [facts for facts, _ in world.looks], [joined(rank, numbers) for rank in range(size)], what="the groups"
    )
    for rank, (_, values) in enumerate(world.looks):
        for name, value in zip(ADDRESS, values, strict=True):
            assert_that(bool(value), f"{name} is not set on rank {rank}")


@exercise("ddp.ddp_setup", when="when MASTER_ADDR and MASTER_PORT are set")
@given(seed=SEEDS)
@once
def test_an_address_that_is_set_stays(submission: Submission, seed: int) -> None:
    """If torchrun has set MASTER_ADDR and MASTER_PORT, the ranks meet there, and they are not changed."""
    numbers = secrets(seed, 2)
    world = r.run(
        submission.ddp_setup, r.RANK, r.WORLD_SIZE, group=False,
        look=r.call(d.set_up, r.each(*numbers), "EXPECTED_ADDR", "EXPECTED_PORT", *ADDRESS),
        env={"EXPECTED_ADDR": "127.0.0.1", "EXPECTED_PORT": "{port}"},
        look_outside=r.call(d.can_connect, r.MASTER_PORT),
    )  # fmt: skip
    for rank, (facts, values) in enumerate(world.looks):
        assert_equal(facts, joined(rank, numbers), what=f"the group of rank {rank}")
        for name, wanted, value in zip(ADDRESS, values[:2], values[2:], strict=True):
            assert_that(value == wanted, f"{name} has changed on rank {rank}")
    assert_that(world.outside, "nobody listens at the MASTER_PORT that was set")


@exercise("ddp.ddp_setup", when="when only one of MASTER_ADDR and MASTER_PORT is set")
@pytest.mark.parametrize("missing", ADDRESS)
@given(seed=SEEDS)
@once
def test_one_that_is_not_set(submission: Submission, missing: str, seed: int) -> None:
    """If only one of MASTER_ADDR and MASTER_PORT is missing, it gets a value that lets the ranks meet, and the other
    stays."""
    numbers = secrets(seed, 2)
    world = r.run(
        submission.ddp_setup, r.RANK, r.WORLD_SIZE, group=False,
        env={"EXPECTED_ADDR": "127.0.0.1", "EXPECTED_PORT": "{port}", missing: None},
        before=r.call(d.own_random_numbers, r.RANK),
        look=r.call(d.set_up, r.each(*numbers), "EXPECTED_ADDR", "EXPECTED_PORT", *ADDRESS),
    )  # fmt: skip
    for rank, (facts, values) in enumerate(world.looks):
        assert_equal(facts, joined(rank, numbers), what=f"the group of rank {rank}")
        for name, other, value in zip(ADDRESS, values[:2], values[2:], strict=True):
            assert_that(bool(value), f"{name} is not set on rank {rank}")
            assert_that(name == missing or value == other, f"{name} has changed on rank {rank}")


@exercise("ddp.ddp_setup", when="with GPUs")
@pytest.mark.parametrize("local", [("1", "0"), (None, None, None)], ids=["local_rank", "no_local_rank"])
def test_picks_the_gpu(submission: Submission, local: tuple[str | None, ...]) -> None:
    """With CUDA (two GPUs, simulated) it picks the device by LOCAL_RANK, else by rank modulo 2, and NCCL as the
    backend. (In this check rank 0 has LOCAL_RANK 1, and rank 1 has 0.)"""
    world = r.run(
        submission.ddp_setup, r.RANK, r.WORLD_SIZE, world_size=len(local), group=False,
        env={"LOCAL_RANK": None}, before=r.call(d.pretend_gpus, 2, r.each(*local)), look=r.call(d.pretended),
    )  # fmt: skip
    devices = [1, 0] if local[0] else [0, 1, 0]
    assert_equal([look["device"] for look in world.looks], devices, what="the current CUDA device of each rank")
    assert_equal([look["backend"] for look in world.looks], ["nccl"] * len(local), what="the backend of each rank")


@exercise("ddp.ddp_setup", when="on Windows")
def test_on_windows(submission: Submission) -> None:
    """On Windows (simulated, with a GPU) the backend is gloo, and USE_LIBUV is set to 0 if it is not set."""
    libuv = r.each(None, "1")
    world = r.run(
        submission.ddp_setup, r.RANK, r.WORLD_SIZE, group=False, env={"USE_LIBUV": None},
        before=r.call(d.pretend_windows, 1, libuv), look=r.call(d.pretended),
    )  # fmt: skip
    assert_equal([look["backend"] for look in world.looks], ["gloo", "gloo"], what="the backend of each rank")
    assert_equal(world.looks[0]["libuv"], "0", what="USE_LIBUV on rank 0, where it was not set")
    assert_equal(world.looks[1]["libuv"], "1", what="USE_LIBUV on rank 1, where it was set to 1")


# ---------------------------------------------------------------- ddp_cleanup


@exercise("ddp.ddp_cleanup")
@given(seed=SEEDS)
@once
def test_leaves_the_group(submission: Submission, seed: int) -> None:
    """Afterwards no rank is in a process group: all can join a new one, and communicate in it."""
    numbers = secrets(seed, 2)
    world = r.run(submission.ddp_cleanup, look=r.call(d.joins_again, r.each(*numbers)))
    for rank, found in enumerate(world.looks):
        assert_that(found == sum(numbers), f"rank {rank} {found if type(found) is str else 'cannot communicate'}")


@exercise("ddp.ddp_cleanup")
@pytest.mark.parametrize("group", [True, False], ids=["twice", "none"])
def test_no_group_no_harm(submission: Submission, group: bool) -> None:
    """If there is no group, or no longer one, it does nothing and raises no error."""
    look = r.call(d.again, submission.ddp_cleanup, 7)
    world = r.run(submission.ddp_cleanup, world_size=1, group=group, look=look)
    assert_that(world.looks == [7], f"the process {world.looks[0]}")


# ---------------------------------------------------------------- sharded_loader


def batches_of(submission: Submission, loader: object, epoch: int) -> list[list[int]]:
    """The row numbers of each batch of a loader of `kit.distributed.rows`, in an epoch."""
    loader.sampler.set_epoch(epoch)  # type: ignore[attr-defined]
    return [d.numbers(features) for features, _ in loader]  # type: ignore[attr-defined]


def shares(submission: Submission, count: int, batch: int, size: int, seed: int, epoch: int) -> list[list[list[int]]]:
    """Per rank and batch: the rows."""
    rows = submission.there(d.rows, count)
    loaders = [submission.sharded_loader(rows, batch, rank, size, seed) for rank in range(size)]
    return [batches_of(submission, loader, epoch) for loader in loaders]


@exercise("ddp.sharded_loader")
@given(
    count=st.integers(5, 23), batch=st.integers(1, 5), size=st.integers(1, 4), seed=st.integers(0, 999),
    epoch=st.integers(0, 9),
)  # fmt: skip
@settings(max_examples=12)
def test_disjoint_and_equal_shares(
    submission: Submission, count: int, batch: int, size: int, seed: int, epoch: int
) -> None:
    """No row goes to two ranks, all ranks get equally many, in batches of that size (the last may be shorter); only
    what world_size does not divide is dropped."""
    found = shares(submission, count, batch, size, seed, epoch)
    rows = [row for batches in found for row in flat(batches)]
    assert_that(set(rows) <= set(range(count)), "some rows are not of this dataset")
    assert_that(len(set(rows)) == len(rows), "some rows come twice")
    share = count // size
    for rank, batches in enumerate(found):
        text = f"rank {rank} gets {len(flat(batches))} of {counted(count, 'row')}, with {counted(size, 'rank')}"
        assert_that(len(flat(batches)) == share, f"{text}; it should be {share}")
        sizes = [batch] * (share // batch) + [share % batch] * (share % batch > 0)
        assert_equal([len(rows) for rows in batches], sizes, what=f"rows per batch of rank {rank}")


@exercise("ddp.sharded_loader", when="from the second epoch on")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_shuffles_anew(submission: Submission, seed: int) -> None:
    """set_epoch gives another shuffle for each epoch, of rows among ranks too, and the same again for the same epoch
    and seed."""
    rows = submission.there(d.rows, 40)
    shared = []
    for rank in range(2):
        loader = submission.sharded_loader(rows, 5, rank, 2, seed)
        orders = {epoch: flat(batches_of(submission, loader, epoch)) for epoch in (0, 1, 2, 7)}
        for one, other in combinations(orders, 2):
            assert_that(orders[one] != orders[other], f"the order is the same in epochs {one} and {other}")
        first, second = orders[0], orders[1]
        assert_equal(flat(batches_of(submission, loader, 0)), first, what="epoch 0 again")
        assert_that(first != sorted(first), "the rows are not shuffled")
        submission.there(probes.draw_from_global)
        other = submission.sharded_loader(rows, 5, rank, 2, seed)
        assert_equal(flat(batches_of(submission, other, 1)), second, what="epoch 1 of another loader with this seed")
        shared.append(set(first) == set(second))
    assert_that(not all(shared), "each rank gets the same rows in every epoch")


@exercise("ddp.sharded_loader")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_seed_decides(submission: Submission, seed: int) -> None:
    """Another seed gives another shuffle."""
    one, other = (shares(submission, 40, 5, 2, chosen, 0) for chosen in (seed, seed + 17))
    assert_that(one[0] != other[0], "two seeds give the same shuffle")


@picture(
    "ddp.sharded_loader",
    title="The rank that gets each of 22 rows: no row has two, and two rows are left over in each epoch",
)
def rank_of_each_row(submission: Submission) -> Grid:
    rows = submission.there(d.rows, 22)
    epochs: list[list[float | None]] = [[None] * 22 for _ in range(5)]
    for rank in range(4):
        loader = submission.sharded_loader(rows, 5, rank, 4, 0)
        for epoch, ranks in enumerate(epochs):
            for row in flat(batches_of(submission, loader, epoch)):
                ranks[row] = rank
    return Grid(values=epochs, names=[f"rank {rank}" for rank in range(4)], x_label="row", y_label="epoch")


# ---------------------------------------------------------------- average_gradients


def averaged(
    submission: Submission,
    kind: str,
    seeds: list[int],
    dtype: torch.dtype = torch.float32,
    env: dict[str, str | None] | None = None,
) -> None:
    """Compares the gradients afterwards with the mean over the ranks."""
    model = r.call(d.with_grads, kind, r.each(*seeds), dtype)
    look = r.call(probes.model_grads, r.argument(0))
    world = r.run(submission.average_gradients, model, world_size=len(seeds), env=env, look=look)
    grads = [probes.model_grads(d.with_grads(kind, seed, dtype)) for seed in seeds]
    mean = {
        name: None if grad is None else torch.stack([one[name] for one in grads]).mean(0)  # type: ignore[misc]
        for name, grad in grads[0].items()
    }
    rtol, atol = (1e-10, 1e-12) if dtype == torch.float64 else (None, None)
    assert_close(world.looks, [mean] * len(seeds), rtol, atol, what=".grad", each="rank 0")


@exercise("ddp.average_gradients")
@pytest.mark.parametrize(
    ("kind", "size", "dtype"), [("mlp", 2, torch.float32), ("tied", 3, torch.float64)], ids=["mlp-2", "tied-3"]
)
@given(seed=SEEDS)
@once
def test_the_mean_over_ranks(submission: Submission, kind: str, size: int, dtype: torch.dtype, seed: int) -> None:
    """Each gradient becomes the mean of that gradient over all ranks, on every rank, with two ranks and with three:
    of parts within parts too, in its own dtype, and whatever its layout in memory is."""
    averaged(submission, kind, secrets(seed, size), dtype)


@exercise("ddp.average_gradients", when="for a parameter without a gradient")
@given(seed=SEEDS)
@once
def test_without_a_gradient(submission: Submission, seed: int) -> None:
    """A parameter that has no gradient on any rank is skipped, and still has none. (In this check no environment
    variable says how many ranks there are.)"""
    averaged(submission, "frozen", secrets(seed, 2), env=dict.fromkeys(NOBODY))


# ---------------------------------------------------------------- wrap


@exercise("ddp.wrap")
@given(seed=SEEDS)
@once
def test_averages_on_backward(submission: Submission, seed: int) -> None:
    """The result is a DDP module of the same model, without device_ids on the CPU: after backward each gradient is the
    mean over the ranks."""
    kind_seed, *seeds = secrets(seed, 3)
    look = r.call(d.step_grads, r.RESULT, 6, r.each(*seeds))
    model = r.call(recipes.model, "mlp", kind_seed)
    world = r.run(submission.wrap, model, torch.device("cpu"), look=look)
    grads = [d.step_grads(recipes.model("mlp", kind_seed), 6, one) for one in seeds]
    mean = {f"module.{name}": (grad + grads[1][name]) / 2 for name, grad in grads[0].items()}  # type: ignore[operator]
    assert_close(world.looks, [mean] * 2, what="gradients", each="rank 0")


@exercise("ddp.wrap", when="on a GPU")
def test_moved_before_it_is_wrapped(submission: Submission) -> None:
    """On CUDA (simulated) the model is moved first and then wrapped, with device_ids=[that device]. A model that is on
    a GPU moves to the CPU if that is its device, and device_ids is left out."""
    places = ["cuda:1", "cuda:0", "cpu"]
    world = r.run(
        submission.wrap, r.call(d.movable, "mlp", r.each("cpu", "cpu", "cuda:1")), r.each(*map(torch.device, places)),
        world_size=3, env={"LOCAL_RANK": None}, before=r.call(d.pretend_gpus, 2),
        look=r.call(d.wrap_facts, r.RESULT, r.argument(0)),
    )  # fmt: skip
    for rank, (seen, place) in enumerate(zip(world.looks, places, strict=True)):
        assert_equal(seen["kind"], "DistributedDataParallel", what="the result")
        assert_that(not seen["moved_inside"], "the model was moved after it was wrapped in DDP")
        ids = [] if place == "cpu" else [1 - rank]
        assert_equal(seen["device_ids"], ids, what=f"device_ids on rank {rank}")
        assert_equal(seen["moved_to"], place, what=f"where the model of rank {rank} was moved")


# ---------------------------------------------------------------- train


def trained(
    submission: Submission,
    count: int,
    batch: int,
    seeds: list[int],
    epochs: int = 2,
    lr: float = 0.5,
    shuffle: int | None = 0,
) -> tuple[list[dict[str, Tensor]], list[list[list[int]]]]:
    """Per rank: the returned state_dict, and the rows of each batch that the model was trained on.

    Args:
        seeds: the seed of the data, then that of each rank's model.
        shuffle: the seed that `train` is given; None leaves it out.
    """
    data, *models = seeds
    world = r.run(
        submission.train, r.RANK, r.WORLD_SIZE, r.call(d.watched, "mlp", r.each(*models)),
        r.call(d.rows, count, data), epochs, lr, batch, world_size=len(models),
        options={} if shuffle is None else {"seed": shuffle},
        look=r.call(d.trained, r.each(*models)),
    )  # fmt: skip
    for look in world.looks:
        assert_that(look["group"] == sum(models), "the process group is gone: train must leave it as it was")
    return world.results, [look["batches"] for look in world.looks]


def after_steps(model: nn.Module, steps: list[tuple[Tensor, Tensor]], lr: float) -> dict[str, Tensor]:
    """The weights of one process after SGD steps over these batches."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for features, labels in steps:
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(model(features), labels))
        optimizer.step()
    return probes.state(model)


@exercise("ddp.train")
@pytest.mark.parametrize("size", [2, 3])
@given(seed=SEEDS)
@once
def test_full_batches(submission: Submission, size: int, seed: int) -> None:
    """With all rows in every step, the weights on every rank are those of one process that takes the same steps; they
    start as those of rank 0, and have the plain model's names. Buffers are there too. (With three ranks, all is in
    float64.)"""
    data, *models = secrets(seed, 1 + size)
    dtype = torch.float32 if size == 2 else torch.float64
    world = r.run(
        submission.train, r.RANK, r.WORLD_SIZE, r.call(d.nested, "mlp", r.each(*models), dtype),
        r.call(d.points, 4 * size, data, dtype), 3, 0.3, 4, world_size=size,
    )  # fmt: skip
    features, labels = d.points(4 * size, data, dtype).tensors
    expected = after_steps(d.nested("mlp", models[0], dtype), [(features, labels)] * 3, 0.3)
    for rank, state in enumerate(world.results):
        assert_that(type(state) is dict, f"rank {rank} returned {type(state).__name__}, not a state_dict")
        assert_equal(sorted(state), sorted(expected), what=f"the names on rank {rank}")
        assert_close(state, expected, rtol=1e-3, atol=1e-4, what=f"the weights of rank {rank}")


@exercise("ddp.train", when="with several steps in an epoch")
@given(seed=SEEDS)
@once
def test_equals_one_process(submission: Submission, seed: int) -> None:
    """Step by step it trains on batch_size rows of each rank: the weights are those of one process that trains on the
    ranks' batches joined together, and each epoch takes every row once."""
    count, batch, lr = 24, 3, 0.5
    seeds = secrets(seed, 3)
    states, batches = trained(submission, count, batch, seeds)
    steps = count // (2 * batch)
    for rank, own in enumerate(batches):
        assert_equal([len(rows) for rows in own], [batch] * (2 * steps), what=f"rows in each step on rank {rank}")
    joint = [flat(list(step)) for step in zip(*batches, strict=True)]
    for epoch in (joint[:steps], joint[steps:]):
        assert_equal(sorted(flat(epoch)), list(range(count)), what="the rows that all ranks together took in an epoch")
    rows = d.rows(count, seeds[0])
    expected = after_steps(d.watched("mlp", seeds[1]), [rows[step] for step in joint], lr)
    assert_close(states[0], expected, rtol=1e-3, atol=1e-4, what="the weights of rank 0")


@exercise("ddp.train")
@given(seed=SEEDS)
@once
def test_all_ranks_alike(submission: Submission, seed: int) -> None:
    """All ranks return the same weights, also with a remainder, as CPU tensors. A batch that is short is trained on,
    too."""
    states, batches = trained(submission, 19, 4, secrets(seed, 3))
    for rank, own in enumerate(batches):
        assert_equal([len(rows) for rows in own], [4, 4, 1] * 2, what=f"rows in each step on rank {rank}")
    assert_equal(sorted(states[0]), sorted(probes.state(d.watched("mlp"))), what="the names")
    for name, value in states[0].items():
        assert_that(isinstance(value, Tensor) and value.device.type == "cpu", f"{name} is not a CPU tensor")
    assert_close(states[1], states[0], what="the weights of rank 1, compared with those of rank 0")


@exercise("ddp.train")
@given(seed=SEEDS)
@once
def test_a_new_shuffle_each_epoch(submission: Submission, seed: int) -> None:
    """The second epoch goes over the rows in another order than the first; another seed gives other shuffles, and
    without one it is 0."""
    seeds = secrets(seed, 3)
    one, other, without = (trained(submission, 32, 4, seeds, shuffle=chosen)[1] for chosen in (0, seed, None))
    half = len(one[0]) // 2
    assert_that(one[0][:half] != one[0][half:], "both epochs take the same batches in the same order")
    assert_that(one[0] != other[0], "two seeds give the same shuffles")
    assert_that(one == without, "without a seed the shuffles are not those of seed 0")


@exercise("ddp.train", when="when the ranks begin with different weights")
@given(seed=SEEDS)
@once
def test_rank_0_counts(submission: Submission, seed: int) -> None:
    """If the models have different weights at the start, all ranks start with those of rank 0."""
    seeds = secrets(seed, 3)
    states, _ = trained(submission, 16, 4, seeds, epochs=1, lr=0.0)
    start = probes.state(d.watched("mlp", seeds[1]))
    assert_close(states, [start] * 2, what="the weights after steps with lr = 0", each="rank 0")


# ---------------------------------------------------------------- global_accuracy


@exercise("ddp.global_accuracy")
@pytest.mark.parametrize(
    "counts", [(8, 8), (11, 2), (7, 0), (1, 4, 8)], ids=["equal", "unequal", "none_on_one", "three"]
)
@given(seed=SEEDS)
@once
def test_right_rows_over_all_rows(submission: Submission, counts: tuple[int, ...], seed: int) -> None:
    """The result is the same float on every rank: the right rows of all ranks divided by the rows of all ranks."""
    words = {"with a rank that has no rows": 0 in counts, "on ranks with unequal loaders": len(set(counts)) > 1}
    situations(submission, words)
    kind, *seeds = uneven(seed, counts)
    loaders = [r.call(d.loader, count, 3, own) for count, own in zip(counts, seeds, strict=True)]
    model = r.call(recipes.model, "mlp", kind)
    world = r.run(submission.global_accuracy, model, r.each(*loaders), world_size=len(counts))
    right = sum(int(hits(kind, count, own).sum()) for count, own in zip(counts, seeds, strict=True))
    assert_close(world.results, [right / sum(counts)] * len(counts), what="the accuracy", each="rank 0")


def hits(kind: int, count: int, seed: int) -> Tensor:
    """Which rows of a rank's `kit.distributed.points` the model gets right."""
    features, labels = d.points(count, seed).tensors
    right: Tensor = recipes.model("mlp", kind)(features).argmax(dim=1) == labels
    return right.double()


def uneven(seed: int, counts: tuple[int, ...]) -> list[int]:
    """The seeds of a model and of each rank's rows, with which ranks and batches differ in the rows they get right."""
    for turn in range(1000):
        kind, *seeds = secrets(seed + 1_000_003 * turn, 1 + len(counts))
        found = [hits(kind, count, own) for count, own in zip(counts, seeds, strict=True)]
        accuracy = float(torch.cat(found).mean())
        batches = [part.mean() for one in found if len(one) for part in torch.split(one, 3)]
        others = [float(one.mean()) for one in found if 0 < len(one) < sum(counts)]
        others.append(float(torch.stack(batches).mean()))
        if 0 < accuracy < 1 and all(abs(other - accuracy) > 0.01 for other in others):
            break
    return [kind, *seeds]


# ---------------------------------------------------------------- save_on_rank0


def plain_state(seed: int, with_module: bool = False) -> dict[str, Tensor]:
    """The names and weights of the plain model that is saved."""
    return probes.state(d.nested("mlp", seed, with_module=with_module))


@exercise("ddp.save_on_rank0", when="when rank 0 takes its time to write")
@pytest.mark.parametrize("inside", [True, False], ids=["ddp", "plain"])
@given(seed=SEEDS)
@once
def test_there_when_it_returns(submission: Submission, inside: bool, seed: int) -> None:
    """When it returns, on any rank, the file exists and is complete. (In this check rank 0 takes its time to write.)"""
    (number,) = secrets(seed, 1)
    model = r.call(d.held_when_saved, "mlp", number)
    model = r.call(d.in_ddp, model) if inside else model
    path = "weights.pt" if inside else r.call(d.as_path, "weights.pt")
    world = r.run(
        submission.save_on_rank0, model, path, held=0, look_outside=r.call(d.saved, r.in_folder("weights.pt"))
    )
    assert_that(not world.early, "rank 1 returned before rank 0 had written the file")
    assert_that(world.outside is not None, "no file at `path` when all ranks have returned")
    assert_close(world.outside, plain_state(number), what="what is in the file")


@exercise("ddp.save_on_rank0", when="when rank 0 pauses in the middle of writing")
@given(seed=SEEDS)
@once
def test_complete_when_it_returns(submission: Submission, seed: int) -> None:
    """No rank returns while the file is there but not complete. (In this check rank 0 pauses in the middle of it.)"""
    (number,) = secrets(seed, 1)
    world = r.run(
        submission.save_on_rank0, r.call(d.held_while_written, "mlp", number), "weights.pt", held=0,
        look_outside=r.call(d.saved, r.in_folder("weights.pt")),
    )  # fmt: skip
    assert_that(not world.early, "rank 1 returned while rank 0 was still writing the file")
    assert_that(world.outside is not None, "no file at `path` when all ranks have returned")
    assert_close(world.outside, plain_state(number), what="what is in the file")


@exercise("ddp.save_on_rank0", when="when each rank is on a machine of its own")
@pytest.mark.parametrize("inside", [True, False], ids=["ddp", "plain"])
@given(seed=SEEDS)
@once
def test_one_writer(submission: Submission, inside: bool, seed: int) -> None:
    """Only rank 0 writes, even if each rank is on a machine of its own, or no environment variable says which rank this
    is. (In this check the ranks have different weights, and rank 1 takes its time: if it writes, its weights are in the
    file. The plain model has a part that is called `module`.)"""
    numbers = secrets(seed, 2)
    model = r.call(d.held_when_saved, "mlp", r.each(*numbers), not inside)
    model = r.call(d.in_ddp, model) if inside else model
    machines = {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "GROUP_RANK": "{rank}"}
    world = r.run(
        submission.save_on_rank0, model, "weights.pt", held=1, env=machines if inside else dict.fromkeys(NOBODY),
        look_outside=r.call(d.saved, r.in_folder("weights.pt")),
    )  # fmt: skip
    assert_that(world.outside is not None, "no file at `path` when all ranks have returned")
    assert_close(world.outside, plain_state(numbers[0], not inside), what="what is in the file")


# ---------------------------------------------------------------- main


Share = tuple[Tensor, Tensor, float]
"""The data of a rank: features and labels, and the factor of its gradients."""
OTHER_GRADIENTS = -3.0
"""Rank 1's gradients are multiplied by this in one check: with them the loss rises."""
CLOSE = 1.5e-4
"""How far a number with four decimals may be from the one that is meant."""


def toys(seed: int) -> tuple[Share, nn.Module]:
    """All rows of the toy data, and the toy model."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(64, 2, generator=generator)
    labels = (features.sum(dim=1) + torch.randn(64, generator=generator) > 0).long()
    generator = torch.Generator().manual_seed(seed + 1)
    weight, bias = torch.randn(2, 2, generator=generator), torch.randn(2, generator=generator)
    model = nn.Linear(2, 2)
    model.load_state_dict({"weight": weight, "bias": bias})
    return (features, labels, 1.0), model


def loss_after(seed: int, shares: list[Share]) -> float:
    """The loss on all rows of this seed after the training of its model by ranks with these shares."""
    (features, labels, _), model = toys(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(12):
        optimizer.zero_grad()
        losses = [factor * nn.functional.cross_entropy(model(x), y) for x, y, factor in shares]
        torch.autograd.backward(torch.stack(losses).mean())
        optimizer.step()
    return float(nn.functional.cross_entropy(model(features), labels).detach())


def final_loss(seed: int) -> float:
    """The loss that `main` must print: one process, all rows in each step."""
    return loss_after(seed, [toys(seed)[0]])


def turned(share: Share) -> Share:
    """The share of rank 1, whose gradients differ."""
    return (*share[:2], OTHER_GRADIENTS)


def halves(share: Share, generator: torch.Generator) -> tuple[Share, Share]:
    """The rows, divided between two ranks at random."""
    features, labels, factor = share
    one, other = torch.randperm(len(labels), generator=generator).chunk(2)
    return (features[one], labels[one], factor), (features[other], labels[other], factor)


@functools.cache
def different(seed: int) -> tuple[list[int], float, list[float]]:
    """A seed for each of two ranks, with which the loss that rank 0 prints shows who has trained on which rows.

    Returns:
        The seeds; the loss if rank 0 has trained alone; the losses if each rank has taken all rows.
    """
    for turn in range(1000):
        numbers = secrets(seed + 1_000_003 * turn, 2)
        own, others = (toys(number)[0] for number in numbers)
        alone = final_loss(numbers[0])
        everything = [loss_after(numbers[0], [own, turned(second)]) for second in (others, own)]
        generator = torch.Generator().manual_seed(turn)
        together = []
        for _ in range(3):
            first, second = halves(own, generator)
            third, _ = halves(others, generator)
            together += [loss_after(numbers[0], [first, share]) for share in (turned(third), turned(second), third)]
        if all(abs(one - other) > 20 * CLOSE for one in together for other in (alone, *everything)):
            break
    return numbers, alone, everything


def assert_printed(lines: list[int], numbers: list[list[float]], seed: int | None) -> None:
    """One line on rank 0, with the loss; nothing on other ranks."""
    assert_equal(lines, [1, *[0] * (len(lines) - 1)], what="lines printed", each="rank 0")
    assert_loss(numbers, seed)


def assert_loss(numbers: list[list[float]], seed: int | None) -> None:
    """The loss on rank 0 once."""
    is_of_0 = bool(seed) and any(abs(loss - final_loss(0)) < CLOSE for loss in numbers[0])
    assert_that(not is_of_0, f"the loss that was printed is the one of the seed 0, although SEED={seed} is set")
    assert_equal(len(numbers[0]), 1, what="numbers with 4 decimals in the line")
    what = f"the loss that was printed, with SEED={seed}" if seed is not None else "the loss, without SEED"
    assert_close(numbers[0][0], final_loss(seed or 0), rtol=0, atol=CLOSE, what=what)


@exercise("ddp.main")
@given(seed=SEEDS)
@once
def test_two_ranks(submission: Submission, seed: int) -> None:
    """On two ranks, rank 0 prints one line with the final loss, made from SEED, the other rank prints none, and no
    process group is left at the end."""
    numbers = secrets(seed, 2)
    world = r.run(
        submission.main, group=False, env={"SEED": str(seed)}, lines=True, may_exit=True,
        look=r.call(d.joins_again, r.each(*numbers)),
    )  # fmt: skip
    assert_printed(world.lines, world.numbers, seed)
    for rank, found in enumerate(world.looks):
        assert_that(found == sum(numbers), f"rank {rank} {found if type(found) is str else 'cannot communicate'}")


@exercise("ddp.main")
@given(seed=SEEDS)
@once
def test_trains_together(submission: Submission, seed: int) -> None:
    """The ranks train one model together: each takes its share of the rows, and what each contributes counts. (In this
    check rank 1 has another SEED and other gradients, so the loss is not the one that rank 0 can find alone.)"""
    for turn in range(2):  # once may be chance
        numbers, alone, everything = different(seed + turn)
        world = r.run(
            submission.main, group=False, env={"SEED": None}, lines=True, may_exit=True,
            before=r.call(d.differ, r.each(*numbers), r.each(1.0, OTHER_GRADIENTS)),
        )  # fmt: skip
        assert_equal(len(world.numbers[0]), 1, what="numbers with 4 decimals in the line of rank 0")
        (loss,) = world.numbers[0]
        assert_that(abs(loss - alone) > CLOSE, "rank 0 prints the loss of a training of its own, without the other")
        if all(abs(loss - one) > CLOSE for one in everything):
            return
    assert_that(False, "each rank trains on all rows, not on its share of them")


@exercise("ddp.main")
@given(seed=SEEDS)
@once
def test_alone(submission: Submission, seed: int) -> None:
    """Alone, if the environment has none of torchrun's variables, it prints the same kind of line; if SEED is not
    set, the seed is 0."""
    for number in (seed, None):
        situations(submission, {"alone, with SEED": number is not None, "alone, without SEED": number is None})
        world = r.run(
            submission.main, world_size=1, group=False, lines=True, may_exit=True, look=r.call(d.joins_again, 7),
            env={**r.ALONE, "SEED": None if number is None else str(number)},
        )  # fmt: skip
        assert_printed(world.lines, world.numbers, number)
        assert_that(world.looks == [7], f"the process {world.looks[0]}")


@exercise("ddp.main", when="under torchrun")
@given(seed=SEEDS)
@once
def test_under_torchrun(submission: Submission, seed: int) -> None:
    """`SEED=… torchrun --nproc-per-node=2 ddp.py` prints the line, on rank 0, and ends with exit code 0."""
    script = r.torchrun(submission.main, "ddp.py", env={"SEED": str(seed)})
    assert_equal(script.exit_code, 0, what="the exit code")
    # A line at the top of the file may print something else on every rank: that is not `main`.
    assert_equal([len(found) for found in script.numbers], [1, 0], what="losses printed", each="rank 0")
    assert_loss(script.numbers, seed)
