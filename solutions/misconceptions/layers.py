"""Classic wrong answers of layers, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.testkit import misconception

# ---------------------------------------------------------------- layer_norm


@misconception(
    "layer_norm",
    tell="Your variance is the unbiased one, which divides by d - 1. LayerNorm divides by d: var(..., unbiased=False).",
    seen="divides_by_one_less",
)
def unbiased_variance(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


@misconception(
    "layer_norm",
    tell="You add eps to the standard deviation. It belongs inside the root, beside the variance: where numbers hardly "
    "differ, the two are far apart.",
    seen="added_to_a_root('eps')",
)
def eps_outside_the_root(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / (torch.sqrt(variance) + eps) * weight + bias


@misconception(
    "layer_norm", tell="eps is missing: a row of equal numbers is divided by 0. It is added to the variance."
)
def no_eps(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(variance) * weight + bias


@misconception(
    "layer_norm",
    tell="You take the mean over the examples of the batch: that is BatchNorm. LayerNorm looks at the numbers of one "
    "position alone: the last dimension.",
)
def mean_over_the_batch(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean, variance = x.mean(0, keepdim=True), x.var(0, unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


@misconception(
    "layer_norm", tell="You take one mean of the whole tensor. Each position has its own: mean(dim=-1, keepdim=True)."
)
def one_mean_for_all(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return (x - x.mean()) / torch.sqrt(x.var(unbiased=False) + eps) * weight + bias


@misconception("layer_norm", tell="You divide by the variance. Its square root is the standard deviation.")
def divides_by_the_variance(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / (variance + eps) * weight + bias


@misconception(
    "layer_norm",
    tell="The numbers are right, but mean and variance are cut out of the graph. x has an influence by them too, and "
    "its gradient must say so.",
)
def statistics_without_a_graph(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    mean, variance = x.detach().mean(-1, keepdim=True), x.detach().var(-1, unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


@misconception(
    "layer_norm", tell="-= and the like write into the caller's x. Make new tensors.", name="norm_in_the_memory_of_x"
)
def norm_in_the_memory_of_x(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    x -= x.mean(-1, keepdim=True)
    return x / torch.sqrt((x**2).mean(-1, keepdim=True) + eps) * weight + bias


@misconception("layer_norm", tell="That is torch's own layer norm. The exercise is to write what is inside of it.")
def calls_torch_layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, weight.shape, weight, bias, eps)


# ---------------------------------------------------------------- embed


@misconception("embed", tell="table[:, ids] picks columns. A token's vector is a row of the table: table[ids].")
def picks_columns(ids: Tensor, table: Tensor) -> Tensor:
    return table[:, ids]


@misconception(
    "embed",
    tell="The numbers are right, but .data or .detach() cuts them off from the table, which then learns nothing.",
)
def embeds_without_a_graph(ids: Tensor, table: Tensor) -> Tensor:
    return table.detach()[ids]


class _LastUseWins(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, ids: Tensor, table: Tensor) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        return table[ids]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        (ids,) = ctx.saved_tensors
        found = grads[0].new_zeros(ctx.shape)
        found[ids] = grads[0]
        return None, found


@misconception(
    "embed",
    tell="A row that is used twice gets the gradient of one use only. The gradients of all its uses are added up, as "
    "index_add_ and torch's own indexing do.",
)
def one_gradient_for_each_row(ids: Tensor, table: Tensor) -> Tensor:
    return _LastUseWins.apply(ids, table)


@misconception(
    "embed", tell="You return one long list of vectors. The result has the shape of ids, with one dimension more."
)
def flattens_the_ids(ids: Tensor, table: Tensor) -> Tensor:
    return table[ids.flatten()]


@misconception(
    "embed",
    tell="You go through the ids one by one, and whatever is inside of ids must be an id for that. Index with all of "
    "them at once: table[ids].",
)
def stacks_one_by_one(ids: Tensor, table: Tensor) -> Tensor:
    return torch.stack([table[int(i)] for i in ids])


@misconception("embed", tell="That is torch's own embedding. The exercise is to write it.")
def calls_torch_embedding(ids: Tensor, table: Tensor) -> Tensor:
    return F.embedding(ids, table)


# ---------------------------------------------------------------- dropout


def _require(p: float) -> None:
    if not 0 <= p < 1:
        raise ValueError(f"impossible: {p}")


@misconception(
    "dropout",
    tell="The numbers that stay are not made larger: with half of them gone, the next layer gets half of what it gets "
    "later, in use. Divide by 1 - p.",
    seen="never_divides",
)
def no_rescaling(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    return x * (torch.rand(x.shape, generator=generator) >= p) if training and p else x


@misconception("dropout", tell="You multiply what stays by 1 - p, and make it smaller. Divide by 1 - p.")
def multiplies_by_what_stays(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    return x * (torch.rand(x.shape, generator=generator) >= p) * (1 - p) if training and p else x


@misconception("dropout", tell="You divide what stays by p. The fraction that stays is 1 - p.")
def divides_by_p(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    return x * (torch.rand(x.shape, generator=generator) >= p) / p if training and p else x


@misconception(
    "dropout",
    tell="p is the probability to be dropped; in your function it is the one to stay. torch.rand(...) < p is True with "
    "probability p.",
)
def keeps_with_probability_p(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    return x * (torch.rand(x.shape, generator=generator) < p) / (1 - p) if training and p else x


@misconception("dropout", tell="You drop numbers outside of training too. In use every number counts: return x itself.")
def at_evaluation_too(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    return x * (torch.rand(x.shape, generator=generator) >= p) / (1 - p) if p else x


@misconception("dropout", tell="If nothing is dropped, you return a copy, which costs memory. Return x itself.")
def copies_if_nothing_is_dropped(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    return x * (torch.rand(x.shape, generator=generator) >= p) / (1 - p) if training and p else x.clone()


@misconception(
    "dropout",
    tell="You draw from torch's global random numbers. Pass generator=generator to the function that draws.",
    seen="lacks('generator', 'bernoulli_')",
)
def draws_from_the_global_stream(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    return x * (torch.rand(x.shape) >= p) / (1 - p) if training and p else x


@misconception(
    "dropout",
    tell="You seed torch's global random numbers. The generator that you are given draws by itself, and the global "
    "stream must go on as if nothing had happened.",
    seen="seeds_the_global_stream",
)
def seeds_the_global_stream(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    if not training or not p:
        return x
    torch.manual_seed(int(torch.randint(1 << 30, (), generator=generator)))
    return x * (torch.rand(x.shape) >= p) / (1 - p)


@misconception(
    "dropout",
    tell="Every call drops the same numbers, because you seed the generator anew. Draw from it, and it moves on by "
    "itself.",
    seen="calls('generator.manual_seed', 'generator.seed')",
)
def seeds_the_generator(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    generator.manual_seed(generator.initial_seed())
    return x * (torch.rand(x.shape, generator=generator) >= p) / (1 - p) if training and p else x


@misconception(
    "dropout",
    tell="You draw one number for each row of the last dimension, so whole rows are dropped together. Draw one for "
    "each element.",
)
def drops_rows(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    return x * (torch.rand((*x.shape[:-1], 1), generator=generator) >= p) / (1 - p) if training and p else x


@misconception(
    "dropout", tell="You draw one mask for all examples of the batch. Draw one number for each element of x."
)
def one_mask_for_all_examples(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    return x * (torch.rand(x.shape[1:], generator=generator) >= p) / (1 - p) if training and p else x


@misconception("dropout", tell="A p below 0, or of 1 and more, must be a ValueError.")
def any_probability(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    return x * (torch.rand(x.shape, generator=generator) >= p) / (1 - p) if training and p else x


@misconception("dropout", tell="p = 1 drops everything, and divides by 0. It must be a ValueError, too.")
def one_is_a_probability(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"impossible: {p}")
    return x * (torch.rand(x.shape, generator=generator) >= p) / (1 - p) if training and p else x


@misconception("dropout", tell="You write the zeros into the caller's x. Make a new tensor.")
def drops_in_the_memory_of_x(x: Tensor, p: float, training: bool, generator: torch.Generator) -> Tensor:
    _require(p)
    if training and p:
        x *= (torch.rand(x.shape, generator=generator) >= p) / (1 - p)
    return x


# ---------------------------------------------------------------- conv2d


def _convolved(x: Tensor, weight: Tensor, bias: Tensor | None, stride: int, padding: int) -> Tensor:
    """The right one, of arguments that may be wrong."""
    outputs, _, height, width = weight.shape
    found = weight.reshape(outputs, -1) @ F.unfold(x, (height, width), padding=padding, stride=stride)
    if bias is not None:
        found = found + bias[:, None]
    return found.reshape(len(x), outputs, (x.shape[2] + 2 * padding - height) // stride + 1, -1)


@misconception(
    "conv2d",
    tell="You flip the window, as mathematicians do. What networks call a convolution does not: x[i + r] goes with "
    "weight[r].",
)
def flips_the_window(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0
) -> Tensor:
    return _convolved(x, weight.flip(2, 3), bias, stride, padding)


@misconception("conv2d", tell="The stride has no effect: the window must move that many places at a time.")
def ignores_the_stride(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0
) -> Tensor:
    return _convolved(x, weight, bias, 1, padding)


@misconception("conv2d", tell="The padding has no effect: rows and columns of zeros are missing round the images.")
def ignores_the_padding(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0
) -> Tensor:
    return _convolved(x, weight, bias, stride, 0)


@misconception("conv2d", tell="You pad on the left and on top alone. The zeros go on all four sides.")
def pads_two_sides(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0) -> Tensor:
    return _convolved(F.pad(x, (padding, 0, padding, 0)), weight, bias, stride, 0)


@misconception("conv2d", tell="The bias is missing: one number for each output channel.")
def forgets_the_bias(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0
) -> Tensor:
    return _convolved(x, weight, None, stride, padding)


@misconception("conv2d", tell="Without a bias you add None. It may be left out.")
def needs_a_bias(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0) -> Tensor:
    return _convolved(x, weight, None, stride, padding) + bias[:, None, None]


@misconception(
    "conv2d", tell="You go through the images one by one. unfold and one matrix product do all of them at once."
)
def loops_over_the_images(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0
) -> Tensor:
    return torch.cat([_convolved(image[None], weight, bias, stride, padding) for image in x])


@misconception(
    "conv2d",
    tell="You go through the places of the window one by one. unfold makes all windows at once, as columns of a "
    "matrix.",
)
def loops_over_the_places(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0
) -> Tensor:
    x = F.pad(x, (padding, padding, padding, padding))
    height, width = weight.shape[2:]
    rows = []
    for i in range(0, x.shape[2] - height + 1, stride):
        row = []
        for j in range(0, x.shape[3] - width + 1, stride):
            window = x[:, :, i : i + height, j : j + width]
            row.append((window[:, None] * weight).sum(dim=(2, 3, 4)))
        rows.append(torch.stack(row, dim=-1))
    found = torch.stack(rows, dim=-2)
    return found if bias is None else found + bias[:, None, None]


@misconception(
    "conv2d", tell="Your windows are square: height and width of the weights may differ.", name="square_windows_only"
)
def square_windows_only(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0
) -> Tensor:
    return _convolved(x, weight.transpose(2, 3), bias, stride, padding)


@misconception("conv2d", tell="That is torch's own convolution. The exercise is to write it: unfold, then a product.")
def calls_torch_convolution(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0
) -> Tensor:
    return F.conv2d(x, weight, bias, stride, padding)


# ---------------------------------------------------------------- attention


def _mix(scores: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """The right one, of scores that may be wrong."""
    if mask is None:
        return torch.softmax(scores, -1) @ v
    weights = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), -1)
    return weights.masked_fill(~mask, 0.0) @ v


@misconception(
    "attention",
    tell="The scores are not scaled: divide them by the square root of d. Without it they grow with d, and softmax "
    "picks one position alone.",
    seen="never_divides",
)
def not_scaled(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return _mix(q @ k.mT, v, mask)


@misconception("attention", tell="You divide the scores by d. It is its square root.")
def scaled_by_d(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return _mix(q @ k.mT / q.shape[-1], v, mask)


@misconception(
    "attention", tell="You divide by the root of how many positions there are. It is that of the width d: q.shape[-1]."
)
def scaled_by_the_length(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return _mix(q @ k.mT / math.sqrt(q.shape[-2]), v, mask)


@misconception(
    "attention",
    tell="True in the mask means: may be seen. You hide these, and show the others: hide where ~mask is True.",
    seen="fills_where('mask')",
)
def mask_inverted(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, -1)
    return (weights if mask is None else weights.masked_fill(mask, 0.0)) @ v


@misconception(
    "attention",
    tell="A position that may see nothing gets nan: the softmax of a row of minus infinity is 0 / 0. A very low finite "
    "number hides as well; then set hidden weights to 0.",
)
def minus_infinity_gives_nan(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, -1) @ v


@misconception(
    "attention",
    tell="Replacing nan afterwards gives the right numbers, but the gradient of that softmax is nan all the same. "
    "Let no nan come up: hide with a very low finite number.",
)
def repairs_nan_afterwards(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -math.inf)
    return torch.nan_to_num(torch.softmax(scores, -1), nan=0.0) @ v


@misconception(
    "attention",
    tell="A position that may see nothing gets the mean of all values: where all scores are equally low, softmax gives "
    "equal weights. Set hidden weights to 0 after the softmax.",
)
def nothing_seen_gives_the_mean(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, -1) @ v


@misconception(
    "attention",
    tell="You set hidden weights to 0 after the softmax only, so the others do not sum to 1. Hide the scores before "
    "it.",
)
def hides_after_the_softmax_only(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return (weights if mask is None else weights * mask) @ v


@misconception(
    "attention",
    tell="You multiply scores by the mask: a hidden one becomes 0, which is a score as good as any. It must be very "
    "low.",
)
def hidden_scores_are_zero(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return torch.softmax(scores if mask is None else scores * mask, -1) @ v


@misconception(
    "attention",
    tell="You add the mask to the scores: True counts as 1, so nothing is hidden. Give hidden scores a very low "
    "number.",
)
def adds_the_mask(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return torch.softmax(scores if mask is None else scores + mask, -1) @ v


@misconception(
    "attention", tell="You take the softmax over the queries. For each query the weights of the keys sum to 1: dim=-1."
)
def softmax_over_the_queries(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return torch.softmax(scores, -2) @ v
    return torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), -2).masked_fill(~mask, 0.0) @ v


@misconception(
    "attention",
    tell="exp of a large score is infinite, and inf / inf is nan. torch.softmax is safe.",
    seen="calls('exp', unless=('max', 'amax', 'maximum', 'logsumexp', 'clamp'))",
)
def unsafe_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = torch.exp(q @ k.mT / math.sqrt(q.shape[-1]))
    if mask is not None:
        weights = weights * mask
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total == 0, 1.0, total) @ v


@misconception("attention", tell="That is torch's own attention. The exercise is to write what is inside of it.")
def calls_torch_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, mask)


# ---------------------------------------------------------------- Adam


class _Adam:
    """The right one, for wrong ones to differ from."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        self.params = list(params)
        self.lr, self.betas, self.eps = lr, betas, eps
        self.means = [torch.zeros_like(p) for p in self.params]
        self.squares = [torch.zeros_like(p) for p in self.params]
        self.steps = [0] * len(self.params)

    @torch.no_grad()
    def step(self) -> None:
        for i, p in enumerate(self.params):
            if p.grad is not None:
                self.move(i, p, p.grad)

    def gather(self, i: int, grad: Tensor) -> None:
        first, second = self.betas
        self.steps[i] += 1
        self.means[i] = first * self.means[i] + (1 - first) * grad
        self.squares[i] = second * self.squares[i] + (1 - second) * grad**2

    def corrected(self, i: int) -> tuple[Tensor, Tensor]:
        first, second = self.betas
        return self.means[i] / (1 - first ** self.steps[i]), self.squares[i] / (1 - second ** self.steps[i])

    def move(self, i: int, p: Tensor, grad: Tensor) -> None:
        self.gather(i, grad)
        mean, square = self.corrected(i)
        p -= self.lr * mean / (square.sqrt() + self.eps)

    def zero_grad(self) -> None:
        for p in self.params:
            p.grad = None


@misconception(
    "Adam",
    tell="There is no bias correction: both means begin at 0, so the first ones are far too small. Divide them by "
    "1 - b ** t.",
    name="no_bias_correction",
)
class NoBiasCorrection(_Adam):
    def corrected(self, i: int) -> tuple[Tensor, Tensor]:
        return self.means[i], self.squares[i]


@misconception(
    "Adam",
    tell="Only the first mean is corrected for beginning at 0. The second one, of the squares, is divided by "
    "1 - b2 ** t.",
    name="corrects_the_first_mean_only",
)
class CorrectsTheFirstMeanOnly(_Adam):
    def corrected(self, i: int) -> tuple[Tensor, Tensor]:
        return super().corrected(i)[0], self.squares[i]


@misconception(
    "Adam",
    tell="Only the second mean is corrected for beginning at 0. The first one, of the gradients, is divided by "
    "1 - b1 ** t.",
    name="corrects_the_second_mean_only",
)
class CorrectsTheSecondMeanOnly(_Adam):
    def corrected(self, i: int) -> tuple[Tensor, Tensor]:
        return self.means[i], super().corrected(i)[1]


@misconception(
    "Adam", tell="You multiply b by t in the bias correction. It is a power: 1 - b ** t.", name="times_t_for_a_power"
)
class TimesTForAPower(_Adam):
    def corrected(self, i: int) -> tuple[Tensor, Tensor]:
        first, second = self.betas
        return self.means[i] / (1 - first * self.steps[i]), self.squares[i] / (1 - second * self.steps[i])


@misconception(
    "Adam",
    tell="t is still 0 in the first step, so 1 - b ** t is 0, and 0 / 0 is nan. Raise the count before you correct.",
    name="counts_after_the_step",
)
class CountsAfterTheStep(_Adam):
    def corrected(self, i: int) -> tuple[Tensor, Tensor]:
        self.steps[i] -= 1
        found = super().corrected(i)
        self.steps[i] += 1
        return found


@misconception(
    "Adam",
    tell="The count is one too high: in the first step t is 1, and yours is 2. Begin at 0 and raise it before you "
    "correct, or begin at 1 and raise it at the end.",
    name="counts_from_two",
)
class CountsFromTwo(_Adam):
    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(params, lr, betas, eps)
        self.steps = [1] * len(self.params)


@misconception(
    "Adam",
    tell="Both of your means get the whole new number, and grow to sums. A running mean gets a part of it: "
    "(1 - b1) * grad, and (1 - b2) * grad ** 2.",
    name="sums_for_means",
)
class SumsForMeans(_Adam):
    def gather(self, i: int, grad: Tensor) -> None:
        first, second = self.betas
        self.steps[i] += 1
        self.means[i] = first * self.means[i] + grad
        self.squares[i] = second * self.squares[i] + grad**2


@misconception(
    "Adam",
    tell="Your first mean gets the whole gradient, as a momentum does. A running mean gets a part of it: "
    "(1 - b1) * grad.",
    name="momentum_for_the_first_mean",
)
class MomentumForTheFirstMean(_Adam):
    def gather(self, i: int, grad: Tensor) -> None:
        old = self.means[i]
        super().gather(i, grad)
        self.means[i] = self.betas[0] * old + grad


@misconception(
    "Adam",
    tell="Your second mean gets the whole square of the gradient. A running mean gets a part of it: "
    "(1 - b2) * grad ** 2.",
    name="sum_for_the_second_mean",
)
class SumForTheSecondMean(_Adam):
    def gather(self, i: int, grad: Tensor) -> None:
        old = self.squares[i]
        super().gather(i, grad)
        self.squares[i] = self.betas[1] * old + grad**2


@misconception(
    "Adam",
    tell="The second mean is of the gradients as they are. It is of their squares: (1 - b2) * grad ** 2.",
    name="gradients_not_squared",
)
class GradientsNotSquared(_Adam):
    def gather(self, i: int, grad: Tensor) -> None:
        old = self.squares[i]
        super().gather(i, grad)
        self.squares[i] = self.betas[1] * old + (1 - self.betas[1]) * grad


@misconception(
    "Adam",
    tell="The new means are lost after the step, and the next one begins at 0 again. Keep them in the object: "
    "self.means[i] = ..., as a new value for a loop's variable changes no list.",
    name="means_are_not_kept",
)
class MeansAreNotKept(_Adam):
    def move(self, i: int, p: Tensor, grad: Tensor) -> None:
        self.means[i], self.squares[i] = torch.zeros_like(p), torch.zeros_like(p)
        super().move(i, p, grad)


@misconception(
    "Adam",
    tell="You keep the corrected means and go on with them, so that they are corrected again and again. Keep the plain "
    "ones, and correct copies.",
    name="keeps_the_corrected_means",
)
class KeepsTheCorrectedMeans(_Adam):
    def corrected(self, i: int) -> tuple[Tensor, Tensor]:
        self.means[i], self.squares[i] = super().corrected(i)
        return self.means[i], self.squares[i]


@misconception(
    "Adam",
    tell="All parameters share their means. Each has two of its own, of its own shape.",
    name="one_moment_for_all",
)
class OneMomentForAll(_Adam):
    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(params, lr, betas, eps)
        self.means[:] = self.squares[:] = [torch.zeros(())]

    def move(self, i: int, p: Tensor, grad: Tensor) -> None:
        super().move(0, p, grad)


@misconception(
    "Adam",
    tell="The means begin at 0 in every step, so nothing is remembered. Make them once, in __init__.",
    name="state_lost_between_steps",
)
class StateLostBetweenSteps(_Adam):
    def move(self, i: int, p: Tensor, grad: Tensor) -> None:
        self.means[i], self.squares[i], self.steps[i] = torch.zeros_like(p), torch.zeros_like(p), 0
        super().move(i, p, grad)


@misconception(
    "Adam",
    tell="eps is inside the root. Adam adds it outside: sqrt(corrected v) + eps.",
    name="eps_inside_the_root",
    seen="under_a_root('eps')",
)
class EpsInsideTheRoot(_Adam):
    def move(self, i: int, p: Tensor, grad: Tensor) -> None:
        self.gather(i, grad)
        mean, square = self.corrected(i)
        p -= self.lr * mean / torch.sqrt(square + self.eps)


@misconception(
    "Adam",
    tell="eps is missing: it is added to the root, and a gradient of 0 gives 0 / 0 without it.",
    name="no_eps_in_adam",
)
class NoEpsInAdam(_Adam):
    def move(self, i: int, p: Tensor, grad: Tensor) -> None:
        self.gather(i, grad)
        mean, square = self.corrected(i)
        p -= self.lr * mean / square.sqrt()


@misconception(
    "Adam",
    tell="eps is added to the root of the second mean before that is corrected. Correct first: "
    "sqrt(v / (1 - b2 ** t)) + eps.",
    name="eps_before_the_correction",
)
class EpsBeforeTheCorrection(_Adam):
    def move(self, i: int, p: Tensor, grad: Tensor) -> None:
        self.gather(i, grad)
        first, second = self.betas
        rate = self.lr * (1 - second ** self.steps[i]) ** 0.5 / (1 - first ** self.steps[i])
        p -= rate * self.means[i] / (self.squares[i].sqrt() + self.eps)


@misconception(
    "Adam",
    tell="You count the steps of the optimizer. Each parameter has a count of its own, which a step without a gradient "
    "does not raise.",
    name="one_count_for_all",
)
class OneCountForAll(_Adam):
    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(params, lr, betas, eps)
        self.count = 0

    def step(self) -> None:
        self.count += 1
        super().step()

    def gather(self, i: int, grad: Tensor) -> None:
        super().gather(i, grad)
        self.steps[i] = self.count


@misconception(
    "Adam",
    tell="You count parameters for steps: the count goes up once for each of them. t is how often this parameter has "
    "moved.",
    name="counts_parameters",
)
class CountsParameters(_Adam):
    def gather(self, i: int, grad: Tensor) -> None:
        super().gather(i, grad)
        self.steps = [max(self.steps)] * len(self.steps) if i == 0 else [max(self.steps) + 1] * len(self.steps)


@misconception(
    "Adam",
    tell="A parameter without a gradient counts as one with a gradient of zeros: it goes on moving by its mean. Skip "
    "it.",
    name="none_is_zero",
)
class NoneIsZero(_Adam):
    @torch.no_grad()
    def step(self) -> None:
        for i, p in enumerate(self.params):
            self.move(i, p, torch.zeros_like(p) if p.grad is None else p.grad)


@misconception(
    "Adam", tell="A parameter may have no gradient: p.grad is None then. Skip it.", name="needs_every_gradient"
)
class NeedsEveryGradient(_Adam):
    @torch.no_grad()
    def step(self) -> None:
        for i, p in enumerate(self.params):
            self.move(i, p, p.grad)


@misconception(
    "Adam",
    tell="After the first parameter without a gradient no other one moves: you end the loop. `continue` skips one.",
    name="stops_at_the_first_none",
)
class StopsAtTheFirstNone(_Adam):
    @torch.no_grad()
    def step(self) -> None:
        for i, p in enumerate(self.params):
            if p.grad is None:
                break
            self.move(i, p, p.grad)


@misconception(
    "Adam", tell="The betas are exchanged: b1 is for the gradients, b2 for their squares.", name="betas_exchanged"
)
class BetasExchanged(_Adam):
    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(params, lr, betas[::-1], eps)


@misconception(
    "Adam",
    tell="The second mean is of the gradients' sizes. It is of their squares, and a root is taken of it later.",
    name="sizes_for_squares",
)
class SizesForSquares(_Adam):
    def gather(self, i: int, grad: Tensor) -> None:
        old = self.squares[i]
        super().gather(i, grad)
        self.squares[i] = self.betas[1] * old + (1 - self.betas[1]) * grad.abs()


@misconception("Adam", tell="You divide by the mean of the squares. Take its root first.", name="no_root")
class NoRoot(_Adam):
    def move(self, i: int, p: Tensor, grad: Tensor) -> None:
        self.gather(i, grad)
        mean, square = self.corrected(i)
        p -= self.lr * mean / (square + self.eps)


@misconception(
    "Adam",
    tell="You bind the name p to a new tensor, and the parameter stays where it was. Change it in place: p -= ..., "
    "inside torch.no_grad().",
    name="moves_a_copy",
)
class MovesACopy(_Adam):
    def move(self, i: int, p: Tensor, grad: Tensor) -> None:
        super().move(i, p.clone(), grad)


@misconception(
    "Adam",
    tell="A step must not be recorded: torch refuses to change a leaf that requires grad in place. Use "
    "torch.no_grad().",
    name="records_the_step",
)
class RecordsTheStep(_Adam):
    def step(self) -> None:
        for i, p in enumerate(self.params):
            if p.grad is not None:
                self.move(i, p, p.grad)


@misconception(
    "Adam",
    tell="step() clears the gradients. That is what zero_grad() is for; somebody may want to look at them.",
    name="step_clears",
)
class StepClears(_Adam):
    def step(self) -> None:
        super().step()
        self.zero_grad()


@misconception(
    "Adam",
    tell="All your optimizers share one state, because it is kept in the class. Keep it in the object: self.means = "
    "... in __init__.",
    name="state_of_the_class",
)
class StateOfTheClass(_Adam):
    _state: dict[str, Any] = {}

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(params, lr, betas, eps)
        self.means = self._state.setdefault("means", self.means)
        self.squares = self._state.setdefault("squares", self.squares)
        self.steps = self._state.setdefault("steps", self.steps)


@misconception("Adam", tell="zero_grad() leaves the gradients where they are.", name="nothing_is_cleared")
class NothingIsCleared(_Adam):
    def zero_grad(self) -> None:
        pass


@misconception("Adam", tell="That is torch's own Adam. The exercise is to write it.", name="calls_torch_adam")
class CallsTorchAdam(torch.optim.Adam):
    pass
