"""Checks of devices, on simulated GPUs if there are no real ones.

Never decide what the contract leaves open: whether "cuda" has an index in `pick_device`, whether `prepare` returns the
model that it was given, the type of the container that `prepare_batch` returns, the order in which a loader gives
its rows.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.testkit import (
    Diagram,
    Submission,
    SubmissionRaised,
    assert_close,
    assert_equal,
    assert_that,
    counted,
    devices,
    exercise,
    needs,
    picture,
    probes,
    recipes,
    reference,
    seeds,
    tensors,
)
from kit import checklist, clock, moving, resuming

CPU = torch.device("cpu")
PLACES = ["cpu", "cuda:0", "cuda:1"]
SEEDS = seeds()
TWICE = settings(max_examples=2)
ONCE = settings(max_examples=1)
"""The drawn values differ with each seed of the grading."""
LR = 0.13
"""A learning rate that nobody would write by themselves."""


def on_machine(submission: Submission, gpus: int, mps: bool = False) -> None:
    """From here on the submission runs on a machine with these devices."""
    submission.there(devices.start, gpus=gpus, mps=mps)


# ---------------------------------------------------------------- cpu, gpu, num_gpus


@exercise("devices.cpu")
@pytest.mark.parametrize("gpus", [0, 1])
def test_always_the_cpu(submission: Submission, gpus: int) -> None:
    """The result is the CPU's torch.device, whether there are GPUs or not."""
    on_machine(submission, gpus)
    assert_equal(submission.cpu(), CPU)


@exercise("devices.gpu")
@pytest.mark.parametrize("gpus", [0, 1, 4])
def test_the_name_of_any_gpu(submission: Submission, gpus: int) -> None:
    """The result is the torch.device of CUDA GPU i (i is 0 by default), even if the machine does not have that GPU."""
    on_machine(submission, gpus)
    assert_equal(submission.gpu(), torch.device("cuda", 0))
    assert_equal(submission.gpu(i=2), torch.device("cuda", 2), what="gpu(i=2)")
    assert_equal(
        [submission.gpu(i) for i in range(12)], [torch.device("cuda", i) for i in range(12)], what="gpu(0) to (11)"
    )


@exercise("devices.num_gpus")
@pytest.mark.parametrize("gpus", [0, 1, 2, 5])
def test_counts_gpus(submission: Submission, gpus: int) -> None:
    """The result is the number of CUDA devices of this machine, 0 if there are none."""
    on_machine(submission, gpus)
    assert_equal(submission.num_gpus(), gpus, what=f"num_gpus() with {counted(gpus, 'GPU')}")


# ---------------------------------------------------------------- try_gpu, try_all_gpus, pick_device


@exercise("devices.try_gpu")
@pytest.mark.parametrize("gpus", [0, 1, 2, 4])
def test_the_gpu_or_the_cpu(submission: Submission, gpus: int) -> None:
    """The result is GPU i if the machine has it, else the CPU; GPUs are counted from 0, and i is 0 by default."""
    on_machine(submission, gpus)
    submission.there(moving.with_right_names)
    expected = [torch.device("cuda", i) if i < gpus else CPU for i in range(6)]
    assert_equal(
        [submission.try_gpu(i) for i in range(6)], expected, what=f"try_gpu(0) to (5), with {counted(gpus, 'GPU')}"
    )
    assert_equal(submission.try_gpu(), expected[0], what=f"try_gpu() with {counted(gpus, 'GPU')}")
    submission.there(moving.with_own_names)


@exercise("devices.try_all_gpus")
@pytest.mark.parametrize("gpus", [0, 1, 3])
def test_all_gpus_or_the_cpu(submission: Submission, gpus: int) -> None:
    """The result is a list of the devices of all GPUs in order, or a list with the CPU's device if there are none."""
    on_machine(submission, gpus)
    expected = [torch.device("cuda", i) for i in range(gpus)] or [CPU]
    submission.there(moving.with_right_names)
    assert_equal(submission.try_all_gpus(), expected, what=f"try_all_gpus() with {counted(gpus, 'GPU')}")
    submission.there(moving.with_own_names)


@exercise("devices.pick_device")
@pytest.mark.parametrize(
    ("gpus", "mps", "expected"),
    [(0, False, "cpu"), (1, False, "cuda"), (2, False, "cuda"), (0, True, "mps"), (1, True, "cuda")],
    ids=["neither", "a GPU", "two GPUs", "mps", "a GPU and mps"],
)
def test_the_best_that_is_there(submission: Submission, gpus: int, mps: bool, expected: str) -> None:
    """The result is a torch.device: cuda if it is available, else mps if that is available, else the CPU."""
    on_machine(submission, gpus, mps)
    found = submission.pick_device()
    assert_that(isinstance(found, torch.device), f"{found!r} is not a torch.device")
    assert_equal(found.type, expected, what="the device's type")
    assert_that(found.index in (None, 0), f"{found} has an index: any GPU will do, so it is the first")


# ---------------------------------------------------------------- to_device


def expected_nest(kind: str, device: str, seed: int = 1) -> Any:
    """The nested batch on a device, as plain data."""
    return _placed(moving.unfolded(moving.nest(kind, seed=seed)), device)


def _placed(value: Any, device: str) -> Any:
    if isinstance(value, Tensor):
        return devices.on(value, device)
    if isinstance(value, dict):
        return {key: _placed(item, device) for key, item in value.items()}
    return type(value)(_placed(item, device) for item in value) if isinstance(value, list | tuple) else value


def assert_same_nest(found: object, expected: object) -> None:
    """The same as `assert_equal`; a named tuple that is none any more is called that."""
    assert_that(not (lost := lost_names(found, expected)), lost)
    assert_equal(found, expected)


def lost_names(found: object, expected: object, place: str = "") -> str:
    """What came in place of a named tuple, in words; both as `moving.unfolded` gives them."""
    if isinstance(expected, dict):
        name = next((key for key in expected if str(key).startswith("named tuple")), "")
        if name and not (isinstance(found, dict) and name in found):
            return f"{place}a {type(found).__name__} where a {name} was expected"
        pairs = [(key, found[key], expected[key]) for key in expected if isinstance(found, dict) and key in found]
    elif isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        pairs = [(number, one, other) for number, (one, other) in enumerate(zip(found, expected, strict=False))]
    else:
        return ""
    at = place.removesuffix(": ") or "at "
    return next((lost for key, one, other in pairs if (lost := lost_names(one, other, f"{at}[{key!r}]: "))), "")


@exercise("devices.to_device")
@pytest.mark.parametrize("target", ["cuda:0", "cuda:1"])
@pytest.mark.parametrize("kind", moving.NESTS)
@TWICE
@given(seed=SEEDS)
def test_every_tensor_moves(submission: Submission, kind: str, target: str, seed: int) -> None:
    """Tensors in lists, tuples, dicts and named tuples, at any depth and of any shape, are moved to the device;
    everything else is unchanged, also 0, False, an empty text, and what has a method `to` of its own."""
    on_machine(submission, 2)
    batch = submission.there(moving.held_nest, kind, "cpu", seed)
    found = submission.there(moving.moved, submission.to_device, batch, torch.device(target))
    assert_same_nest(found, expected_nest(kind, target, seed))


@exercise("devices.to_device", when="in the batch that was passed")
@pytest.mark.parametrize("kind", ["list", "dict", "deep"])
def test_the_batch_stays_as_it_is(submission: Submission, kind: str) -> None:
    """The batch that was passed still has its own tensors, on the device where they were."""
    on_machine(submission, 1)
    batch = submission.there(moving.held_nest, kind)
    submission.there(moving.moved, submission.to_device, batch, torch.device("cuda", 0))
    assert_equal(submission.there(moving.held, batch), expected_nest(kind, "cpu"), what="the batch afterwards")


@exercise("devices.to_device", when="for a batch that comes from a GPU")
@pytest.mark.parametrize(
    ("kind", "target"),
    [*itertools.product(["tensor", "deep"], ["cpu", "cuda:0"]), ("two places", "cpu"), ("two places", "cuda:1")],
)
@ONCE
@given(seed=SEEDS)
def test_from_a_gpu(submission: Submission, kind: str, target: str, seed: int) -> None:
    """Batches are moved from a GPU to the CPU, or to another GPU, in the same way; also if only some of their tensors
    are on the device already."""
    on_machine(submission, 2)
    batch = submission.there(moving.held_nest, kind, "cuda:1", seed)
    found = submission.there(moving.moved, submission.to_device, batch, torch.device(target))
    assert_same_nest(found, expected_nest(kind, target, seed))


@exercise("devices.to_device")
@pytest.mark.parametrize("where", ["cpu", "cuda:1"])
@pytest.mark.parametrize("kind", ["tensor", "dict", "deep"])
def test_no_copy_of_what_is_there(submission: Submission, kind: str, where: str) -> None:
    """A tensor that is on the device already is returned itself."""
    on_machine(submission, 2)
    batch = submission.there(moving.held_nest, kind, where)
    found = submission.there(moving.returned_itself, submission.to_device, batch, torch.device(where))
    assert_that(found != [] and all(found), "a tensor that was on the device already came back as a copy")


@exercise("devices.to_device", when="in non_blocking")
@pytest.mark.parametrize("non_blocking", [None, False, True], ids=["left out", "False", "True"])
@pytest.mark.parametrize("kind", ["list", "deep"])
def test_non_blocking_is_passed_on(submission: Submission, kind: str, non_blocking: bool | None) -> None:
    """Each tensor moves once, with non_blocking as it was passed; the default is False."""
    submission.there(devices.start, gpus=1, recording=True)
    batch = submission.there(moving.held_nest, kind)
    options = {} if non_blocking is None else {"non_blocking": non_blocking}
    args = () if non_blocking is None else (non_blocking,)
    submission.there(moving.moved, submission.to_device, batch, torch.device("cuda", 0), **options)
    submission.there(moving.moved, submission.to_device, batch, torch.device("cuda", 0), *args)
    moves = [event["non_blocking"] for event in submission.there(devices.events) if event["kind"] == "transfer"]
    count = {"list": 2, "deep": 5}[kind]
    assert_equal(moves, [bool(non_blocking)] * count * 2, what="non_blocking of each transfer of two moves")


# ---------------------------------------------------------------- add_across


@exercise("devices.add_across")
@pytest.mark.parametrize("other", PLACES)
@pytest.mark.parametrize("place", PLACES)
@TWICE
@given(seed=SEEDS)
def test_the_sum_is_where_x_is(submission: Submission, place: str, other: str, seed: int) -> None:
    """The result is x + y on the device of x, wherever y is."""
    on_machine(submission, 2)
    x, y = recipes.normal((2, 3), seed), recipes.normal((2, 3), seed + 1)
    assert_close(submission.add_across(devices.on(x, place), devices.on(y, other)), devices.on(x + y, place))


@exercise("devices.add_across", when="on one device")
@given(x=tensors(((1, 4), (1, 4))), swapped=st.booleans(), seed=SEEDS)
def test_adds(submission: Submission, x: Tensor, swapped: bool, seed: int) -> None:
    """On one device it is x + y, with broadcasting."""
    x, y = (recipes.normal((1, x.shape[1]), seed), x)[:: -1 if swapped else 1]
    assert_close(submission.add_across(x, y), x + y)


@exercise("devices.add_across", when="for other dtypes")
@pytest.mark.parametrize(("place", "other"), [("cpu", "cpu"), ("cuda:0", "cpu"), ("cpu", "cuda:1")])
@pytest.mark.parametrize("dtypes", [(torch.int64, torch.float32), (torch.float32, torch.float64)], ids=str)
@ONCE
@given(seed=SEEDS)
def test_dtypes_are_those_of_the_sum(
    submission: Submission, dtypes: tuple[torch.dtype, torch.dtype], place: str, other: str, seed: int
) -> None:
    """The dtype of the result is that of x + y: only the device follows x."""
    on_machine(submission, 2)
    for dtype, other_dtype in (dtypes, dtypes[::-1]):
        x = (4 * recipes.normal((2, 3), seed)).to(dtype)
        y = (4 * recipes.normal((2, 3), seed + 1)).to(other_dtype)
        assert_close(submission.add_across(devices.on(x, place), devices.on(y, other)), devices.on(x + y, place))


@exercise("devices.add_across", when="for tensors without dims")
@pytest.mark.parametrize(("place", "other"), [("cpu", "cuda:0"), ("cuda:0", "cpu"), ("cuda:1", "cuda:0")])
@ONCE
@given(seed=SEEDS)
def test_numbers_without_dims(submission: Submission, place: str, other: str, seed: int) -> None:
    """It is the same for a tensor without dims, which torch lets meet tensors of another device."""
    on_machine(submission, 2)
    number, row = recipes.normal((), seed), recipes.normal((3,), seed + 1)
    for x, y in ((number, row), (row, number), (number, number)):
        assert_close(submission.add_across(devices.on(x, place), devices.on(y, other)), devices.on(x + y, place))


# ---------------------------------------------------------------- ScaledAttentionMask


def scaled_and_masked(scores: Tensor) -> Tensor:
    """The scores by the square root of t, minus infinity above the diagonal."""
    t = scores.shape[-1]
    above = torch.arange(t)[:, None] < torch.arange(t)
    return torch.where(above, torch.tensor(-math.inf), scores / math.sqrt(t))


@exercise("devices.ScaledAttentionMask")
@given(
    shape=st.tuples(st.integers(1, 6), st.lists(st.integers(1, 3), max_size=2)),
    extra=st.integers(0, 3),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=SEEDS,
)
def test_scaled_and_masked(
    submission: Submission, shape: tuple[int, list[int]], extra: int, dtype: torch.dtype, seed: int
) -> None:
    """Scores are divided by the square root of t and are minus infinity above the diagonal: for one matrix or many,
    and for fewer tokens than the mask was made for."""
    t, leading = shape
    scores = recipes.normal((*leading, t, t), seed, dtype)
    scores = scores.mT.contiguous().mT if seed % 2 else scores
    assert_close(submission.ScaledAttentionMask(t + extra)(scores), scaled_and_masked(scores), rtol=1e-5)


@exercise("devices.ScaledAttentionMask", when="in the gradients")
@TWICE
@given(t=st.integers(2, 5), seed=SEEDS)
def test_gradients_flow(submission: Submission, t: int, seed: int) -> None:
    """Gradients flow through the module to the scores, and are 0 for those that are hidden."""
    scores, weights = recipes.normal((2, t, t), seed), recipes.normal((2, t, t), seed + 1)
    found = submission.there(moving.score_gradients, submission.ScaledAttentionMask(5), scores, weights)
    scores.requires_grad_()
    attention = scaled_and_masked(scores).softmax(-1)
    (expected,) = torch.autograd.grad((attention * weights).sum(), scores)
    assert_close(found, expected, what="the gradient with respect to the scores")


@exercise("devices.ScaledAttentionMask", when="from the second length on")
@given(lengths=st.lists(st.integers(1, 5), min_size=2, max_size=4), seed=SEEDS)
def test_one_module_for_all_lengths(submission: Submission, lengths: list[int], seed: int) -> None:
    """One module takes scores of few tokens and then again of many."""
    module = submission.ScaledAttentionMask(5)
    for t in (*lengths, 5):
        scores = recipes.normal((2, t, t), seed)
        assert_close(module(scores), scaled_and_masked(scores), rtol=1e-5)


@exercise("devices.ScaledAttentionMask", when="after the module was moved")
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
@TWICE
@given(seed=SEEDS)
def test_the_mask_follows(submission: Submission, device: str, seed: int) -> None:
    """After .to(device) the module works there, and its result is there; and after .to("cpu") on the CPU again."""
    on_machine(submission, 2)
    module = submission.ScaledAttentionMask(5)
    scores = recipes.normal((2, 4, 4), seed)
    for place in (device, "cpu"):
        module = module.to(torch.device(place))
        assert_close(module(devices.on(scores, place)), devices.on(scaled_and_masked(scores), place))
        assert_equal(submission.there(moving.kept_tensors, module)["devices"], [place], what="where its buffers are")


@exercise("devices.ScaledAttentionMask", when="with a mask that was loaded")
@TWICE
@given(seed=SEEDS)
def test_the_mask_in_the_state_dict_is_the_one_that_is_used(submission: Submission, seed: int) -> None:
    """A mask that is loaded with load_state_dict is the one that hides scores."""
    module = submission.ScaledAttentionMask(4)
    assert_that(submission.there(moving.turn_kept, module) > 0, "there is no square mask in state_dict()")
    scores = recipes.normal((4, 4), seed)
    what = "the result when the mask was transposed and loaded: forward should use the mask that the module keeps"
    assert_close(module(scores), scaled_and_masked(scores.mT).mT, what=what)


@exercise("devices.ScaledAttentionMask")
@pytest.mark.parametrize("size", [1, 4])
def test_a_buffer_and_no_parameter(submission: Submission, size: int) -> None:
    """The mask is in state_dict() and not in parameters()."""
    kept = submission.there(moving.kept_tensors, submission.ScaledAttentionMask(size))
    assert_equal(kept["parameters"], 0, what="how many parameters it has")
    assert_that(
        kept["entries"] > 0, "state_dict() is empty: the mask is not a buffer, or it is one with persistent=False"
    )


# ---------------------------------------------------------------- prepare


@exercise("devices.prepare")
@pytest.mark.parametrize(("before", "device"), [*(("cpu", place) for place in PLACES), ("cuda:0", "cpu")])
@pytest.mark.parametrize("kind", ["norm", "tied", "frozen"])
def test_model_and_optimizer(submission: Submission, kind: str, before: str, device: str) -> None:
    """The result is the model on the device, and an SGD optimizer over exactly its parameters, with the learning rate
    that was passed."""
    on_machine(submission, 2)
    found = submission.prepare(submission.there(resuming.placed, kind, 1, before), torch.device(device), 0.25)
    assert_that(isinstance(found, tuple) and len(found) == 2, "prepare does not return a pair: (model, optimizer)")
    model, optimizer = found
    assert_that(submission.there(probes.is_a, model, "torch.nn.Module"), "the first of the pair is not a model")
    assert_equal(set(submission.there(devices.device_map, model).values()), {device}, what="where the model is")
    assert_that(
        submission.there(probes.is_a, optimizer, "torch.optim.SGD"), "the second of the pair is not an SGD optimizer"
    )
    assert_that(
        submission.there(moving.covers, optimizer, model),
        "the optimizer does not hold exactly the parameters of the model that is returned",
    )
    assert_equal(submission.there(moving.learning_rates, optimizer), [0.25], what="the learning rate")


@exercise("devices.prepare", when="in the steps of the optimizer")
@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
@pytest.mark.parametrize("kind", ["mlp", "tied", "frozen"])
@TWICE
@given(seed=SEEDS)
def test_steps_move_the_model(submission: Submission, kind: str, device: str, seed: int) -> None:
    """Steps of the optimizer train the model that is returned, by plain SGD."""
    on_machine(submission, 1)
    model, optimizer = submission.prepare(submission.there(recipes.model, kind, seed), torch.device(device), 0.25)
    submission.there(moving.two_steps, model, optimizer, seed)
    here = recipes.model(kind, seed)
    moving.two_steps(here, torch.optim.SGD(here.parameters(), lr=0.25), seed)
    found = [devices.on(weight, "cpu") for weight in submission.there(probes.weights, model)]
    assert_close(found, probes.weights(here), what="the weights after two steps")


@exercise("devices.prepare", when="in what else belongs to the model")
@pytest.mark.parametrize(("device", "dtype"), [("cpu", torch.float64), ("cuda:0", torch.float32)], ids=str)
def test_only_the_place_of_the_model_changes(submission: Submission, device: str, dtype: torch.dtype) -> None:
    """Weights and their dtype, training flags, and which parameters train, are those of the model that was passed."""
    on_machine(submission, 1)
    passed = submission.there(resuming.placed, "frozen", 1, "cpu", dtype)
    model, _ = submission.prepare(passed, torch.device(device), 0.25)
    here = resuming.placed("frozen", 1, "cpu", dtype)
    assert_equal(submission.there(probes.training_flags, model), probes.training_flags(here), what="training flags")
    assert_equal(submission.there(probes.trainable, model), probes.trainable(here), what="which parameters train")
    expected = {name: devices.on(value, device) for name, value in probes.state(here).items()}
    assert_equal(submission.there(probes.state, model), expected, what="the model's state_dict")


# ---------------------------------------------------------------- train_on


def check_trained(submission: Submission, model: Any, losses: Any, expected: tuple[nn.Module, list[float]]) -> None:
    """The losses and the model over there are those of training here."""
    here, here_losses = expected
    assert_close(losses, here_losses, rtol=1e-4, atol=1e-5, what="the losses", each="batch 1")
    found = {name: devices.on(value, "cpu") for name, value in submission.there(probes.state, model).items()}
    assert_close(found, probes.state(here), what="the model's state_dict afterwards")


def trained_here(
    kind: str, loader: Any, epochs: int = 1, lr: float = LR, seed: int = 1
) -> tuple[nn.Module, list[float]]:
    """The model after plain SGD on the CPU, and the loss of each batch."""
    model = recipes.model(kind, seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    return model, [loss for _ in range(epochs) for loss in reference.train(model, loader, optimizer)[0]]


@exercise("devices.train_on")
@pytest.mark.parametrize("device", PLACES)
@pytest.mark.parametrize("kind", ["mlp", "norm", "tied", "frozen"])
@TWICE
@given(seed=SEEDS)
def test_one_epoch_of_sgd(submission: Submission, kind: str, device: str, seed: int) -> None:
    """The loss of every batch and the weights at the end are those of plain SGD, and the model ends on the device."""
    on_machine(submission, 2)
    model = submission.there(recipes.model, kind, seed)
    losses = submission.train_on(model, submission.there(recipes.loader, 11, 4, seed), torch.device(device), LR)
    assert_equal(set(submission.there(devices.device_map, model).values()), {device}, what="where the model is")
    check_trained(submission, model, losses, trained_here(kind, recipes.loader(11, 4, seed), seed=seed))


@exercise("devices.train_on", when="for a loader without a length")
@TWICE
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), seed=SEEDS)
def test_one_pass_through_the_loader(submission: Submission, sizes: list[int], seed: int) -> None:
    """One epoch is one pass, through an iterable that has no length and gives other batches in each pass."""
    on_machine(submission, 0)
    model = submission.there(recipes.model, "mlp", seed)
    losses = submission.train_on(model, submission.there(moving.passes, sizes, seed), CPU, LR)
    check_trained(submission, model, losses, trained_here("mlp", moving.passes(sizes, seed), seed=seed))


@exercise("devices.train_on", when="with many batches")
def test_many_batches(submission: Submission) -> None:
    """The epoch goes through all batches of the loader, however many there are."""
    on_machine(submission, 0)
    loader = recipes.batches([1] * 120, seed=3)
    model = submission.there(recipes.model, "mlp", 1)
    losses = submission.train_on(model, loader, CPU, LR)
    check_trained(submission, model, losses, trained_here("mlp", loader))


@exercise("devices.train_on", when="in the graphs that are kept")
@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
@TWICE
@given(amount=st.integers(2, 9), seed=SEEDS)
def test_no_graphs_are_kept(submission: Submission, device: str, amount: int, seed: int) -> None:
    """The losses that are kept do not keep the graphs of their batches: a model that notices more than one earlier
    graph in memory, and changes its logits then, gives the same losses."""
    on_machine(submission, 1)
    model = submission.there(moving.graph_counting, "mlp", seed, float(amount))
    losses = submission.train_on(model, submission.there(recipes.loader, 12, 2, seed), torch.device(device), LR)
    _, expected = trained_here("mlp", recipes.loader(12, 2, seed), seed=seed)
    what = "the losses, which are others if graphs of earlier batches are still in memory (detach what you keep)"
    assert_close(losses, expected, rtol=1e-4, atol=1e-5, what=what, each="batch 1")


@exercise("devices.train_on", when="in what moves to the device")
@settings(max_examples=4)
@given(count=st.integers(2, 9), batch_size=st.integers(1, 4), seed=SEEDS)
def test_everything_moves_once(submission: Submission, count: int, batch_size: int, seed: int) -> None:
    """The model's tensors and each tensor of a batch move to the device once, and nothing else moves there."""
    submission.there(devices.start, gpus=2, recording=True)
    model = submission.there(recipes.model, "mlp", 1)
    loader = submission.there(recipes.loader, count, batch_size, seed)
    try:
        submission.train_on(model, loader, torch.device("cuda", 1), LR)
    except SubmissionRaised:
        submission.there(devices.transfers)  # for the record: mistakes differ in what had moved
        raise
    moves = [event for event in submission.there(devices.events) if event["kind"] == "transfer"]
    shapes = [tuple(p.shape) for p in recipes.model("mlp", 1).parameters()]
    shapes += [tuple(part.shape) for batch in recipes.loader(count, batch_size, seed) for part in batch]
    there = sorted(str((e["from"], e["to"], e["shape"])) for e in moves if e["to"] != "cpu")
    expected = sorted(str(("cpu", "cuda:1", shape)) for shape in shapes)
    assert_equal(there, expected, what="transfers to a GPU: (from, to, shape)")


@exercise("devices.train_on", when="in how often Python waits for the GPU")
@settings(max_examples=4)
@example(count=40, before=2, after=1)  # more than anybody would read at once
@given(count=st.integers(2, 6), before=st.integers(0, 3), after=st.integers(0, 3))
def test_one_synchronisation(submission: Submission, count: int, before: int, after: int) -> None:
    """Python waits for the GPU once in the whole epoch, for any number of batches."""
    submission.there(devices.start, gpus=1, recording=True)
    model = submission.there(recipes.model, "mlp", 1)
    loader = submission.there(recipes.loader, 2 * count, 2, 5)
    submission.there(moving.read_back, before)
    losses = submission.train_on(model, loader, torch.device("cuda", 0), LR)
    submission.there(moving.read_back, after)
    assert_equal(len(losses), count, what="how many losses there are")
    inside, behind = submission.there(moving.waits)  # apart: mistakes differ in where Python waits
    waits = [*inside, *behind]
    assert_equal([*waits[:before], *waits[len(waits) - after :]], ["item"] * (before + after), what="other waits")
    waits = waits[before : len(waits) - after]
    assert_that(
        len(waits) == 1,
        f"Python waited for the GPU {counted(len(waits), 'time')} in {counted(count, 'batch', 'batches')}, "
        f"by {', '.join(sorted(set(waits)))}: "
        "keep the losses on the device, and read all of them at once after the loop",
    )


def assert_nothing_left(submission: Submission) -> None:
    """Fails if a default of torch has been changed and not changed back."""
    expected = {"device of a new tensor": "cpu", "dtype of a new tensor": torch.float32, "gradients are recorded": True}
    assert_equal(submission.there(moving.defaults), expected, what="torch's defaults afterwards")


@exercise("devices.train_on")
def test_training_leaves_torchs_defaults(submission: Submission) -> None:
    """Afterwards new tensors are made where they were made before, and gradients are recorded."""
    on_machine(submission, 1)
    loader = submission.there(recipes.loader, 4, 2, 1)
    submission.train_on(submission.there(recipes.model, "mlp", 1), loader, torch.device("cuda", 0), LR)
    assert_nothing_left(submission)


@picture(
    "devices.train_on",
    title="What happens between CPU and GPU, in order: Python waits once, at the end, and not in each batch",
)
def timeline(submission: Submission) -> Diagram:
    submission.there(devices.start, gpus=1, recording=True)
    loader = submission.there(recipes.loader, 24, 4, 5)
    submission.train_on(submission.there(recipes.model, "mlp", 1), loader, torch.device("cuda", 0), LR)
    events = submission.there(devices.events)
    lanes = {"to the GPU": "■", "from the GPU": "□", "Python waits": "╳"}
    moved = {True: "from the GPU", False: "to the GPU"}
    found = ["Python waits" if one["kind"] == "sync" else moved[one["to"] == "cpu"] for one in events]
    lines = [f"{lane:<14}{''.join(sign if one == lane else '·' for one in found[:60])}" for lane, sign in lanes.items()]
    counts = ", ".join(f"{lane}: {found.count(lane)}" for lane in lanes)
    return Diagram(lines=[*lines, "", counts])


# ---------------------------------------------------------------- DeviceTrainer


@exercise("devices.DeviceTrainer")
@pytest.mark.parametrize("device", PLACES)
@ONCE
@given(seed=SEEDS)
def test_prepares_models_and_batches(submission: Submission, device: str, seed: int) -> None:
    """prepare_model returns a model on the device, and prepare_batch a batch whose tensors are there."""
    on_machine(submission, 2)
    trainer = submission.DeviceTrainer(torch.device(device))
    model = trainer.prepare_model(submission.there(recipes.model, "norm", seed))
    assert_equal(set(submission.there(devices.device_map, model).values()), {device}, what="where the model is")
    x, y = recipes.normal((3, 2), seed), recipes.labels(3, seed=seed + 1)
    for batch in ([x, y], (x, y)):
        features, labels = trainer.prepare_batch(batch)
        assert_equal([features, labels], [devices.on(x, device), devices.on(y, device)], what="the prepared batch")


@exercise("devices.DeviceTrainer")
@pytest.mark.parametrize(("device", "epochs"), [("cpu", 3), ("cuda:0", 1), ("cuda:1", 2)])
@TWICE
@given(seed=SEEDS)
def test_fits(submission: Submission, device: str, epochs: int, seed: int) -> None:
    """fit trains by plain SGD: the loss of every batch of every epoch, in order, and the weights at the end."""
    on_machine(submission, 2)
    trainer = submission.DeviceTrainer(torch.device(device))
    model = submission.there(recipes.model, "mlp", seed)
    losses = trainer.fit(model, submission.there(recipes.loader, 7, 3, seed), epochs, LR)
    check_trained(submission, model, losses, trained_here("mlp", recipes.loader(7, 3, seed), epochs, LR, seed))


@exercise("devices.DeviceTrainer", when="for a loader without a length")
@TWICE
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3), epochs=st.integers(2, 3), seed=SEEDS)
def test_each_epoch_is_a_pass_of_its_own(submission: Submission, sizes: list[int], epochs: int, seed: int) -> None:
    """Each epoch is one more pass through the loader, an iterable without a length, which may give other batches."""
    on_machine(submission, 0)
    model = submission.there(recipes.model, "mlp", seed)
    losses = submission.DeviceTrainer(CPU).fit(model, submission.there(moving.passes, sizes, seed), epochs, LR)
    check_trained(submission, model, losses, trained_here("mlp", moving.passes(sizes, seed), epochs, LR, seed))


@exercise("devices.DeviceTrainer", when="over many epochs")
def test_many_epochs(submission: Submission) -> None:
    """fit runs as many epochs as it is told to, also if the loss is nearly 0."""
    on_machine(submission, 0)
    loader, model = recipes.batches([1], seed=3), submission.there(recipes.model, "linear", 1)
    losses = submission.DeviceTrainer(CPU).fit(model, loader, 120, 2.0)
    check_trained(submission, model, losses, trained_here("linear", loader, 120, 2.0))


@exercise("devices.DeviceTrainer", when="from the second fit on")
@TWICE
@given(seed=SEEDS)
def test_each_fit_begins_anew(submission: Submission, seed: int) -> None:
    """A second fit of the same trainer trains its own model, and returns its own losses."""
    on_machine(submission, 0)
    trainer = submission.DeviceTrainer(CPU)
    for turn in range(2):
        model, loader = submission.there(recipes.model, "mlp", seed + turn), recipes.batches([3, 2], seed=seed)
        losses = trainer.fit(model, loader, 2, LR)
        check_trained(submission, model, losses, trained_here("mlp", loader, 2, LR, seed + turn))


@exercise("devices.DeviceTrainer")
def test_fitting_leaves_torchs_defaults(submission: Submission) -> None:
    """After fit new tensors are made where they were made before, and gradients are recorded."""
    on_machine(submission, 1)
    trainer = submission.DeviceTrainer(torch.device("cuda", 0))
    trainer.fit(submission.there(recipes.model, "mlp", 1), submission.there(recipes.loader, 4, 2, 1), 1, LR)
    assert_nothing_left(submission)


@exercise("devices.DeviceTrainer", when="with two trainers")
@ONCE
@given(seed=SEEDS)
def test_each_trainer_has_its_own_device(submission: Submission, seed: int) -> None:
    """A trainer keeps its device when another one is made."""
    on_machine(submission, 2)
    trainers = [(submission.DeviceTrainer(torch.device(place)), place) for place in ("cuda:1", "cpu", "cuda:0")]
    x, y = recipes.normal((3, 2), seed), recipes.labels(3, seed=seed + 1)
    for trainer, place in trainers:
        model = trainer.prepare_model(submission.there(recipes.model, "linear", 1))
        assert_equal(set(submission.there(devices.device_map, model).values()), {place}, what="where the model is")
        features, labels = trainer.prepare_batch((x, y))
        assert_equal([features, labels], [devices.on(x, place), devices.on(y, place)], what="the prepared batch")


@exercise("devices.DeviceTrainer", when="with a subclass that overrides prepare_batch")
@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
@TWICE
@given(seed=SEEDS)
def test_a_subclass_prepares_batches_its_way(submission: Submission, device: str, seed: int) -> None:
    """If a subclass overrides prepare_batch, fit trains on the result of that method."""
    on_machine(submission, 1)
    trainer = submission.there(moving.stretching, submission.DeviceTrainer, torch.device(device))
    model = submission.there(recipes.model, "mlp", seed)
    batches = recipes.batches([4, 3], seed=seed)
    losses = trainer.fit(model, [{"x": x, "y": y} for x, y in batches], 2, LR)
    check_trained(submission, model, losses, trained_here("mlp", [(2 * x, y) for x, y in batches], 2, LR, seed))


@exercise("devices.DeviceTrainer", when="with a subclass that overrides prepare_model")
@TWICE
@given(seed=SEEDS)
def test_a_subclass_prepares_models_its_way(submission: Submission, seed: int) -> None:
    """If a subclass overrides prepare_model, fit trains the model that that method returns."""
    on_machine(submission, 1)
    trainer = submission.there(moving.rescaling, submission.DeviceTrainer, torch.device("cuda", 0))
    batches = recipes.batches([4, 3], seed=seed)
    losses = trainer.fit(submission.there(recipes.model, "mlp", seed), batches, 2, LR)
    scaled = moving.Rescaled(recipes.model("mlp", seed))
    optimizer = torch.optim.SGD(scaled.parameters(), lr=LR)
    expected = [loss for _ in range(2) for loss in reference.train(scaled, batches, optimizer)[0]]
    assert_close(losses, expected, rtol=1e-4, atol=1e-5, what="the losses", each="batch 1")


# ---------------------------------------------------------------- loader_for


@exercise("devices.loader_for")
@pytest.mark.parametrize(
    ("device", "gpus"), [("cpu", 0), ("cpu", 2), ("cuda", 1), ("cuda:1", 2), ("cuda:6", 8), ("mps", 0)]
)
def test_pinned_for_cuda_only(submission: Submission, device: str, gpus: int) -> None:
    """The loader pins memory for CUDA devices, whatever their index, and for no other device."""
    on_machine(submission, gpus)
    loader = submission.loader_for(submission.there(recipes.numbered, 8), 4, torch.device(device))
    facts = submission.there(checklist.loader_facts, loader)
    assert_equal(
        facts["pin_memory"], device.startswith("cuda"), what=f"pin_memory for {device} with {counted(gpus, 'GPU')}"
    )


SHORT_IS_MISSING = "the last batch, which is shorter, does not come: does `drop_last` leave it out?"


@exercise("devices.loader_for")
@settings(max_examples=5)
@example(count=7, batch_size=3)
@given(count=st.integers(1, 20), batch_size=st.integers(1, 8))
def test_loads_every_row(submission: Submission, count: int, batch_size: int) -> None:
    """In each pass the batches have the size that was passed, but for a shorter last one, and contain every row of the
    dataset once, features with their own labels."""
    loader = submission.loader_for(submission.there(recipes.numbered, count), batch_size, CPU)
    sizes = [min(batch_size, count - start) for start in range(0, count, batch_size)]
    rows = recipes.numbered(count)
    for batches in submission.there(probes.epochs, loader, 2):
        found = sorted(len(labels) for _, labels in batches)
        assert_that(found != sizes[:-1] or sizes[-1] == batch_size, SHORT_IS_MISSING)
        assert_equal(found, sorted(sizes), what="sizes of batches")
        assert_equal(
            sorted(int(label) for _, labels in batches for label in labels), list(range(count)), what="the rows"
        )
        for features, labels in batches:
            assert_equal(features, torch.stack([rows[int(label)][0] for label in labels]), what="a batch's features")


# ---------------------------------------------------------------- time_matmul


def check_timing(found: dict[str, Any], repeats: int, device: str) -> None:
    """The best of the repeated products, after a warm-up, by a clock of our own."""
    seconds, products = found["seconds"], found["products"]
    assert_that(type(seconds) is float, f"{seconds!r} is not a Python float")
    assert_that(len(products) > 0, "no product of n x n matrices was made")
    assert_equal(found["places"], [device], what="where the products were made")
    if not found["reads"]:  # a clock that nobody foresaw: the check by the real clock judges it
        assert_that(0 < seconds < math.inf, f"{seconds} is not a time that a product can take")
        return
    assert_that(
        len(products) > repeats,
        f"made {counted(len(products), 'product')} for {counted(repeats, 'repeat')}: "
        "one more is needed before them, to warm up",
    )
    took = ", ".join(f"{cost:g}" for cost in products)
    what = f"the best of {counted(repeats, 'product')}, which took {took} seconds in order"
    assert_close(seconds, min(products[-repeats:]), rtol=1e-2, what=what)


@exercise("devices.time_matmul", when="in which of the times counts")
@pytest.mark.parametrize("repeats", [None, 1, 2, 4, 6], ids=str)
def test_the_best_after_a_warm_up(submission: Submission, repeats: int | None) -> None:
    """With a simulated clock, on which the first product is slow and the others differ, the result is the shortest time
    of the repeated products; making the matrices is not timed."""
    args = () if repeats is None else (repeats,)
    found = submission.there(clock.timed, submission.time_matmul, 7, CPU, *args)
    check_timing(found, repeats or 3, "cpu")
    if repeats is None:
        three = submission.there(clock.timed, submission.time_matmul, 7, CPU, 3)
        assert_equal(found["products"], three["products"], what="how long the products took, with 3 repeats by default")


@exercise("devices.time_matmul", when="on a GPU")
@pytest.mark.parametrize("repeats", [1, 3])
def test_waits_for_the_gpu(submission: Submission, repeats: int) -> None:
    """On a GPU, which works while Python goes on, the clock is read only when the product is finished."""
    submission.there(devices.start, gpus=2, recording=True)
    found = submission.there(clock.timed, submission.time_matmul, 7, torch.device("cuda", 1), repeats)
    check_timing(found, repeats, "cuda:1")


@exercise("devices.time_matmul")
def test_on_the_cpu_by_the_real_clock(submission: Submission) -> None:
    """By the real clock, the result is a number of seconds that the product can take: more for larger matrices."""
    small, large = submission.time_matmul(16, CPU, 9), submission.time_matmul(384, CPU, 2)
    for seconds in (small, large):
        assert_that(type(seconds) is float and 0 < seconds < 5, f"{seconds!r} is not a time that this product can take")
    assert_that(
        small < large,
        f"{small!r} s for 16 x 16 matrices is not less than {large!r} s for 384 x 384, which is 13,824 times the work",
    )


@exercise("devices.time_matmul")
def test_timing_leaves_torchs_defaults(submission: Submission) -> None:
    """Afterwards new tensors are made where they were made before, and gradients are recorded."""
    on_machine(submission, 2)
    submission.time_matmul(8, torch.device("cuda", 1))
    assert_nothing_left(submission)


@exercise("devices.time_matmul")
@needs("gpu")
def test_on_a_real_gpu(submission: Submission) -> None:
    """On a real GPU the time is one that the product can take: only launching it is a hundred times faster."""
    n = 8192
    seconds = submission.time_matmul(n, torch.device("cuda", 0))
    fastest = 2 * n**3 / 4e15  # no GPU does more than 4e15 operations in float32 per second
    assert_that(
        type(seconds) is float and fastest < seconds < 5,
        f"{seconds!r} s for {n} x {n} matrices is too short for any GPU: the clock was read too early",
    )
