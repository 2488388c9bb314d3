"""A language model: from letters to a model that writes, and to a number that says how good it is.

Read: Raschka, *Build a Large Language Model (From Scratch)*, chapters 4 "Implementing a GPT model from scratch to
generate text" and 5 "Pretraining on unlabeled data".
"""

import math
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

TEXT = (
    "a small boat left the harbour at dawn. the sea was calm, and the wind was kind. "
    "at noon the wind turned. the sea rose, the boat turned back, and at dusk the small "
    "boat lay in the harbour. nobody had seen it leave. the sea was calm again."
)
"""Something to read; for experiments of your own."""


class TinyGPT(nn.Module):
    """A small GPT: it reads numbers of letters, and says for each place which letter may come next.

    The module has these parts and no other parameters:

    - ``tokens``, a ``nn.Embedding`` of ``vocab`` rows, and ``positions``, one of ``context`` rows, both of the width
      ``d_model``; their weights are drawn from a normal distribution with standard deviation 0.02;
    - ``blocks``, a ``nn.ModuleList`` (or ``nn.Sequential``) of ``layers`` times your ``Block`` of ``blocks.py``, and
      ``norm``, your ``LayerNorm`` (import both here, in the method);
    - the head shares its weight with ``tokens``: there is one parameter for both, and no bias.

    The forward pass adds the rows of ``positions`` 0, 1, … to those of the letters, applies the blocks in order and
    ``norm``, and gives the dot products with all rows of ``tokens``: the logits.

    Args:
        vocab: how many letters there are.
        context: the longest text that it reads; kept as the attribute ``context``.
        d_model: the width of every position.
        heads: of each block; they divide ``d_model``.
        layers: how many blocks.

    ``forward(ids)`` takes int64 of shape ``(b, t)`` and returns logits ``(b, t, vocab)``.

    Raises:
        ValueError: from ``forward``, if t is more than ``context``.

    Example:
        >>> model = TinyGPT(vocab=5, context=8, d_model=4, heads=2, layers=1)
        >>> model(torch.tensor([[0, 3, 1]])).shape
        torch.Size([1, 3, 5])

    Read: Raschka, section 4.6 "Coding the GPT model".
    """

    def __init__(self, vocab: int, context: int, d_model: int, heads: int, layers: int) -> None:
        # a tied head needs no layer of its own
        raise NotImplementedError("write `TinyGPT.__init__` here")

    def forward(self, ids: Tensor) -> Tensor:
        raise NotImplementedError("write `TinyGPT.forward` here")


def lm_loss(logits: Tensor, targets: Tensor, ignore: int = -100) -> Tensor:
    """The mean cross-entropy over all places whose target counts.

    Args:
        logits: shape ``(b, t, vocab)``, float32.
        targets: shape ``(b, t)``, int64: the right letter at each place, or ``ignore``. At least one counts.
        ignore: targets with this number count nothing, neither in the sum nor in the number of places.

    Returns:
        A tensor with no dims, with a graph if the logits have one.

    Example:
        >>> lm_loss(torch.zeros(1, 2, 4), torch.tensor([[3, -100]]))
        tensor(1.3863)

    Read: Raschka, section 5.1.2 "Calculating the text generation loss".
    """
    # cross_entropy wants the classes in the last of two dims
    raise NotImplementedError("write `lm_loss` here")


def batches(text_ids: Tensor, context: int, batch: int, seed: int) -> Iterable[tuple[Tensor, Tensor]]:
    """One pass over a text in windows: inputs, and the same one letter later as targets.

    A window is ``context`` letters that follow one another; one begins at each letter, as long as its last target is
    still in the text: so there are ``len(text_ids) - context`` windows. A pass has each of them once, shuffled by the
    seed: the same seed gives the same order, and torch's global random numbers are not touched.

    Args:
        text_ids: shape ``(n,)``, int64, with n above ``context``.
        context: letters in a window, at least 1.
        batch: windows in a batch, at least 1; the last batch may have fewer.
        seed: decides the order.

    Returns:
        The batches of one pass, as a list or anything that ``for`` takes: pairs ``(inputs, targets)``, each int64 of
        shape ``(batch, context)``.

    Raises:
        ValueError: if the text has no window; at the latest when the first batch is asked for.

    Example:
        >>> sorted(inputs.tolist() + targets.tolist() for inputs, targets in batches(torch.arange(4), 2, 1, seed=0))
        [[[0, 1], [1, 2]], [[1, 2], [2, 3]]]

    Read: Raschka, section 2.6 "Data sampling with a sliding window".
    """
    # a generator of its own shuffles; unfold gives every window
    raise NotImplementedError("write `batches` here")


def generate(
    model: nn.Module,
    ids: Tensor,
    n: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Lets a model write: n times it appends one letter to each text, drawn by the logits of the last place.

    With temperature 0 that is the letter with the largest logit, and nothing is drawn. Else a letter is drawn by the
    softmax of the logits divided by the temperature; with ``top_k`` only from the k letters with the largest logits.
    Of a text that is longer, the model reads the last ``model.context`` letters. It runs in eval mode and without a
    graph; its training flags, and those of its parts, are as before when the function returns.

    Args:
        model: takes int64 ``(b, t)`` with t from 1 to its attribute ``context``, and returns logits ``(b, t, vocab)``.
        ids: shape ``(b, t)``, int64, t at least 1.
        n: how many letters to append, 0 or more.
        temperature: 0 or more.
        top_k: from 1 to vocab; None: all letters.
        generator: where random numbers come from; None: torch's global generator. No other one is used.

    Returns:
        Shape ``(b, t + n)``, int64: the texts, each with what was written.

    Read: Raschka, section 5.3 "Decoding strategies to control randomness".
    """
    # remember the flags, cut from the left, ask for the last place
    raise NotImplementedError("write `generate` here")


def perplexity(model: nn.Module, ids: Tensor) -> float:
    """How many letters a model hesitates between, on average: e to the mean loss of each letter but the first.

    The text is read in pieces: letters 0, …, c - 1 predict 1, …, c, where c is ``model.context``; letters c, …, 2c - 1
    predict c + 1, …, 2c, and so on; the last piece may be shorter. So each letter but the first is predicted once, and
    counts the same. The model runs in eval mode and without a graph; its training flags are as before afterwards.

    Args:
        model: as for `generate`.
        ids: shape ``(n,)``, int64, n at least 2.

    Returns:
        A Python float, at least 1.

    Read: Raschka, section 5.1.2, on perplexity.
    """
    # add up losses, and count letters
    raise NotImplementedError("write `perplexity` here")


def overfit(text: str, steps: int, seed: int) -> tuple[list[float], str]:
    """Trains a `TinyGPT` on a single short text until it knows it by heart: the first test of any training code.

    Letters are numbered in the order of ``sorted(set(text))``. The model's context is the length of the text, less one:
    each step reads all letters but the last one as a single row, and its targets are all but the first. Width, heads,
    layers, optimizer and learning rate are yours: 32, 2, 1, AdamW and 0.01 are good enough.

    Args:
        text: 2 to 32 letters.
        steps: of the optimizer, at least 1. With 80 and more, the last loss is below 0.1, and the text is reproduced.
        seed: decides the first weights: the same seed gives the same result, another one another result.

    Returns:
        The loss of each step, before it, as Python floats; and the text that the trained model writes by `generate` at
        temperature 0, from the first letter on, as long as the text, first letter included.

    Read: Raschka, section 5.2 "Training an LLM".
    """
    # number the letters, train, write, and turn numbers into letters again
    raise NotImplementedError("write `overfit` here")
