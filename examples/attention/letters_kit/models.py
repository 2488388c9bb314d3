"""Recipes: small models that read letters, for checks of functions that take any language model."""

import torch
from torch import Tensor, nn

from grader.testkit import recipes

VOCAB = 7
CONTEXT = 5


class Reader(nn.Module):
    """Letters ``(b, t)`` to logits ``(b, t, vocab)`` that depend on all letters before, and on their number.

    Args:
        vocab: how many letters.
        context: the longest text; a longer one raises, and so does one without letters.
        dropout: whether training mode drops half of the numbers, by a count and not by chance.
    """

    def __init__(self, vocab: int, context: int, dropout: bool) -> None:
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocab, 8)
        self.positions = nn.Embedding(context, 8)
        self.drop = recipes.CountedDropout() if dropout else nn.Identity()
        self.still = nn.Identity()
        self.head = nn.Linear(8, vocab)

    def forward(self, ids: Tensor) -> Tensor:
        t = ids.shape[1]
        if not 1 <= t <= self.context:
            raise ValueError(f"{t} letters where the context is {self.context}")
        x = (self.tokens(ids) + self.positions.weight[:t]).cumsum(dim=1)
        return self.head(self.drop(self.still(x.tanh())))


def reader(seed: int, context: int = CONTEXT, vocab: int = VOCAB, dropout: bool = True) -> Reader:
    """A `Reader` with weights from the seed, in training mode, but for one part that is in eval mode."""
    with recipes.seeded(seed):
        made = Reader(vocab, context, dropout)
    with torch.no_grad():
        made.head.weight.mul_(4.0)  # so that letters differ in how likely they are
    made.still.training = False
    return made


def plain_reader(seed: int) -> Reader:
    """A `Reader` without dropout."""
    return reader(seed, dropout=False)


def generator(seed: int) -> torch.Generator:
    """A random number generator at the start of its stream."""
    return torch.Generator().manual_seed(seed)


def letters(shape: tuple[int, ...], seed: int, vocab: int = VOCAB) -> Tensor:
    """Numbers of letters."""
    return torch.randint(0, vocab, shape, generator=generator(seed))
