"""Checks of beyond: what a cache returns, a model read letter by letter, buffers on a device, and real ranks."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from checks import expected
from hypothesis import given, settings
from hypothesis import strategies as st
from letters_kit import models, probes
from torch import Tensor

from grader.testkit import (
    Remote,
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    devices,
    exercise,
    labels,
    load_weights,
    needs,
    raises,
    ranks,
    recipes,
    seeds,
)
from grader.testkit import probes as common

FEW = settings(max_examples=4)
ONCE = settings(max_examples=1)

# ---------------------------------------------------------------- KVCache


@exercise("beyond.KVCache")
@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4), layers=st.integers(1, 3), seed=seeds())
def test_all_that_was_appended(submission: Submission, sizes: list[int], layers: int, seed: int) -> None:
    """append returns all keys and values of its layer, old ones first, for one or more new positions."""
    cache = submission.KVCache()
    kept: dict[int, tuple[list[Tensor], list[Tensor]]] = {layer: ([], []) for layer in range(layers)}
    for turn, n in enumerate(sizes):
        for layer in range(layers):
            k, v = (recipes.normal((2, 3, n, 2), seed + 10 * turn + 2 * layer + part) for part in (0, 1))
            kept[layer][0].append(k)
            kept[layer][1].append(v)
            found = cache.append(layer, k, v)
            assert_equal(tuple(found), tuple(torch.cat(part, dim=2) for part in kept[layer]))
        assert_equal(len(cache), sum(sizes[: turn + 1]), what="len(cache)")


@exercise("beyond.KVCache")
def test_caches_share_nothing(submission: Submission) -> None:
    """A new cache is empty, whatever another one holds; its length is that of layer 0."""
    one, k = submission.KVCache(), torch.ones(1, 1, 2, 1)
    one.append(0, k, k)
    one.append(1, k, k)
    assert_equal(len(one), 2, what="len of a cache with two layers of two positions each")
    other = submission.KVCache()
    assert_equal(len(other), 0, what="len of a new cache")
    assert_equal(tuple(other.append(0, 2 * k, 3 * k)), (2 * k, 3 * k))


# ---------------------------------------------------------------- step

SIZES = {"vocab": 6, "context": 5, "d": 4}


def small_gpt(submission: Submission, weights: dict[str, Tensor], heads: int, layers: int) -> Remote:
    """The student's own TinyGPT with these weights, in eval mode."""
    model = submission.there(common.imported, "language_model", "TinyGPT")(6, 5, 4, heads, layers)
    load_weights(submission, model, weights)
    made: Remote = model.eval()
    return made


@exercise("beyond.step")
@given(ids=labels("b t", 6, t=(1, 5)), heads=st.sampled_from([1, 2]), layers=st.integers(1, 2), seed=seeds())
@settings(max_examples=12)
def test_equals_the_whole_text(submission: Submission, ids: Tensor, heads: int, layers: int, seed: int) -> None:
    """Letter by letter, the logits are those of the last place when the model reads the whole text at once."""
    weights = expected.drawn(expected.gpt_shapes(6, 5, 4, layers), seed)
    model, cache = small_gpt(submission, weights, heads, layers), submission.KVCache()
    right = expected.gpt(ids, weights, heads, layers)
    for place in range(ids.shape[1]):
        assert_close(submission.step(model, cache, ids[:, place]), right[:, place], rtol=1e-3, atol=1e-3)
        assert_equal(len(cache), place + 1, what="len(cache) after the step")


@exercise("beyond.step")
@given(ids=labels("2 4", 5), seed=seeds())
@FEW
def test_old_letters_are_not_read_again(submission: Submission, ids: Tensor, seed: int) -> None:
    """What was read before comes out of the cache: it still counts when the model no longer knows those letters."""
    weights = expected.drawn(expected.gpt_shapes(6, 5, 4, 2), seed)
    model, cache = small_gpt(submission, weights, 2, 2), submission.KVCache()
    for place in range(4):
        submission.step(model, cache, ids[:, place])
    others = weights["positions.weight"].clone()
    others[:4] = 9.0  # positions that nobody asks for any more
    load_weights(submission, model, weights | {"positions.weight": others})
    new = torch.tensor([5, 5])
    right = expected.gpt(torch.cat([ids, new[:, None]], dim=1), weights, 2, 2)[:, -1]
    assert_close(submission.step(model, cache, new), right, rtol=1e-3, atol=1e-3)


@exercise("beyond.step")
@given(seed=seeds())
@ONCE
def test_two_texts_at_a_time(submission: Submission, seed: int) -> None:
    """Two caches of one model are two texts: steps of one change nothing for the other."""
    weights = expected.drawn(expected.gpt_shapes(6, 5, 4, 1), seed)
    model = small_gpt(submission, weights, 2, 1)
    texts = [torch.tensor([[1, 2, 3]]), torch.tensor([[5, 0, 4]])]
    caches = [submission.KVCache(), submission.KVCache()]
    for place in range(3):
        for text, cache in zip(texts, caches, strict=True):
            right = expected.gpt(text, weights, 2, 1)[:, place]
            assert_close(submission.step(model, cache, text[:, place]), right, rtol=1e-3, atol=1e-3)


@exercise("beyond.step", hidden=True)
def test_the_context_ends(submission: Submission) -> None:
    """No graph is recorded; when the cache is as long as the context, one more step raises ValueError."""
    model = small_gpt(submission, expected.drawn(expected.gpt_shapes(6, 5, 4, 1), 3), 2, 1)
    cache = submission.KVCache()
    for _ in range(5):
        found = submission.step(model, cache, torch.tensor([1]))
        assert_that(not found.requires_grad, "the logits have a graph")
    with raises(ValueError):
        submission.step(model, cache, torch.tensor([1]))


# ---------------------------------------------------------------- MaskAndPositions


def positions(t: int, d: int) -> Tensor:
    """Rows of sines and cosines."""
    rows = torch.arange(t, dtype=torch.float64)[:, None]
    angles = rows / 10000 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(t, d).float()


@exercise("beyond.MaskAndPositions")
@given(t=st.integers(1, 6), extra=st.integers(0, 3), half=st.integers(1, 4), seed=seeds())
def test_sines_and_a_mask(submission: Submission, t: int, extra: int, half: int, seed: int) -> None:
    """x plus the positions' rows for its t places, and the causal mask of t places, whatever the context is."""
    x = recipes.normal((2, t, 2 * half), seed)
    found = submission.MaskAndPositions(t + extra, 2 * half)(x)
    assert_close(tuple(found), (x + positions(t, 2 * half), expected.not_later(t)))


@exercise("beyond.MaskAndPositions")
def test_places_far_behind(submission: Submission) -> None:
    """The positions are right for places far behind, too."""
    found, _ = submission.MaskAndPositions(600, 4)(torch.zeros(1, 600, 4))
    assert_close(found, positions(600, 4)[None])


@exercise("beyond.MaskAndPositions")
@pytest.mark.parametrize("device", ["cuda:1", "cuda:0"])
@given(seed=seeds())
@ONCE
def test_both_follow_the_module(submission: Submission, device: str, seed: int) -> None:
    """After .to(device) both results are there (on simulated GPUs, if there are none), and after .to("cpu") on the CPU
    again."""
    submission.there(devices.start, gpus=2)
    module, x = submission.MaskAndPositions(4, 6), recipes.normal((2, 3, 6), seed)
    for place in (device, "cpu"):
        module = module.to(torch.device(place))
        right = (devices.on(x + positions(3, 6), place), devices.on(expected.not_later(3), place))
        assert_close(tuple(module(devices.on(x, place))), right)


@exercise("beyond.MaskAndPositions")
def test_nothing_moves_in_forward(submission: Submission) -> None:
    """The forward pass moves nothing between devices, and never makes the CPU wait."""
    submission.there(devices.start, gpus=1, recording=True)
    module = submission.MaskAndPositions(4, 6).to(torch.device("cuda", 0))
    x = devices.on(recipes.normal((2, 3, 6)), "cuda:0")
    submission.there(devices.clear_events)
    module(x)
    assert_equal(submission.there(devices.transfers), [], what="(from, to, shape) of each transfer in forward")
    assert_equal(submission.there(devices.syncs), [], what="what made the CPU wait in forward")


@exercise("beyond.MaskAndPositions")
def test_no_parameters_and_nothing_saved(submission: Submission) -> None:
    """There are no parameters, and nothing is in state_dict()."""
    module = submission.MaskAndPositions(4, 6)
    assert_equal(submission.there(common.parameter_shapes, module), [], what="the parameters")
    assert_equal(submission.there(probes.saved, module), [], what="the names in state_dict()")


# ---------------------------------------------------------------- train_on_ranks


def trained_here(model_seed: int, windows: list[Tensor], batch: int, lr: float) -> dict[str, Tensor]:
    """The weights after one process has trained on the rows of all ranks in each step."""
    model = models.plain_reader(model_seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for parts in zip(*(rows.split(batch) for rows in windows), strict=True):
        rows = torch.cat(parts)
        optimizer.zero_grad()
        torch.autograd.backward(F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()))
        optimizer.step()
    return common.state(model)


@exercise("beyond.train_on_ranks")
@needs("ranks")
@pytest.mark.parametrize(("size", "batch", "steps"), [(2, 2, 3), (3, 1, 2), (1, 3, 2)])
@given(seed=seeds().filter(bool))
@ONCE
def test_equals_a_single_process(submission: Submission, size: int, batch: int, steps: int, seed: int) -> None:
    """All ranks return the weights of one process that takes the rows of all ranks in each step."""
    windows = [models.letters((batch * steps, 5), seed + rank) for rank in range(size)]
    model = ranks.call(models.plain_reader, seed)
    world = ranks.run(
        submission.train_on_ranks, ranks.RANK, ranks.WORLD_SIZE, model, ranks.each(*windows), batch, 0.3,
        world_size=size,
    )  # fmt: skip
    right = trained_here(seed, windows, batch, 0.3)
    for rank, found in enumerate(world.results):
        assert_close(dict(found), right, rtol=1e-3, what=f"the weights that rank {rank} returns")


@exercise("beyond.train_on_ranks")
@needs("ranks")
@given(seed=seeds().filter(bool))
@ONCE
def test_begins_with_rank_0(submission: Submission, seed: int) -> None:
    """If the ranks begin with different weights, those of rank 0 count; the model itself is trained, on each rank."""
    windows = [models.letters((4, 5), seed + rank) for rank in range(2)]
    model = ranks.call(models.plain_reader, ranks.each(seed, seed + 1))
    world = ranks.run(
        submission.train_on_ranks, ranks.RANK, ranks.WORLD_SIZE, model, ranks.each(*windows), 2, 0.3,
        look=ranks.call(common.state, ranks.argument(2)),
    )  # fmt: skip
    right = trained_here(seed, windows, 2, 0.3)
    for rank, (found, kept) in enumerate(zip(world.results, world.looks, strict=True)):
        assert_close(dict(found), right, rtol=1e-3, what=f"the weights that rank {rank} returns")
        assert_close(kept, right, rtol=1e-3, what=f"the model's weights on rank {rank}")
