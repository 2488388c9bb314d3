"""Classic wrong answers of attention, each with the message for the student who gave it."""

import math

import torch
from torch import Tensor, nn

from grader.testkit import misconception

# ---------------------------------------------------------------- attention_scores


@misconception("attention_scores", tell="The scores are not scaled: divide them by the square root of the width d.")
def not_scaled(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1)


@misconception(
    "attention_scores",
    tell="You divide by the width itself. It is its square root that keeps the size of scores alike.",
)
def divided_by_the_width(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1) / q.shape[-1]


@misconception(
    "attention_scores", tell="You divide by the root of the number of keys. The width of a key is the last dim."
)
def divided_by_the_number_of_keys(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1) / math.sqrt(k.shape[-2])


@misconception(
    "attention_scores", tell="Rows are keys here and columns are queries. Queries come first: q times k transposed."
)
def keys_as_rows(q: Tensor, k: Tensor) -> Tensor:
    return k @ q.transpose(-2, -1) / math.sqrt(q.shape[-1])


@misconception("attention_scores", tell="`.T` turns all dims round. Exchange only the last two: k.transpose(-2, -1).")
def all_dims_turned_round(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.permute(*range(k.dim() - 1, -1, -1)) / math.sqrt(q.shape[-1])


# ---------------------------------------------------------------- causal_mask


@misconception("causal_mask", tell="Your mask is True for what comes after. Here True means: may be seen.")
def true_means_hidden(t: int) -> Tensor:
    return torch.ones(t, t, dtype=torch.bool).triu(1)


@misconception("causal_mask", tell="A position may see itself: the diagonal is True, too.")
def not_even_itself(t: int) -> Tensor:
    return torch.ones(t, t, dtype=torch.bool).tril(-1)


@misconception("causal_mask", tell="The mask has numbers. It should have the dtype torch.bool.")
def numbers_for_a_mask(t: int) -> Tensor:
    return torch.ones(t, t).tril()


@misconception(
    "causal_mask",
    tell="That is the mask the other way round: positions see what comes after them. Rows are those who look.",
)
def upside_down(t: int) -> Tensor:
    return torch.ones(t, t, dtype=torch.bool).triu()


# ---------------------------------------------------------------- attention


def scores_of(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])


@misconception(
    "attention",
    tell="A query that may see nothing gets NaN: the softmax of a row of minus infinity. Its weights should be 0.",
)
def nan_for_a_row_of_nothing(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    scores = scores_of(q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@misconception(
    "attention", tell="A query that may see nothing sees everything alike in your answer. Its weights should be 0."
)
def sees_all_if_nothing(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    scores = scores_of(q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    return weights @ v, weights


@misconception(
    "attention",
    tell="Hidden keys are set to 0 before the softmax, and e to the 0 is 1: they still get weight. Hide them by a "
    "very small score.",
)
def zero_score_for_what_is_hidden(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    scores = scores_of(q, k)
    if mask is not None:
        scores = scores * mask
    weights = scores.softmax(-1)
    return weights @ v, weights


@misconception("attention", tell="Hidden weights are set to 0 after the softmax, so the others no longer sum to 1.")
def masks_after_the_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    weights = scores_of(q, k).softmax(-1)
    if mask is not None:
        weights = weights * mask
    return weights @ v, weights


@misconception("attention", tell="You take the mask the other way round. True means that a query may see the key.")
def hides_what_may_be_seen(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    scores = scores_of(q, k)
    if mask is None:
        weights = scores.softmax(-1)
    else:
        weights = scores.masked_fill(mask, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(mask, 0.0)
    return weights @ v, weights


@misconception(
    "attention",
    tell="The softmax goes over the queries. The weights of one query, over all keys, sum to 1: the last dim.",
)
def softmax_over_the_queries(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    scores = scores_of(q, k)
    if mask is None:
        weights = scores.softmax(-2)
    else:
        weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-2).masked_fill(~mask, 0.0)
    return weights @ v, weights


@misconception("attention", tell="You return the scores. The second result is their softmax: the weights.")
def scores_for_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    scores = scores_of(q, k)
    if mask is None:
        weights = scores.softmax(-1)
    else:
        weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~mask, 0.0)
    return weights @ v, scores


# ---------------------------------------------------------------- split_heads


@misconception(
    "split_heads",
    tell="The shape is right, but the numbers of several positions are mixed: cut the width first (view to b, t, "
    "heads, width), then exchange two dims.",
)
def reshaped_where_dims_change_places(x: Tensor, heads: int) -> Tensor:
    b, t, d = x.shape
    if d % heads:
        raise ValueError
    return x.reshape(b, heads, t, d // heads)


@misconception(
    "split_heads",
    tell="The heads are still behind the positions: exchange these two dims, so that the shape is (b, heads, t, "
    "width).",
)
def heads_behind_positions(x: Tensor, heads: int) -> Tensor:
    b, t, d = x.shape
    if d % heads:
        raise ValueError
    return x.view(b, t, heads, d // heads)


@misconception(
    "split_heads",
    tell="Head 0 has every heads-th number of a position. It should have the first d / heads numbers, which lie "
    "side by side.",
)
def every_second_number(x: Tensor, heads: int) -> Tensor:
    b, t, d = x.shape
    if d % heads:
        raise ValueError
    return x.view(b, t, d // heads, heads).permute(0, 3, 1, 2)


@misconception(
    "split_heads",
    tell="Your answer copies all numbers. A transpose of a view needs no copy: leave out contiguous, and do not "
    "put pieces together.",
)
def copies_the_heads(x: Tensor, heads: int) -> Tensor:
    b, t, d = x.shape
    if d % heads:
        raise ValueError
    return x.view(b, t, heads, d // heads).transpose(1, 2).contiguous()


@misconception(
    "split_heads",
    part="merge_heads",
    tell="merge_heads mixes the numbers of several positions: the heads must first go back behind the positions, "
    "by a transpose.",
)
def merged_without_a_transpose(x: Tensor) -> Tensor:
    b, heads, t, width = x.shape
    return x.reshape(b, t, heads * width)


@misconception(
    "split_heads",
    tell="A number of heads that does not divide the width must raise ValueError; you leave that to another error,"
    " or cut the rest off.",
)
def cuts_the_rest_off(x: Tensor, heads: int) -> Tensor:
    b, t, d = x.shape
    return x[:, :, : d // heads * heads].unflatten(2, (heads, d // heads)).transpose(1, 2)


# ---------------------------------------------------------------- CausalSelfAttention


class Base(nn.Module):
    """A right answer, with parts that the wrong ones below replace."""

    def __init__(self, d_model: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % heads:
            raise ValueError
        self.heads, self.p = heads, dropout
        self.query, self.key, self.value, self.out = (nn.Linear(d_model, d_model) for _ in range(4))

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def scale(self, q: Tensor) -> float:
        return math.sqrt(q.shape[-1])

    def mask(self, t: int, device: torch.device) -> Tensor:
        return torch.ones(t, t, dtype=torch.bool, device=device).tril()

    def drop(self, weights: Tensor) -> Tensor:
        return nn.functional.dropout(weights, self.p, self.training)

    def finish(self, mixed: Tensor) -> Tensor:
        return self.out(mixed)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        scores = q @ k.transpose(-2, -1) / self.scale(q)
        weights = scores.masked_fill(~self.mask(x.shape[1], x.device), -math.inf).softmax(-1)
        return self.finish((self.drop(weights) @ v).transpose(1, 2).flatten(2))


@misconception("CausalSelfAttention", tell="Every position sees all others, also those after it: the mask is missing.")
class SeesTheFuture(Base):
    def mask(self, t: int, device: torch.device) -> Tensor:
        return torch.ones(t, t, dtype=torch.bool, device=device)


@misconception(
    "CausalSelfAttention",
    tell="You scale by the root of the whole width. The queries and keys of a head have the width d_model // heads.",
)
class ScaledByTheWholeWidth(Base):
    def scale(self, q: Tensor) -> float:
        return math.sqrt(q.shape[-1] * self.heads)


@misconception(
    "CausalSelfAttention",
    tell="Weights are dropped in eval mode, too. Ask self.training, or use nn.Dropout, which does.",
)
class DropsAlways(Base):
    def drop(self, weights: Tensor) -> Tensor:
        return nn.functional.dropout(weights, self.p)


@misconception("CausalSelfAttention", tell="No weight is dropped: dropout acts on the weights, after the softmax.")
class NeverDrops(Base):
    def drop(self, weights: Tensor) -> Tensor:
        return weights


@misconception(
    "CausalSelfAttention",
    tell="You drop numbers of the output. It is the attention weights that are dropped, between softmax and values.",
)
class DropsTheOutput(Base):
    def drop(self, weights: Tensor) -> Tensor:
        return weights

    def finish(self, mixed: Tensor) -> Tensor:
        return nn.functional.dropout(self.out(mixed), self.p, self.training)


@misconception(
    "CausalSelfAttention", tell="The last layer, `out`, is not applied: heads stay side by side and never meet."
)
class WithoutTheLastLayer(Base):
    def finish(self, mixed: Tensor) -> Tensor:
        return mixed


@misconception("CausalSelfAttention", tell="There is one attention over the whole width: the heads are missing.")
class OneHead(Base):
    def split(self, x: Tensor) -> Tensor:
        return x[:, None]


@misconception(
    "CausalSelfAttention",
    tell="The mask is made on the CPU, whatever the device of x is. Make it on x.device, or keep it as a buffer.",
)
class MaskOnTheCpu(Base):
    def mask(self, t: int, device: torch.device) -> Tensor:
        return torch.ones(t, t, dtype=torch.bool).tril()
