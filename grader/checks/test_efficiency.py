"""Checks of efficiency: mixed precision, accumulated gradients, loaders, and other items of the training checklist.

Never decide what the contract leaves open: how the loader orders its rows, where a wrapped model lies, what the
functions that return nothing return.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from grader.testkit import (
    Lines,
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    counted,
    devices,
    exercise,
    picture,
    probes,
    raises,
    recipes,
    seeds,
    situations,
)
from kit import checklist, restoring

CPU = torch.device("cpu")

SEEDS = seeds()
ONCE = settings(max_examples=1)
"""The drawn values differ with each seed of the grading."""

BITS_16 = 2**-7
"""By how much results of some operations in bfloat16, which has 8 bits of precision, may differ."""

# ---------------------------------------------------------------- amp_step


def amp(submission: Submission, seed: int, steps: int, *, stale: bool = True, bad: int = -1, **scaling: Any) -> None:
    """Steps over there and here: the same losses, weights, and scaler afterwards.

    Args:
        bad: the step whose input is not finite, so that the scaler must leave it out.
    """
    model, made = submission.there(checklist.watched_amp_model, seed), checklist.watched_amp_model(seed)
    if stale:
        model = submission.there(checklist.with_large_stale_grads, model, seed)
    optimizer, reference = (
        submission.there(recipes.optimizer, model, momentum=0.5),
        recipes.optimizer(made, momentum=0.5),
    )
    scaler, scaler_here = submission.there(checklist.scaler, **scaling), checklist.scaler(**scaling)
    found, expected = [], []
    for step, (x, y) in enumerate(recipes.batches([6] * steps, seed=seed)):
        x = x * (math.inf if step == bad else 3)
        found.append(submission.amp_step(model, x, y, optimizer, scaler, "cpu"))
        reference.zero_grad()
        with torch.autocast("cpu"):
            loss = F.cross_entropy(made(x), y)
        scaler_here.scale(loss).backward()
        scaler_here.step(reference)
        scaler_here.update()
        expected.append(loss.item())
    weights = submission.there(probes.weights, model)
    problems = submission.there(checklist.problems_seen, model)
    assert_that(not problems, "; ".join(problems))
    # The cross-entropy may be written by functions that run in 16 bits under autocast, such as log_softmax on the CPU.
    rough = BITS_16 if steps == 1 else 4 * BITS_16
    assert_close(found, expected, rtol=rough, atol=rough, what="the loss of each step")
    assert_close(weights, probes.weights(made), rtol=rough, atol=rough, what="the parameters")
    assert_equal(
        submission.there(checklist.scaler_state, scaler),
        checklist.scaler_state(scaler_here),
        what="the scaler's scale, and its count of good steps in a row",
    )


@exercise("efficiency.amp_step")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_one_step(submission: Submission, seed: int) -> None:
    """One step gives the same loss, weights and scaler as torch's recipe for mixed precision: forward and loss run
    under autocast, and backward does not."""
    amp(submission, seed, 1, stale=False)


@exercise("efficiency.amp_step")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_old_gradients_do_not_matter(submission: Submission, seed: int) -> None:
    """Gradients left over from before the call make no difference."""
    amp(submission, seed, 1)


@exercise("efficiency.amp_step")
@ONCE
@given(seed=SEEDS)
def test_the_scale_grows(submission: Submission, seed: int) -> None:
    """After some good steps in a row the scaler doubles its scale; the steps are the same as before."""
    amp(submission, seed, 5, scale=64.0, interval=2)


@exercise("efficiency.amp_step")
@ONCE
@given(seed=SEEDS)
def test_a_step_with_infinite_gradients_is_left_out(submission: Submission, seed: int) -> None:
    """A batch whose gradients are not finite changes no weight: the scaler skips the step and halves its scale."""
    amp(submission, seed, 3, bad=1, interval=5)


@exercise("efficiency.amp_step")
@ONCE
@given(seed=SEEDS)
def test_a_scaler_that_is_switched_off(submission: Submission, seed: int) -> None:
    """With a disabled scaler the step is the same, without scaling."""
    amp(submission, seed, 2, enabled=False)


# Several times: some losses are the same in 16 bits.
@exercise("efficiency.amp_step", when="on a CUDA device")
@settings(max_examples=4)
@given(seed=SEEDS)
def test_the_type_of_the_device_counts(submission: Submission, seed: int) -> None:
    """On a CUDA device the forward runs under CUDA's autocast, in float16."""
    submission.there(devices.start, gpus=1)
    model = submission.there(checklist.amp_model_on_cuda, seed)
    optimizer, scaler = submission.there(recipes.optimizer, model), submission.there(checklist.scaler, "cuda")
    ((x, y),) = recipes.batches([6], seed=seed + 2)
    found = submission.amp_step(model, devices.on(x, "cuda:0"), devices.on(y, "cuda:0"), optimizer, scaler, "cuda")
    with cuda(1):
        here = checklist.amp_model(seed, "cuda:0")
        with torch.autocast("cuda"):
            loss = F.cross_entropy(here(x.to("cuda:0")), y.to("cuda:0"))
        expected = loss.item()
    dtype = submission.there(checklist.dtype_of_logits, model)
    assert_equal(dtype, "torch.float16", what="the dtype of the logits under autocast")
    assert_close(found, expected, rtol=BITS_16, atol=BITS_16, what="the loss")


def cuda(gpus: int) -> AbstractContextManager[object]:
    """A machine with GPUs, for the check's own results."""
    return nullcontext() if devices.real(gpus) else devices.simulated(gpus)


# ---------------------------------------------------------------- accumulate_step


def accumulate(
    submission: Submission, recipe: tuple[Any, ...], made: nn.Module, steps: list[list[int]], seed: int, **sgd: float
) -> None:
    """Steps of micro-batches of these sizes over there, of whole batches here: the same losses and weights."""
    model = submission.there(*recipe)
    model = submission.there(recipes.with_stale_grads, model, seed)
    optimizer, reference = submission.there(recipes.optimizer, model, **sgd), recipes.optimizer(made, **sgd)
    found, expected = [], []
    for number, sizes in enumerate(steps):
        micro_batches = [(3 * x, y) for x, y in recipes.batches(sizes, seed=seed + 10 * number)]
        found.append(submission.accumulate_step(model, micro_batches, optimizer))
        reference.zero_grad()
        x, y = (torch.cat(parts) for parts in zip(*micro_batches, strict=True))
        loss = F.cross_entropy(made(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        reference.step()
        expected.append(loss.item())
    assert_close(submission.there(probes.weights, model), probes.weights(made), what="the parameters")
    assert_close(found, expected, rtol=1e-5, what="the mean loss per example, of each call")


@exercise("efficiency.accumulate_step")
@pytest.mark.parametrize("sizes", [[3, 3], [4, 4, 1], [1, 7], [2, 5, 3], [6]], ids=str)
@ONCE
@given(seed=SEEDS)
def test_as_one_whole_batch(submission: Submission, sizes: list[int], seed: int) -> None:
    """The step and the loss are those of the whole batch, whether micro-batches are equal or not."""
    accumulate(submission, (recipes.model, "mlp", seed), recipes.model("mlp", seed), [sizes], seed)


@exercise("efficiency.accumulate_step")
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4), seed=SEEDS)
@settings(max_examples=4)
def test_micro_batches_of_any_sizes(submission: Submission, sizes: list[int], seed: int) -> None:
    """The step and the loss are those of the whole batch, however many micro-batches there are."""
    accumulate(submission, (recipes.model, "mlp", seed), recipes.model("mlp", seed), [sizes], seed, lr=0.5)


@exercise("efficiency.accumulate_step")
@given(seed=SEEDS)
@settings(max_examples=2)
def test_one_step_of_the_optimizer(submission: Submission, seed: int) -> None:
    """The optimizer makes one step per call, at the end, also over several calls with momentum."""
    steps = [[2, 2, 2], [3, 1], [5]]
    accumulate(submission, (recipes.model, "mlp", seed), recipes.model("mlp", seed), steps, seed, momentum=0.9)


@exercise("efficiency.accumulate_step")
@pytest.mark.parametrize("kind", ["tied", "frozen"])
@ONCE
@given(seed=SEEDS)
def test_shared_and_frozen_parameters(submission: Submission, kind: str, seed: int) -> None:
    """It works with shared and with frozen weights."""
    accumulate(submission, (recipes.model, kind, seed), recipes.model(kind, seed), [[3, 2], [1, 4]], seed)


@exercise("efficiency.accumulate_step", when="in the memory for the graphs")
@given(sizes=st.lists(st.integers(1, 5), min_size=2, max_size=4), seed=SEEDS)
@settings(max_examples=3)
def test_one_graph_at_a_time(submission: Submission, sizes: list[int], seed: int) -> None:
    """It works if the memory holds the graph of the largest micro-batch, and no more; the model runs in the mode in
    which it is."""
    there, here = (checklist.model_in_memory, max(sizes), seed), checklist.model_in_memory(1000, seed)
    accumulate(submission, there, here, [sizes, sizes[::-1]], seed)


# ---------------------------------------------------------------- fast_loader


@exercise("efficiency.fast_loader")
@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize(("device", "gpus"), [("cpu", 0), ("cpu", 2), ("cuda", 1), ("cuda:1", 2), ("mps", 0)])
def test_settings_fit_the_device(submission: Submission, device: str, gpus: int, workers: int) -> None:
    """Memory is pinned for CUDA devices only, and workers are persistent when there are any."""
    words = {"without workers": workers == 0, "with one worker": workers == 1, "with workers": workers > 0}
    situations(submission, words | {"for a CUDA device": device.startswith("cuda")})
    submission.there(devices.start, gpus=gpus)
    loader = submission.fast_loader(submission.there(recipes.numbered, 8), 4, torch.device(device), workers)
    expected = {"pin_memory": device.startswith("cuda"), "persistent_workers": workers > 0, "num_workers": workers}
    assert_equal(submission.there(checklist.loader_facts, loader), expected)


@exercise("efficiency.fast_loader")
@pytest.mark.parametrize("batch_size", [1, 4, 6])
@pytest.mark.parametrize("rows", [12, 13])
def test_every_row_comes(submission: Submission, rows: int, batch_size: int) -> None:
    """The batches have the size that was passed, but perhaps the last one; in each epoch they contain every row of the
    dataset once, with its own label."""
    loader = submission.fast_loader(submission.there(recipes.numbered, rows), batch_size, CPU, 0)
    last = [rows % batch_size] if rows % batch_size else []
    for batches in submission.there(probes.epochs, loader, 2):
        sizes = [len(labels) for _, labels in batches]
        full = [batch_size] * (rows // batch_size)
        said = "the last batch, which is shorter, does not come: does `drop_last` leave it out?"
        assert_that(not last or sizes != full, said)
        assert_equal(sizes, full + last, what="sizes of batches")
        labels = [int(label) for _, labels in batches for label in labels]
        assert_equal(sorted(labels), list(range(rows)), what="the rows")
        features = torch.stack([recipes.numbered(rows)[label][0] for label in labels])
        assert_equal(torch.cat([x for x, _ in batches]), features, what="features of the rows")


# ---------------------------------------------------------------- align_up


@exercise("efficiency.align_up")
@given(n=st.integers(0, 70), multiple=st.integers(1, 20))
def test_the_least_multiple(submission: Submission, n: int, multiple: int) -> None:
    """The result is a multiple, not below n, and the least one."""
    assert_equal(submission.align_up(n, multiple), next(m for m in range(n, n + multiple) if m % multiple == 0))


@exercise("efficiency.align_up", when="without a second argument")
@pytest.mark.parametrize(("n", "expected"), [(50257, 50264), (8, 8), (9, 16), (0, 0), (1, 8)])
def test_eight_unless_told(submission: Submission, n: int, expected: int) -> None:
    """Without a second argument it is the next multiple of 8; multiples of 8, and 0, stay."""
    assert_equal(submission.align_up(n), expected)


@exercise("efficiency.align_up", when="for large numbers")
@pytest.mark.parametrize(("n", "multiple"), [(2**60 + 1, 8), (10**17 + 1, 3), (2**53 + 1, 2), (2**64 + 1, 8)])
def test_exact_for_large_numbers(submission: Submission, n: int, multiple: int) -> None:
    """The result is exact for large numbers."""
    assert_equal(submission.align_up(n, multiple), n + (-n) % multiple)


@exercise("efficiency.align_up")
@pytest.mark.parametrize(("n", "multiple"), [(-1, 8), (-8, 8), (5, 0), (5, -8), (0, 0)])
def test_sizes_that_make_no_sense(submission: Submission, n: int, multiple: int) -> None:
    """A negative n, or a multiple below 1, raises a ValueError."""
    with raises(ValueError):
        submission.align_up(n, multiple)


@picture(
    "efficiency.align_up", title="Sizes and what they are padded to: between the stairs and the line is what is wasted"
)
def stairs(submission: Submission) -> Lines:
    sizes = list(range(1, 49))
    series = {"padded to a multiple of 8": [submission.align_up(n, 8) for n in sizes], "the size itself": sizes}
    return Lines(series=series, x=sizes, x_label="size", y_label="padded size")


# ---------------------------------------------------------------- configure_cudnn


@exercise("efficiency.configure_cudnn")
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("fixed_shapes", [False, True])
def test_on_and_off(submission: Submission, fixed_shapes: bool, before: bool) -> None:
    """Whatever its value was before, the switch is on afterwards for fixed shapes, and off otherwise."""
    found = submission.there(checklist.benchmark_after, submission.configure_cudnn, fixed_shapes, before)
    assert_equal(found, fixed_shapes, what="torch.backends.cudnn.benchmark")


# ---------------------------------------------------------------- wrap_data_parallel


@exercise("efficiency.wrap_data_parallel")
@pytest.mark.parametrize("gpus", [0, 1, 2, 3, 4])
def test_only_with_more_than_one_gpu(submission: Submission, gpus: int) -> None:
    """With two GPUs or more the result is the model inside a DataParallel over all of them, else the model itself."""
    submission.there(devices.start, gpus=gpus)
    model = submission.there(recipes.model, "mlp", 1)
    wrapped = submission.wrap_data_parallel(model)
    expected = "the model in a DataParallel" if gpus > 1 else "the model"
    assert_equal(
        submission.there(checklist.inner_module, model, wrapped), expected, what=f"with {counted(gpus, 'GPU')}"
    )
    flags = submission.there(probes.training_flags, model)
    assert_equal(flags, probes.training_flags(recipes.model("mlp", 1)), what="the model's training flags afterwards")
    if gpus > 1:
        assert_equal(submission.there(checklist.spread_over, wrapped), list(range(gpus)), what="the GPUs that are used")


# ---------------------------------------------------------------- clear_grads


@exercise("efficiency.clear_grads")
@pytest.mark.parametrize("kind", ["mlp", "tied", "frozen"])
def test_every_gradient_is_none(submission: Submission, kind: str) -> None:
    """Afterwards .grad is None for every parameter of every group; the parameters themselves do not change."""
    model = submission.there(recipes.with_stale_grads, submission.there(recipes.model, kind, 1))
    submission.clear_grads(submission.there(checklist.grouped_sgd, model))
    names = [name for name, _ in recipes.model(kind, 1).named_parameters()]
    assert_equal(submission.there(probes.model_grads, model), dict.fromkeys(names), what=".grad by name")
    here = recipes.model(kind, 1)
    assert_equal(submission.there(probes.weights, model), probes.weights(here), what="the parameters afterwards")
    assert_equal(submission.there(probes.trainable, model), probes.trainable(here), what="requires_grad afterwards")


@exercise("efficiency.clear_grads", when="for a parameter that was frozen after a backward")
def test_gradients_of_frozen_parameters(submission: Submission) -> None:
    """A parameter that was frozen after a backward loses its gradient too."""
    model = submission.there(recipes.with_stale_grads, submission.there(recipes.model, "mlp", 1))
    submission.clear_grads(submission.there(checklist.grouped_sgd, submission.there(checklist.frozen, model)))
    names = [name for name, _ in recipes.model("mlp", 1).named_parameters()]
    assert_equal(submission.there(probes.model_grads, model), dict.fromkeys(names), what=".grad by name")


@exercise("efficiency.clear_grads", when="for parameters that the optimizer does not have")
def test_other_parameters_keep_theirs(submission: Submission) -> None:
    """A parameter that the optimizer does not have keeps its gradient."""
    model = submission.there(recipes.with_stale_grads, submission.there(recipes.model, "mlp", 1))
    submission.clear_grads(submission.there(checklist.grouped_sgd, model, leave_out="2.weight"))
    here = recipes.with_stale_grads(recipes.model("mlp", 1))
    expected = {name: grad if name == "2.weight" else None for name, grad in probes.model_grads(here).items()}
    assert_equal(submission.there(probes.model_grads, model), expected, what=".grad by name")


@exercise("efficiency.clear_grads", when="in the optimizer's momentum")
@ONCE
@given(seed=SEEDS)
def test_momentum_stays(submission: Submission, seed: int) -> None:
    """The optimizer keeps its state (momentum): training goes on as before."""
    model, here = submission.there(recipes.model, "linear", seed), recipes.model("linear", seed)
    optimizer, reference = submission.there(checklist.grouped_sgd, model), checklist.grouped_sgd(here)
    for step in (1, 2):
        submission.there(recipes.with_stale_grads, model, seed + step)
        submission.there(checklist.step, optimizer)
        submission.clear_grads(optimizer)
        recipes.with_stale_grads(here, seed + step)
        checklist.step(reference)
        reference.zero_grad()
    assert_close(submission.there(probes.weights, model), probes.weights(here), what="the parameters")


# ---------------------------------------------------------------- inference

FLAGS = [{"": False}, {"1": False}, {"": False, "0": False, "2": False}, {}]
"""Training flags by module name: the model is off, one of its modules is, some are, none is."""


def in_eval_mode(kind: str, seed: int, x: Tensor) -> Tensor:
    """The output of the model in eval mode."""
    with torch.no_grad():
        found: Tensor = recipes.model(kind, seed).eval()(x)
    return found


@exercise("efficiency.inference")
@pytest.mark.parametrize("kind", ["mlp", "dropout", "functional", "hooked"])
@ONCE
@given(seed=SEEDS)
def test_the_output_in_eval_mode(submission: Submission, kind: str, seed: int) -> None:
    """The output is the model's in eval mode, with its hooks, and records no graph."""
    x = recipes.normal((5, recipes.FEATURES), seed + 1)
    found = submission.inference(submission.there(recipes.model, kind, seed), x)
    assert_close(found, in_eval_mode(kind, seed, x))
    assert_that(not found.requires_grad, "the output has a graph")


@exercise("efficiency.inference", when="in the mode of the forward")
@given(n=st.integers(1, 5), seed=SEEDS, flags=st.sampled_from(FLAGS))
@settings(max_examples=6)
def test_forward_in_inference_mode(submission: Submission, n: int, seed: int, flags: dict[str, bool]) -> None:
    """The forward runs in inference mode, with every submodule in eval mode; here the modules show it in their
    outputs, and afterwards they give the same outputs as before."""
    x = recipes.normal((n, recipes.FEATURES), seed)
    model, here = (
        submission.there(checklist.mode_dependent_model, seed, flags),
        checklist.mode_dependent_model(seed, flags),
    )
    found = submission.inference(model, x)
    before = here(x).detach()
    with torch.inference_mode():
        expected = here.eval()(x)
    assert_close(found, expected, what="the output of a model whose modules add numbers in the wrong mode")
    assert_close(model(x).detach(), before, what="what model(x) gives afterwards, in the mode that it was in")


@exercise("efficiency.inference")
@pytest.mark.parametrize("flags", FLAGS, ids=["top off", "one off", "some off", "all on"])
def test_every_flag_is_as_before(submission: Submission, flags: dict[str, bool]) -> None:
    """The training flag of the model and of each submodule is the same as before; so are parameters, buffers and
    gradients."""
    model, here = (recipes.model, "dropout", 1, flags), recipes.model("dropout", 1, flags)
    there = submission.there(recipes.with_stale_grads, submission.there(*model), 3)
    submission.inference(there, recipes.normal((3, recipes.FEATURES)))
    here = recipes.with_stale_grads(here, 3)
    assert_equal(submission.there(probes.training_flags, there), probes.training_flags(here), what="training flags")
    assert_equal(submission.there(probes.state, there), probes.state(here), what="the model's state_dict")
    assert_equal(submission.there(probes.model_grads, there), probes.model_grads(here), what="gradients afterwards")
    assert_equal(submission.there(probes.trainable, there), probes.trainable(here), what="requires_grad afterwards")


@exercise("efficiency.inference")
@pytest.mark.parametrize("recording", [True, False], ids=["on", "off"])
def test_all_is_as_before(submission: Submission, recording: bool) -> None:
    """Of parts within parts too: flags, frozen weights and gradients; whether gradients are recorded is as the caller
    had it, off or on."""
    x = recipes.normal((4, recipes.FEATURES), 3)
    found = submission.there(restoring.after, submission.inference, recording, x)
    assert_equal(found, restoring.untouched(recording), what="the model and torch afterwards")


@exercise("efficiency.inference", when="from the second call with the same model on")
def test_the_same_model_with_other_weights(submission: Submission) -> None:
    """Called again with the same model and x, it gives the output of the weights that the model has by then."""
    x = recipes.normal((4, recipes.FEATURES), 3)
    found = submission.there(restoring.before_and_after_a_change, submission.inference, x)
    expected = restoring.before_and_after_a_change(lambda model, x: model.eval()(x).detach(), x)
    assert_close(found, expected, what="the output", each=("the first call", "the call after the weights have changed"))
