"""Checks of language_model: a model with weights of the check's choice, small readers that are handed over, texts."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from checks import expected
from hypothesis import given, settings
from hypothesis import strategies as st
from letters_kit import models, probes
from torch import Tensor

from grader.testkit import (
    Lines,
    Remote,
    Submission,
    assert_close,
    assert_equal,
    assert_that,
    devices,
    exercise,
    labels,
    load_weights,
    picture,
    raises,
    recipes,
    seeds,
    tensors,
    value_and_grad,
)
from grader.testkit import probes as common

FEW = settings(max_examples=6)
ONCE = settings(max_examples=1)

# ---------------------------------------------------------------- TinyGPT


@exercise("language_model.TinyGPT")
@given(ids=labels("b t", 6, t=(1, 5)), heads=st.sampled_from([1, 2]), layers=st.integers(1, 3), seed=seeds())
@settings(max_examples=10)
def test_logits_for_any_weights(submission: Submission, ids: Tensor, heads: int, layers: int, seed: int) -> None:
    """Embeddings are added, go through all blocks in order and the norm, and meet all rows of `tokens`."""
    weights = expected.drawn(expected.gpt_shapes(6, 5, 4, layers), seed)
    model = submission.TinyGPT(6, 5, 4, heads, layers)
    load_weights(submission, model, weights)
    assert_close(model(ids), expected.gpt(ids, weights, heads, layers), rtol=1e-3, atol=1e-3)


@exercise("language_model.TinyGPT")
def test_first_weights_are_small(submission: Submission) -> None:
    """Both embeddings begin with standard deviation 0.02, so that no letter is preferred at first."""
    model = submission.TinyGPT(50, 40, 64, 2, 1)
    for name in ("tokens", "positions"):
        found = submission.there(probes.spread, getattr(model, name).weight)
        assert_that(0.017 < found < 0.023, f"the weight of `{name}` begins with a standard deviation of {found:.3f}")


@exercise("language_model.TinyGPT")
def test_the_context_is_the_longest_text(submission: Submission) -> None:
    """Texts up to `context` are read, which is an attribute; a longer one raises ValueError."""
    model = submission.TinyGPT(5, 4, 4, 2, 1)
    assert_equal(model.context, 4, what="the attribute context")
    assert_equal(tuple(model(torch.zeros(2, 4, dtype=torch.int64)).shape), (2, 4, 5), what="the shape of the logits")
    with raises(ValueError):
        model(torch.zeros(2, 5, dtype=torch.int64))


@exercise("language_model.TinyGPT", hidden=True)
@given(ids=labels("2 3", 5), seed=seeds())
@settings(max_examples=2)
def test_gradients_of_all_parts(submission: Submission, ids: Tensor, seed: int) -> None:
    """All parameters get a gradient; that of `tokens` has a part from each end of the model."""
    weights = expected.drawn(expected.gpt_shapes(5, 4, 4, 1), seed)
    model = submission.TinyGPT(5, 4, 4, 2, 1)
    load_weights(submission, model, weights)
    leaves = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    total = expected.gpt(ids, leaves, 2, 1).square().sum()
    right = dict(zip(leaves, torch.autograd.grad(total, list(leaves.values())), strict=True))
    found = {_tied(name): grad for name, grad in submission.there(probes.gradients, model, ids).items()}
    for name, grad in right.items():
        size = float(grad.abs().max())
        assert_close(found.get(name), grad, atol=2e-3 * max(size, 1.0), what=f"the gradient of `{name}`")


def _tied(name: str) -> str:
    """The name of a parameter; a tied one may go by the name that the head gives it."""
    first = name.split(".")[0]
    return name if first in ("positions", "blocks", "norm") else "tokens.weight"


@exercise("language_model.TinyGPT")
def test_model_on_a_gpu(submission: Submission) -> None:
    """On a GPU (simulated, if there is none) it reads letters there, and the logits are there."""
    submission.there(devices.start, gpus=1)
    weights, ids = expected.drawn(expected.gpt_shapes(5, 4, 4, 1), 2), torch.tensor([[0, 4, 2]])
    model = submission.TinyGPT(5, 4, 4, 2, 1)
    load_weights(submission, model, weights)
    found = model.to(torch.device("cuda", 0))(devices.on(ids, "cuda:0"))
    assert_close(found, devices.on(expected.gpt(ids, weights, 2, 1), "cuda:0"), rtol=1e-3, atol=1e-3)


# ---------------------------------------------------------------- lm_loss


@exercise("language_model.lm_loss")
def test_one_of_four_letters(submission: Submission) -> None:
    """Equal logits for four letters give the loss log 4; places to ignore change nothing."""
    found = submission.lm_loss(torch.zeros(1, 3, 4), torch.tensor([[3, -100, -100]]))
    assert_close(found, torch.tensor(math.log(4)))


@exercise("language_model.lm_loss")
@given(
    logits=tensors("b t 5", kind=("normal", "small_ints")),
    targets=labels("b t", 5),
    ignore=st.sampled_from([-100, 2, -1]),
    seed=seeds(),
)
def test_mean_over_what_counts(submission: Submission, logits: Tensor, targets: Tensor, ignore: int, seed: int) -> None:
    """It is the mean over all places that are not ignored, each counting the same; any number can mean ignore."""
    targets[0, 0] = 1
    drop = recipes.normal(targets.shape, seed) > 0.5
    drop[0, 0] = False
    targets = targets.masked_fill(drop, ignore)
    counts = targets != ignore
    losses = -logits.log_softmax(-1)[counts].gather(1, targets[counts][:, None])
    assert_close(submission.lm_loss(logits, targets, ignore), losses.mean())


@exercise("language_model.lm_loss")
@given(logits=tensors("b t 4", kind="normal"), targets=labels("b t", 4))
@FEW
def test_loss_has_a_graph(submission: Submission, logits: Tensor, targets: Tensor) -> None:
    """The gradient at a place is softmax minus one-hot, over the number of places; where ignored, it is 0."""
    targets[-1, -1] = -100
    if (targets != -100).sum() == 0:
        targets[0, 0] = 0
    counts = targets != -100
    right = (logits.softmax(-1) - F.one_hot(targets.clamp_min(0), 4)) * counts[..., None] / counts.sum()
    assert_close(value_and_grad(submission.lm_loss, logits, targets).grads[0], right)


# ---------------------------------------------------------------- batches


def passes(submission: Submission, *args: Any) -> list[tuple[Tensor, Tensor]]:
    """The batches of one pass, as plain pairs."""
    return [(pair[0], pair[1]) for pair in submission.batches(*args)]


def windows(text: Tensor, context: int) -> list[list[int]]:
    """All windows of a text, sorted."""
    return sorted(text[start : start + context].tolist() for start in range(len(text) - context + 1))


@exercise("language_model.batches")
@given(n=st.integers(3, 14), context=st.integers(1, 4), batch=st.integers(1, 5), seed=seeds())
def test_every_window_once(submission: Submission, n: int, context: int, batch: int, seed: int) -> None:
    """A pass has each window once; each target is the letter after its input; batches are full, but for the last."""
    text = recipes.labels(n + context, 100, seed)
    found = passes(submission, text, context, batch, seed % 1000)
    sizes = [len(inputs) for inputs, _ in found]
    count = n
    right = [batch] * (count // batch) + [count % batch] * (count % batch > 0)
    assert_equal(sizes, right, what="windows in each batch")
    rows = [torch.cat([i, t[:, -1:]], dim=1) for i, t in found if i.shape == t.shape]
    assert_equal(sorted(torch.cat(rows).tolist()), windows(text, context + 1), what="windows with their last target")
    for inputs, targets in found:
        assert_equal((inputs.dtype, targets.dtype), (torch.int64, torch.int64), what="dtypes of a batch")
        assert_equal(targets[:, :-1], inputs[:, 1:], what="targets but for the last, and inputs but for the first")


@exercise("language_model.batches")
@given(seed=seeds())
@FEW
def test_shuffled_by_the_seed(submission: Submission, seed: int) -> None:
    """The same seed gives the same order, another one another order, and neither is the order of the text."""
    text = torch.arange(60)
    orders = [
        torch.cat([inputs for inputs, _ in passes(submission, text, 2, 7, one)])[:, 0] for one in (seed, seed, seed + 1)
    ]
    assert_equal(orders[1], orders[0], what="the order of a second pass with the same seed")
    assert_that(not torch.equal(orders[2], orders[0]), "two seeds give the same order")
    assert_that(not torch.equal(orders[0], torch.arange(58)), "the windows are in the order of the text")


@exercise("language_model.batches")
@given(seed=seeds())
@ONCE
def test_global_random_numbers_stay(submission: Submission, seed: int) -> None:
    """torch's global random numbers are as if it had never been called."""
    submission.there(common.start_global, seed)
    passes(submission, torch.arange(9), 2, 3, 5)
    found = submission.there(common.draw_from_global)
    submission.there(common.start_global, seed)
    assert_equal(found, submission.there(common.draw_from_global), what="the next global random numbers")


@exercise("language_model.batches")
@pytest.mark.parametrize("n", [3, 2])
def test_a_text_without_a_window(submission: Submission, n: int) -> None:
    """A text that is not longer than the context raises ValueError."""
    with raises(ValueError):
        passes(submission, torch.arange(n), 3, 2, 0)


# ---------------------------------------------------------------- generate


def written_here(seed: int, ids: Tensor, n: int) -> Tensor:
    """What a reader writes at temperature 0."""
    model = models.reader(seed).eval()
    for _ in range(n):
        with torch.no_grad():
            logits = model(ids[:, -model.context :])[:, -1]
        ids = torch.cat([ids, logits.max(dim=1, keepdim=True).indices], dim=1)
    return ids


@exercise("language_model.generate", points=2)
@given(t=st.integers(1, 3), n=st.integers(0, 2), seed=seeds())
def test_the_best_letter_at_temperature_0(submission: Submission, t: int, n: int, seed: int) -> None:
    """At temperature 0 each new letter is the one with the largest logit of the last place, in eval mode."""
    ids = models.letters((2, t), seed)
    model = submission.there(models.reader, seed)
    assert_equal(submission.generate(model, ids, n, 0), written_here(seed, ids, n))


@exercise("language_model.generate")
@given(n=st.integers(3, 9), seed=seeds())
@FEW
def test_a_text_longer_than_the_context(submission: Submission, n: int, seed: int) -> None:
    """A text may become longer than the context: the model then reads its last letters, and all are returned."""
    ids = models.letters((3, 4), seed)
    model = submission.there(models.reader, seed)
    assert_equal(submission.generate(model, ids, n, 0.0), written_here(seed, ids, n))


def frequencies(
    submission: Submission, seed: int, temperature: float | None, top_k: int | None
) -> tuple[Tensor, Tensor]:
    """How often each letter was drawn of 4,000, and its probability; without a temperature, by the default."""
    ids = models.letters((1, 3), seed)
    model = submission.there(models.reader, seed)
    source = submission.there(models.generator, seed)
    given = {} if temperature is None else {"temperature": temperature, "top_k": top_k}
    found = submission.generate(model, ids.expand(4000, 3).contiguous(), 1, generator=source, **given)
    assert_equal(tuple(found.shape), (4000, 4), what="the shape of the result")
    with torch.no_grad():
        logits = models.reader(seed).eval()(ids)[0, -1]
    kept = logits if top_k is None else logits.masked_fill(logits < logits.sort().values[-top_k], -math.inf)
    return torch.bincount(found[:, -1], minlength=models.VOCAB) / 4000, (kept / (temperature or 1.0)).softmax(0)


@exercise("language_model.generate", points=2)
@pytest.mark.parametrize("temperature", [None, 0.4, 3.0])
@given(seed=seeds())
@ONCE
def test_drawn_by_the_softmax(submission: Submission, temperature: float | None, seed: int) -> None:
    """Letters are drawn by the softmax of the logits over the temperature, 1 if it is left out: 4,000 draws have these
    frequencies."""
    found, right = frequencies(submission, seed, temperature, None)
    assert_close(found, right, rtol=0.0, atol=0.05, what="the frequency of each letter")


@exercise("language_model.generate")
@pytest.mark.parametrize("top_k", [1, 3, models.VOCAB])
@given(seed=seeds())
@ONCE
def test_only_the_k_best(submission: Submission, top_k: int, seed: int) -> None:
    """With top_k only the k letters with the largest logits are drawn, by their softmax."""
    found, right = frequencies(submission, seed, 2.0, top_k)
    assert_that(not bool(((found > 0) & (right == 0)).any()), f"letters were drawn that are not among the best {top_k}")
    assert_close(found, right, rtol=0.0, atol=0.05, what="the frequency of each letter")


@exercise("language_model.generate")
@given(seed=seeds())
@settings(max_examples=2)
def test_the_generator_decides(submission: Submission, seed: int) -> None:
    """The same generator gives the same text, another one another text, and the global one does not move."""
    ids = models.letters((1, 2), seed)
    model = submission.there(models.reader, seed)
    submission.there(common.start_global, 3)
    texts = [
        submission.generate(model, ids, 40, 2.0, None, submission.there(models.generator, one))
        for one in (seed, seed, seed + 1)
    ]
    found = submission.there(common.draw_from_global)
    submission.there(common.start_global, 3)
    assert_equal(texts[1], texts[0], what="the text for a second generator with the same seed")
    assert_that(not torch.equal(texts[2], texts[0]), "two generators give the same text")
    assert_equal(found, submission.there(common.draw_from_global), what="the next global random numbers")


def check_left_as_it_was(submission: Submission, model: Remote, seed: int) -> None:
    flags = submission.there(common.training_flags, model)
    assert_equal(flags, common.training_flags(models.reader(seed)), what="training flags afterwards")


@exercise("language_model.generate", hidden="all")
@given(seed=seeds())
@ONCE
def test_model_is_left_as_it_was(submission: Submission, seed: int) -> None:
    """No graph is recorded, and all training flags are as before."""
    model = submission.there(models.reader, seed)
    seen = submission.there(common.forward_modes, submission.generate, model, models.letters((1, 2), seed), 2, 0.0)
    assert_equal(seen, {"training": [False, False], "grad": [False, False]}, what="the modes of the two forward passes")
    check_left_as_it_was(submission, model, seed)


# ---------------------------------------------------------------- perplexity


@exercise("language_model.perplexity")
@given(n=st.integers(2, 17), seed=seeds())
def test_of_a_text_of_any_length(submission: Submission, n: int, seed: int) -> None:
    """It is e to the mean loss of all letters but the first, read in pieces, each letter counting the same."""
    ids = models.letters((n,), seed)
    model = models.reader(seed).eval()
    losses = []
    with torch.no_grad():
        for start in range(0, n - 1, model.context):
            piece = ids[start : start + model.context + 1]
            losses += (-model(piece[None, :-1])[0].log_softmax(-1).gather(1, piece[1:, None])).flatten().tolist()
    found = submission.perplexity(submission.there(models.reader, seed), ids)
    assert_close(found, math.exp(sum(losses) / len(losses)), rtol=1e-4)


@exercise("language_model.perplexity")
@given(seed=seeds())
@ONCE
def test_flags_and_graph(submission: Submission, seed: int) -> None:
    """The model is measured in eval mode without a graph, and all its training flags are as before."""
    model = submission.there(models.reader, seed)
    seen = submission.there(common.forward_modes, submission.perplexity, model, models.letters((9,), seed))
    assert_that(not any(seen["training"]), "the model was measured in training mode")
    assert_that(not any(seen["grad"]), "the model recorded a graph")
    check_left_as_it_was(submission, model, seed)


# ---------------------------------------------------------------- overfit

TEXTS = ["ab", "a boat, a wind, a harbour"]


@exercise("language_model.overfit")
@given(seed=seeds())
@ONCE
def test_first_loss_and_few_steps(submission: Submission, seed: int) -> None:
    """The first loss is that of a model that knows nothing: about the log of the number of letters; losses are
    floats."""
    losses, written = submission.overfit("one fish, two fish", 3, seed)
    letters = len(set("one fish, two fish"))
    assert_that(
        type(losses[0]) is float and abs(losses[0] - math.log(letters)) < 0.3,
        f"the first loss is {losses[0]}, with {letters} letters",
    )
    assert_equal(len(written), len("one fish, two fish"), what="the length of what was written")
    assert_equal(written[0], "o", what="the first letter of what was written")
    assert_that(written != "one fish, two fish", "after 3 steps no model knows the text: return what the model writes")


@exercise("language_model.overfit", hidden=True)
@given(seed=seeds())
@ONCE
def test_the_seed_decides(submission: Submission, seed: int) -> None:
    """The same seed gives the same losses and the same text, and another one other losses."""
    one, again, other = (submission.overfit("one fish, two fish", 2, number) for number in (seed, seed, seed + 1))
    assert_close(again, one, what="losses and text of a second run with the same seed")
    assert_that(one[0] != other[0], "two seeds give the same losses")


@exercise("language_model.overfit")
@pytest.mark.parametrize("text", TEXTS)
@given(seed=seeds())
@ONCE
def test_knows_a_text_by_heart(submission: Submission, text: str, seed: int) -> None:
    """After 80 steps the last loss is below 0.1, and the model writes the text from its first letter on."""
    losses, written = submission.overfit(text, 80, seed)
    assert_equal(len(losses), 80, what="how many losses there are")
    assert_that(losses[-1] < 0.1, f"the last loss is {losses[-1]:.3f}")
    assert_equal(written, text, what="the text that was written")


# ---------------------------------------------------------------- the picture


@picture("language_model.overfit", title="Loss while a text is learned by heart")
def loss_by_step(submission: Submission) -> Lines:
    """The losses of three texts: the more letters they have, the higher is the first one."""
    texts = ["ababab", "the sea was calm", "a boat, a wind, a harbour"]
    return Lines(series={text: submission.overfit(text, 40, 1)[0] for text in texts}, x_label="step", y_label="loss")
