"""Checks of parameters: building a small network, counting, measuring, freezing and seeding.

Never decide what the contract leaves open: whether a shape is a `torch.Size` or a plain tuple in `parameter_table`,
and how parameters that were frozen before count in `freeze`.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.testkit import (
    Diagram,
    Submission,
    assert_close,
    assert_equal,
    assert_global_numbers,
    assert_that,
    exercise,
    observe,
    picture,
    probes,
    raises,
    recipes,
    seeds,
    situations,
)
from kit import parameters, restoring

KINDS = ["linear", "mlp", "norm", "tied", "frozen", "buffers", "names", "empty"]
SEEDS = seeds()

# ---------------------------------------------------------------- NeuralNetwork


@exercise("parameters.NeuralNetwork")
@pytest.mark.parametrize(("num_inputs", "num_outputs", "count"), [(50, 3, 2213), (2, 2, 752)])
def test_number_of_parameters(submission: Submission, num_inputs: int, num_outputs: int, count: int) -> None:
    """NeuralNetwork(50, 3) has 2213 parameters, NeuralNetwork(2, 2) has 752."""
    submission.there(probes.start_global, 0)
    model = submission.NeuralNetwork(num_inputs, num_outputs)
    found = submission.there(probes.weights, model)
    assert_equal(sum(weight.numel() for weight in found), count, what="numbers in the model's parameters")


@exercise("parameters.NeuralNetwork")
@pytest.mark.parametrize(("num_inputs", "num_outputs"), [(50, 3), (7, 1)])
def test_the_five_layers(submission: Submission, num_inputs: int, num_outputs: int) -> None:
    """.layers is an nn.Sequential of Linear, ReLU, Linear, ReLU, Linear, with 30 and 20 hidden units."""
    layers = submission.NeuralNetwork(num_inputs, num_outputs).layers
    kinds = submission.there(parameters.layer_kinds, layers)
    expected = [f"Linear({num_inputs}, 30)", "ReLU", "Linear(30, 20)", "ReLU", f"Linear(20, {num_outputs})"]
    assert_equal(kinds, expected, what=".layers")
    sequential = submission.there(probes.is_a, layers, "torch.nn.Sequential")
    assert_equal(sequential, True, what="whether .layers is an nn.Sequential")


def drawn_weights(num_inputs: int, num_outputs: int, seed: int) -> list[Tensor]:
    """Weights and biases of the three Linear layers."""
    shapes = [shape for a, b in pairwise((num_inputs, 30, 20, num_outputs)) for shape in ((b, a), (b,))]
    return [0.5 * recipes.normal(shape, seed + index) for index, shape in enumerate(shapes)]


def outputs_of_layers(x: Tensor, weights: list[Tensor]) -> list[Tensor]:
    """The output of the first layer, of the first two, and so on."""
    outputs: list[Tensor] = []
    for index in (0, 2, 4):
        x = x @ weights[index].T + weights[index + 1]
        outputs += [x, x := torch.relu(x)]
    return outputs[:5]


SIZES = {"n": st.integers(1, 5), "num_inputs": st.integers(1, 6), "num_outputs": st.integers(1, 4), "seed": SEEDS}


@exercise("parameters.NeuralNetwork")
@settings(max_examples=10)
@given(**SIZES)
def test_forward_gives_raw_logits(submission: Submission, n: int, num_inputs: int, num_outputs: int, seed: int) -> None:
    """The output is computed from the numbers that the parameters hold, with ReLU between the layers and nothing after
    the last one; .layers, called one after another or all at once, give the same."""
    x, weights = 2 * recipes.normal((n, num_inputs), seed), drawn_weights(num_inputs, num_outputs, seed)
    submission.there(probes.start_global, seed)
    model = submission.NeuralNetwork(num_inputs, num_outputs)
    weight = recipes.normal((n, num_outputs), seed)
    count, found, on_the_way, _ = submission.there(parameters.with_weights, model, weights, x, weight)
    assert_equal(count, 6, what="how many parameters three Linear layers have")
    expected = outputs_of_layers(x, weights)
    assert_close(found, expected[-1], rtol=1e-3, atol=1e-4)
    what = "the outputs of each of .layers, and of all"
    assert_close(on_the_way, [*expected, expected[-1]], rtol=1e-3, atol=1e-4, what=what)


@exercise("parameters.NeuralNetwork", when="in the gradients")
@settings(max_examples=5)
@given(**SIZES)
def test_gradients_reach_every_layer(
    submission: Submission, n: int, num_inputs: int, num_outputs: int, seed: int
) -> None:
    """The network can be trained: backward() from its output gives each of the six parameters its gradient."""
    x, weights = 2 * recipes.normal((n, num_inputs), seed), drawn_weights(num_inputs, num_outputs, seed)
    submission.there(probes.start_global, seed)
    model = submission.NeuralNetwork(num_inputs, num_outputs)
    weight = recipes.normal((n, num_outputs), seed)
    *_, grads = submission.there(parameters.with_weights, model, weights, x, weight)
    leaves = [value.requires_grad_(True) for value in weights]
    expected = torch.autograd.grad((outputs_of_layers(x, leaves)[-1] * weight).sum(), leaves)
    assert_close(grads, list(expected), rtol=1e-3, atol=1e-3, what="the gradients of the parameters")


@exercise("parameters.NeuralNetwork", when="in the first weights")
@settings(max_examples=3)
@given(seed=SEEDS)
def test_weights_of_its_own(submission: Submission, seed: int) -> None:
    """Each network begins with random weights of its own: no two units are alike, no two networks are, and changing
    one leaves the other as it is."""
    submission.there(probes.start_global, seed)
    one, other = submission.NeuralNetwork(4, 3), submission.NeuralNetwork(4, 3)
    first, second = submission.there(probes.weights, one), submission.there(probes.weights, other)
    submission.there(parameters.change, one)
    for index in (0, 2, 4):
        rows = [tuple(row) for row in torch.cat([first[index], second[index]]).tolist()]
        assert_that(len(set(rows)) == len(rows), f"units of layer {index} begin with the same weights")
    assert_equal(submission.there(probes.weights, other), second, what="a network's weights after another one changed")


# ---------------------------------------------------------------- count_parameters


def numbers_in(kind: str, trainable_only: bool) -> int:
    """How many numbers the parameters of a model of the zoo hold."""
    return sum(p.numel() for p in recipes.model(kind).parameters() if p.requires_grad or not trainable_only)


@exercise("parameters.count_parameters")
@pytest.mark.parametrize("kind", KINDS)
def test_each_number_once(submission: Submission, kind: str) -> None:
    """Every parameter counts once, shared ones too, at any depth of the model; buffers never count."""
    model = submission.there(recipes.model, kind)
    found = submission.count_parameters(model, trainable_only=False)
    assert_equal(found, numbers_in(kind, False), what="the count with trainable_only=False")


@exercise("parameters.count_parameters", when="with frozen parameters")
@pytest.mark.parametrize("kind", ["frozen", "norm", "tied"])
def test_frozen_only_when_asked_for(submission: Submission, kind: str) -> None:
    """Frozen parameters count with trainable_only=False, and do not count by default."""
    model = submission.there(recipes.model, kind)
    found = [submission.count_parameters(model), submission.count_parameters(model, True)]
    found.append(submission.count_parameters(model, False))
    expected = [numbers_in(kind, True), numbers_in(kind, True), numbers_in(kind, False)]
    assert_equal(found, expected, what="the count", each=("by default", "with True", "with trainable_only=False"))
    trainable = submission.there(probes.trainable, model)
    assert_equal(trainable, probes.trainable(recipes.model(kind)), what="requires_grad of each parameter afterwards")


@exercise("parameters.count_parameters", when="with modules inside of modules")
@settings(max_examples=6)
@given(seed=SEEDS)
def test_any_model(submission: Submission, seed: int) -> None:
    """Modules may be nested in any way, with parameters, buffers and shared parameters at any depth."""
    model = submission.there(parameters.nested, seed, frozen=True, shared=True)
    here = parameters.nested(seed, frozen=True, shared=True)
    found = [submission.count_parameters(model, trainable_only=False), submission.count_parameters(model)]
    expected = [sum(p.numel() for p in here.parameters()), sum(p.numel() for p in here.parameters() if p.requires_grad)]
    assert_equal(found, expected, what="the count", each=("with trainable_only=False", "by default"))


@exercise("parameters.count_parameters", when="on the meta device")
@pytest.mark.parametrize("kind", ["mlp", "tied", "names"])
def test_on_the_meta_device(submission: Submission, kind: str) -> None:
    """A model on the meta device has the same number of parameters, although its tensors have no memory."""
    model = submission.there(parameters.on_meta, kind)
    assert_equal(submission.count_parameters(model), numbers_in(kind, True))


@exercise("parameters.count_parameters", when="for models larger than any memory")
@given(sizes=st.lists(st.integers(1, 2_000_000), min_size=2, max_size=4), bias=st.booleans())
def test_larger_than_any_memory(submission: Submission, sizes: list[int], bias: bool) -> None:
    """Counting allocates no memory: it works for models that are too large for any computer."""
    model = submission.there(recipes.mlp, sizes, bias=bias, device="meta")
    expected = sum(a * b + b * bias for a, b in pairwise(sizes))
    assert_equal(submission.count_parameters(model), expected)


@exercise("parameters.count_parameters", when="for counts above 2**53")
def test_more_than_floats_can_count(submission: Submission) -> None:
    """The count is an exact integer, also above 2**53, where floats leave out every other one."""
    model = submission.there(recipes.mlp, [2**27, 2**26 + 1], bias=True, device="meta")
    assert_equal(submission.count_parameters(model), 2**27 * (2**26 + 1) + 2**26 + 1)


@exercise("parameters.count_parameters", when="in the model afterwards")
def test_counting_changes_nothing(submission: Submission) -> None:
    """The model is only looked at: its numbers, gradients and flags are afterwards what they were."""
    found = submission.there(restoring.after, submission.count_parameters, True)
    assert_equal(found, restoring.untouched(True), what="the model and torch afterwards")


# ---------------------------------------------------------------- mlp_parameter_count


@exercise("parameters.mlp_parameter_count")
@pytest.mark.parametrize(("sizes", "count"), [([50, 30, 20, 3], 2213), ((2, 30, 20, 2), 752)])
def test_the_network_of_the_book(submission: Submission, sizes: Any, count: int) -> None:
    """The sizes 50, 30, 20, 3 make 2213 parameters, the sizes 2, 30, 20, 2 make 752."""
    assert_equal(submission.mlp_parameter_count(sizes), count)


@exercise("parameters.mlp_parameter_count")
@given(sizes=st.lists(st.integers(1, 50), min_size=2, max_size=6), bias=st.booleans())
def test_any_sizes(submission: Submission, sizes: list[int], bias: bool) -> None:
    """Each layer has inputs times outputs weights and, with bias, one more number per output. The list of sizes is not
    changed."""
    situations(submission, {"without biases": not bias, "with biases": bias, "with hidden layers": len(sizes) > 2})
    expected = sum(a * b + b * bias for a, b in pairwise(sizes))
    found, after = submission.there(parameters.count_and_sizes, submission.mlp_parameter_count, sizes, bias)
    assert_equal(found, expected)
    assert_equal(after, sizes, what="the list of sizes afterwards")


@exercise("parameters.mlp_parameter_count", when="for layers larger than any memory")
def test_sizes_that_no_memory_holds(submission: Submission) -> None:
    """The count is computed without making layers: it works for layers with a billion units, and for more."""
    for n in (10**9, 10**11):
        assert_equal(submission.mlp_parameter_count([n, n, 5]), n * n + n + 5 * n + 5)


@exercise("parameters.mlp_parameter_count")
@pytest.mark.parametrize("sizes", [[], [7]], ids=str)
def test_too_few_sizes(submission: Submission, sizes: list[int]) -> None:
    """Fewer than two sizes raise a ValueError, with and without bias."""
    for bias in (True, False):
        with raises(ValueError):
            submission.mlp_parameter_count(sizes, bias)


# ---------------------------------------------------------------- parameter_table


def plain_shapes(rows: Any) -> Any:
    """The same rows with each torch.Size as a tuple: both are right."""
    if type(rows) is not list:
        return rows
    return [tuple(tuple(v) if type(v) is torch.Size else v for v in row) if type(row) is tuple else row for row in rows]


@exercise("parameters.parameter_table")
@pytest.mark.parametrize("kind", ["linear", "norm", "frozen", "buffers", "names", "empty"])
def test_rows_in_order_of_registration(submission: Submission, kind: str) -> None:
    """One row (name, shape, count) per parameter, trainable or not, in the order of registration; no buffers."""
    model = submission.there(recipes.model, kind)
    expected = [(name, tuple(p.shape), p.numel()) for name, p in recipes.model(kind).named_parameters()]
    assert_equal(plain_shapes(submission.parameter_table(model)), expected)


@exercise("parameters.parameter_table", when="with modules inside of modules")
@settings(max_examples=6)
@given(seed=SEEDS)
def test_table_of_any_model(submission: Submission, seed: int) -> None:
    """Modules may be nested in any way, and have frozen parameters, parameters without dims, and buffers."""
    model, here = submission.there(parameters.nested, seed, frozen=True), parameters.nested(seed, frozen=True)
    expected = [(name, tuple(p.shape), p.numel()) for name, p in here.named_parameters()]
    assert_equal(plain_shapes(submission.parameter_table(model)), expected)


@exercise("parameters.parameter_table")
@given(sizes=st.lists(st.integers(1, 9), min_size=2, max_size=8), bias=st.booleans())
def test_table_of_any_net(submission: Submission, sizes: list[int], bias: bool) -> None:
    """In a net of Linear layers with ReLUs between them, Linear layer i is called 2i: its weight comes first, then its
    bias."""
    model = submission.there(recipes.mlp, sizes, bias=bias)
    expected: list[tuple[str, tuple[int, ...], int]] = []
    for i, (a, b) in enumerate(pairwise(sizes)):
        expected += [(f"{2 * i}.weight", (b, a), a * b), (f"{2 * i}.bias", (b,), b)][: 1 + bias]
    assert_equal(plain_shapes(submission.parameter_table(model)), expected)


@picture(
    "parameters.parameter_table",
    title="Numbers in each layer of a network: nearly all are in the weights between wide layers",
)
def count_per_layer(submission: Submission) -> Diagram:
    rows = submission.parameter_table(submission.there(recipes.mlp, [50, 30, 20, 3]))
    most = max(count for _, _, count in rows)
    bars = [
        (f"{name:<10}{tuple(shape)!s:>10}{count:>7}", "█" * round(40 * count / most)) for name, shape, count in rows
    ]
    return Diagram(lines=[f"{text}  {bar or '▏'}" for text, bar in bars])


@exercise("parameters.parameter_table", when="in the model afterwards")
def test_the_table_changes_nothing(submission: Submission) -> None:
    """The model is only looked at: its numbers, gradients and flags are afterwards what they were."""
    found = submission.there(restoring.after, submission.parameter_table, True)
    assert_equal(found, restoring.untouched(True), what="the model and torch afterwards")


# ---------------------------------------------------------------- memory_bytes


@exercise("parameters.memory_bytes")
@pytest.mark.parametrize("kind", KINDS)
def test_bytes_of_parameters_and_buffers(submission: Submission, kind: str) -> None:
    """Parameters and buffers of every kind count with their own dtype's bytes, and shared ones once."""
    here = recipes.model(kind)
    expected = sum(t.numel() * t.element_size() for t in {*here.parameters(), *here.buffers()})
    assert_equal(submission.memory_bytes(submission.there(recipes.model, kind)), expected)


@exercise("parameters.memory_bytes", when="for other dtypes than float32")
@pytest.mark.parametrize(
    ("dtype", "size"), [(torch.float64, 8), (torch.float32, 4), (torch.bfloat16, 2), (torch.float16, 2)]
)
def test_each_dtype_has_its_size(submission: Submission, dtype: torch.dtype, size: int) -> None:
    """A number takes 8, 4 or 2 bytes, depending on its dtype."""
    model = submission.there(recipes.mlp, (10, 5, 3), dtype=dtype)
    assert_equal(submission.memory_bytes(model), 73 * size)


@exercise("parameters.memory_bytes", when="with modules inside of modules")
@settings(max_examples=6)
@given(seed=SEEDS)
def test_bytes_of_any_model(submission: Submission, seed: int) -> None:
    """Modules may be nested in any way, with several dtypes and shared tensors; gradients do not count."""
    here = parameters.nested(seed, frozen=True, shared=True)
    expected = sum(t.numel() * t.element_size() for t in {*here.parameters(), *here.buffers()})
    model = submission.there(parameters.nested, seed, frozen=True, shared=True)
    assert_equal(submission.memory_bytes(model), expected)


@exercise("parameters.memory_bytes", when="in the model afterwards")
def test_weighing_changes_nothing(submission: Submission) -> None:
    """The model is only looked at: its numbers, gradients and flags are afterwards what they were."""
    found = submission.there(restoring.after, submission.memory_bytes, True)
    assert_equal(found, restoring.untouched(True), what="the model and torch afterwards")


# ---------------------------------------------------------------- freeze


@exercise("parameters.freeze")
@pytest.mark.parametrize("prefix", ["head", "layers", "layers.1", "block", "block.head", "out"])
def test_a_part_of_the_model(submission: Submission, prefix: str) -> None:
    """All parameters below that name are frozen, and no others: not those whose name only begins with the same
    letters."""
    freeze_and_look(submission, prefix)


@exercise("parameters.freeze")
@pytest.mark.parametrize("prefix", ["layers.1.weight", "head_scale", "block.norm.bias", "header.weight"])
def test_a_single_parameter(submission: Submission, prefix: str) -> None:
    """The whole name of one parameter freezes that one."""
    freeze_and_look(submission, prefix)


@exercise("parameters.freeze")
@pytest.mark.parametrize("prefix", ["layer", "norm", "ead", "weight", "layers.1.w", "head.weight.data"])
def test_no_such_name(submission: Submission, prefix: str) -> None:
    """A part of a name, or a name that the model does not have, freezes nothing and returns 0."""
    freeze_and_look(submission, prefix)


@exercise("parameters.freeze")
@pytest.mark.parametrize("confusing", [False, True])
@settings(max_examples=4)
@given(seed=SEEDS)
def test_any_prefix(submission: Submission, confusing: bool, seed: int) -> None:
    """In any model, a prefix means whole parts of the dotted name: none of its letters stands for another one."""
    here, draw = parameters.nested(seed), random.Random(seed)
    if confusing:
        names = [name for name, _ in here.named_modules()]
        prefix = draw.choice([name for name in names if "." in name and name.replace(".", "_", 1) in names])
    else:
        parts = draw.choice([name for name, _ in here.named_parameters()]).split(".")
        prefix = ".".join(parts[: draw.randint(1, len(parts))])
        prefix = draw.choice([prefix, prefix, prefix[:-1] or "a", parts[-1], prefix.replace(".", "_")])
    freeze_and_look(submission, prefix, seed, "nested")


@exercise("parameters.freeze", when="with a parameter elsewhere that was frozen before")
def test_the_frozen_stay_frozen(submission: Submission) -> None:
    """A parameter elsewhere that was frozen before stays frozen, and gradients that are there stay."""
    model = submission.there(parameters.partly_frozen, "out.weight")
    here = parameters.partly_frozen("out.weight")
    assert_equal(submission.freeze(model, "head"), 2, what="what it returned, the number of tensors frozen")
    expected = {name: flag and not name.startswith("head.") for name, flag in probes.trainable(here).items()}
    assert_equal(submission.there(probes.trainable, model), expected, what="requires_grad by name afterwards")
    found, grads = submission.there(probes.model_grads, model), probes.model_grads(here)
    others = {name: grad for name, grad in grads.items() if not name.startswith("head.")}
    assert_equal({name: found.get(name) for name in others}, others, what="the gradients of the others")


def freeze_and_look(submission: Submission, prefix: str, seed: int = 1, kind: str = "names") -> None:
    """Freezes in a model with confusing names, and compares the count and the gradients that come afterwards."""
    model, here = submission.there(parameters.named, kind, seed), parameters.named(kind, seed)
    count = submission.freeze(model, prefix)
    found = submission.there(parameters.gradients_by_name, model, seed)
    expected = parameters.gradients_by_name(here, seed)
    frozen = [name for name in expected if name == prefix or name.startswith(prefix + ".")]
    got = {name: grad is not None for name, grad in found.items()}
    right = {name: name not in frozen for name in expected}
    assert_equal(got, right, what=f"whether backward() gives it a gradient, after freezing {prefix!r}")
    flags = submission.there(probes.training_flags, model)
    assert_equal(flags, probes.training_flags(here), what="the training flags afterwards: frozen is not eval mode")
    assert_close(found, expected | dict.fromkeys(frozen), what="the gradients that backward() gives")
    assert_equal(count, len(frozen), what="the right tensors are frozen, but their number is wrong in what you return")
    assert_equal(submission.there(probes.weights, model), probes.weights(here), what="the parameters afterwards")


# ---------------------------------------------------------------- seeded


@exercise("parameters.seeded")
@given(seed=SEEDS, deep=st.booleans())
def test_weights_of_that_seed(submission: Submission, seed: int, deep: bool) -> None:
    """The weights are those that torch.manual_seed(seed) gives, every time."""
    build = parameters.build_mlp if deep else parameters.build_linear
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        expected = probes.state(build())
    submission.there(probes.start_global, 1)
    for _ in range(2):
        assert_equal(submission.there(probes.state, submission.seeded(build, seed)), expected)


@exercise("parameters.seeded", when="in the random numbers that are drawn afterwards")
@given(seed=SEEDS, started=SEEDS)
def test_global_stream_goes_on(submission: Submission, seed: int, started: int) -> None:
    """Random numbers drawn afterwards are the same as without the call."""
    submission.there(probes.start_global, started)
    found = submission.seeded(parameters.draw_numbers, seed)
    assert_equal(found, torch.randn(5, generator=torch.Generator().manual_seed(seed)), what="what build() drew")
    assert_global_numbers(submission, started, seed)


@exercise("parameters.seeded", when="from the second call on")
@pytest.mark.parametrize("step", [0, 1], ids=["same seed", "two seeds"])
@settings(max_examples=3)
@given(seed=SEEDS)
def test_a_new_thing_every_time(submission: Submission, step: int, seed: int) -> None:
    """Every call makes something new: changing what one call made leaves what another one made as it is, with the same
    seed or with two."""
    one = submission.seeded(parameters.build_linear, seed)
    other = submission.seeded(parameters.build_linear, seed + step)
    before = submission.there(probes.weights, other)
    submission.there(parameters.change, one)
    assert_equal(submission.there(probes.weights, other), before, what="the second model after the first one changed")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + step)
        expected = probes.weights(parameters.build_linear())
    assert_equal(before, expected, what="the second model")


@exercise("parameters.seeded", when="in the numbers of other generators")
@settings(max_examples=5)
@given(seed=SEEDS, started=SEEDS)
def test_other_random_numbers(submission: Submission, seed: int, started: int) -> None:
    """The random numbers of other generators, such as Python's, are not touched either."""
    submission.there(parameters.start_python, started)
    found = submission.seeded(parameters.draw_numbers, seed)
    numbers = submission.there(parameters.draw_from_python)
    draw = random.Random(started)
    assert_equal(found, torch.randn(5, generator=torch.Generator().manual_seed(seed)), what="what build() drew")
    assert_equal(numbers, [draw.random() for _ in range(3)], what="the next numbers of Python's random")


@exercise("parameters.seeded", when="when build raises an error")
def test_a_build_that_raises(submission: Submission) -> None:
    """If build raises an error, the caller gets it, and the next random numbers are those without the call."""
    raised, before, after = submission.there(parameters.after_an_error, submission.seeded)
    assert_that(raised, "the error of build does not come through")
    text = "your call changed torch's global random numbers: does the line that puts the state back run after an error?"
    assert_that(torch.equal(after, before), text)


@exercise("parameters.seeded", when="in the state of torch's global generator")
def test_state_of_the_generator(submission: Submission) -> None:
    """The state of torch's global generator does not change, even if the seed is the one that it was started with."""
    for seed in (5, 6):
        submission.there(probes.start_global, 5)
        seen = observe(submission.seeded, parameters.draw_numbers, seed)
        assert_that(not seen.rng_used, "your call changed the state of torch's global random numbers")
        assert_equal(seen.result, torch.randn(5, generator=torch.Generator().manual_seed(seed)))
