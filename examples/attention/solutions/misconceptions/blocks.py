"""Classic wrong answers of blocks, each with the message for the student who gave it."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.testkit import misconception

# ---------------------------------------------------------------- LayerNorm


class Norm(nn.Module):
    """A right answer, with parts that the wrong ones below replace."""

    def __init__(self, d: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))

    def mean(self, x: Tensor) -> Tensor:
        return x.mean(-1, keepdim=True)

    def variance(self, x: Tensor) -> Tensor:
        return x.var(-1, keepdim=True, correction=0)

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean(x)) / torch.sqrt(self.variance(x) + self.eps) * self.weight + self.bias


@misconception(
    "LayerNorm",
    tell="Your variance divides by d - 1. Layer normalization divides by d: correction=0 (or unbiased=False).",
)
class UnbiasedVariance(Norm):
    def variance(self, x: Tensor) -> Tensor:
        return x.var(-1, keepdim=True) if x.shape[-1] > 1 else torch.zeros_like(x)


@misconception("LayerNorm", tell="eps is added to the standard deviation. Add it to the variance, before the root.")
class EpsOutsideOfTheRoot(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean(x)) / (torch.sqrt(self.variance(x)) + self.eps) * self.weight + self.bias


@misconception(
    "LayerNorm",
    tell="You normalize over the positions, as BatchNorm does. Each position is normalized on its own, over the "
    "last dim.",
)
class OverThePositions(Norm):
    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(0, keepdim=True)
        variance = x.var(0, keepdim=True, correction=0)
        return (x - mean) / torch.sqrt(variance + self.eps) * self.weight + self.bias


@misconception(
    "LayerNorm", tell="You normalize over all numbers at once. Each position has a mean and a variance of its own."
)
class OverEverything(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean()) / torch.sqrt(x.var(correction=0) + self.eps) * self.weight + self.bias


@misconception("LayerNorm", tell="Scale and shift are missing: multiply by `weight` and add `bias`.")
class WithoutScaleAndShift(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean(x)) / torch.sqrt(self.variance(x) + self.eps)


@misconception("LayerNorm", tell="You divide by the variance. Take its square root.")
class DividedByTheVariance(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean(x)) / (self.variance(x) + self.eps) * self.weight + self.bias


@misconception(
    "LayerNorm",
    tell="Mean and variance are cut off the graph, so their part of the gradient is lost: no detach, no no_grad.",
)
class CutOffTheGraph(Norm):
    def mean(self, x: Tensor) -> Tensor:
        return super().mean(x).detach()

    def variance(self, x: Tensor) -> Tensor:
        return super().variance(x).detach()


@misconception(
    "LayerNorm", tell="`weight` and `bias` are plain tensors, which no optimizer trains. Make each an nn.Parameter."
)
class PlainTensors(nn.Module):
    def __init__(self, d: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps, self.weight, self.bias = eps, torch.ones(d), torch.zeros(d)

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)


# ---------------------------------------------------------------- gelu


@misconception(
    "gelu",
    tell="That is the exact form, with the error function. The form with tanh is asked for; its numbers differ a "
    "little.",
)
def exact_form(x: Tensor) -> Tensor:
    return F.gelu(x)


@misconception("gelu", tell="You returned ReLU, which is 0 for all negative numbers.")
def relu_after_all(x: Tensor) -> Tensor:
    return F.relu(x)


@misconception("gelu", tell="That is the form with a sigmoid, x * sigmoid(1.702 x). The one with tanh is asked for.")
def sigmoid_form(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


@misconception("gelu", tell="The square root of 2 / pi is missing in front of the sum: take the root of the quotient.")
def without_the_root(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(2 / math.pi * (x + 0.044715 * x**3)))


@misconception("gelu", tell="The 1 is inside of the tanh. It is added to the tanh.")
def one_inside_of_tanh(x: Tensor) -> Tensor:
    return 0.5 * x * torch.tanh(1 + math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


# ---------------------------------------------------------------- FeedForward


class Forward(nn.Module):
    """A right answer, with parts that the wrong ones below replace."""

    times = 4

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, self.times * d_model)
        self.down = nn.Linear(self.times * d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x), approximate="tanh"))


@misconception(
    "FeedForward",
    tell="There is nothing between the two layers, so both together are no more than one of them. Put gelu there.",
)
class NothingBetween(Forward):
    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.up(x))


@misconception("FeedForward", tell="You use ReLU between the layers: it should be your gelu.")
class ReluBetween(Forward):
    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.relu(self.up(x)))


@misconception("FeedForward", tell="The middle is as wide as the outside. It should be four times as wide.")
class NotWider(Forward):
    times = 1


@misconception("FeedForward", tell="gelu comes after both layers. It belongs between them.")
class GeluAtTheEnd(Forward):
    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.down(self.up(x)), approximate="tanh")


@misconception(
    "FeedForward", tell="The input is added in the end. That shortcut belongs to the block, not to this network."
)
class WithAShortcut(Forward):
    def forward(self, x: Tensor) -> Tensor:
        return x + super().forward(x)


# ---------------------------------------------------------------- Block


class Parts(nn.Module):
    """The four parts, for the wrong answers below."""

    def __init__(self, d_model: int, heads: int, dropout: float = 0.0) -> None:
        from attention import CausalSelfAttention

        super().__init__()
        self.norm1, self.norm2 = Norm(d_model), Norm(d_model)
        self.attn = CausalSelfAttention(d_model, heads, dropout)
        self.ff = Forward(d_model)


@misconception(
    "Block",
    tell="The normalization comes after the sum (post-norm). Here it comes first: each part sees normalized input.",
)
class PostNorm(Parts):
    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attn(x))
        return self.norm2(x + self.ff(x))


@misconception("Block", tell="You add the normalized input. The shortcut leads past the normalization: add x itself.")
class AddsTheNormalized(Parts):
    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x)
        x = x + self.attn(x)
        x = self.norm2(x)
        return x + self.ff(x)


@misconception("Block", tell="The shortcuts are missing: add the input of each part to its output.")
class NoShortcuts(Parts):
    def forward(self, x: Tensor) -> Tensor:
        return self.ff(self.norm2(self.attn(self.norm1(x))))


@misconception(
    "Block", tell="Both parts read the same x. The feed-forward network reads the sum that the attention has made."
)
class SideBySide(Parts):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.attn(self.norm1(x)) + self.ff(self.norm2(x))


@misconception(
    "Block", tell="The second shortcut adds the input of the block. It should add the sum that the attention has made."
)
class SecondShortcutFromTheStart(Parts):
    def forward(self, x: Tensor) -> Tensor:
        inner = x + self.attn(self.norm1(x))
        return x + self.ff(self.norm2(inner))


@misconception("Block", tell="norm1 is used twice: the second part has a normalization of its own, norm2.")
class OneNormForBoth(Parts):
    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.ff(self.norm1(x))


@misconception("Block", tell="The order is the other way round: attention first, then the feed-forward network.")
class FeedForwardFirst(Parts):
    def forward(self, x: Tensor) -> Tensor:
        x = x + self.ff(self.norm2(x))
        return x + self.attn(self.norm1(x))


@misconception("Block", tell="`dropout` does not reach the attention: pass it on.")
class DropoutNotPassedOn(Parts):
    def __init__(self, d_model: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, heads)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.ff(self.norm2(x))
