"""Classic wrong answers of language_model, each with the message for the student who gave it."""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.testkit import misconception

# ---------------------------------------------------------------- TinyGPT


class Base(nn.Module):
    """A right answer, with parts that the wrong ones below replace."""

    std = 0.02

    def __init__(self, vocab: int, context: int, d_model: int, heads: int, layers: int) -> None:
        from blocks import Block, LayerNorm

        super().__init__()
        self.context = context
        self.tokens, self.positions = nn.Embedding(vocab, d_model), nn.Embedding(context, d_model)
        self.blocks = nn.ModuleList(Block(d_model, heads) for _ in range(layers))
        self.norm = LayerNorm(d_model)
        for embedding in (self.tokens, self.positions):
            nn.init.normal_(embedding.weight, std=self.std)

    def embed(self, ids: Tensor) -> Tensor:
        t = ids.shape[1]
        if t > self.context:
            raise ValueError
        return self.tokens(ids) + self.positions(torch.arange(t, device=ids.device))

    def inner(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def head(self, x: Tensor) -> Tensor:
        return x @ self.tokens.weight.T

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.inner(self.embed(ids)))


@misconception("TinyGPT", tell="Positions are not added: the model cannot tell in which order the letters came.")
class WithoutPositions(Base):
    def embed(self, ids: Tensor) -> Tensor:
        if ids.shape[1] > self.context:
            raise ValueError
        return self.tokens(ids)


@misconception(
    "TinyGPT",
    tell="The head has a parameter of its own, or a copy. It should be the one that `tokens` has, to keep both equal.",
)
class HeadOfItsOwn(Base):
    def __init__(self, vocab: int, context: int, d_model: int, heads: int, layers: int) -> None:
        super().__init__(vocab, context, d_model, heads, layers)
        self.out = nn.Linear(d_model, vocab, bias=False)

    def head(self, x: Tensor) -> Tensor:
        return self.out(x)


@misconception("TinyGPT", tell="The last normalization, `norm`, is missing in front of the head.")
class WithoutTheLastNorm(Base):
    def inner(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


@misconception(
    "TinyGPT", tell="The blocks are in a plain list, so their parameters are unknown to the model: use nn.ModuleList."
)
class BlocksInAPlainList(Base):
    def __init__(self, vocab: int, context: int, d_model: int, heads: int, layers: int) -> None:
        super().__init__(vocab, context, d_model, heads, layers)
        blocks = list(self.blocks)
        del self.blocks
        self.blocks = blocks


@misconception(
    "TinyGPT",
    tell="Embeddings begin with a standard deviation of 1, so the first logits are large and the first loss is far"
    " from log(vocab). Draw them with 0.02.",
)
class LargeFirstWeights(Base):
    std = 1.0


@misconception("TinyGPT", tell="You return probabilities. The loss wants logits, without a softmax.")
class Probabilities(Base):
    def head(self, x: Tensor) -> Tensor:
        return super().head(x).softmax(-1)


@misconception("TinyGPT", tell="The numbers of the positions are made on the CPU. Make them on the device of ids.")
class PositionsOnTheCpu(Base):
    def embed(self, ids: Tensor) -> Tensor:
        t = ids.shape[1]
        if t > self.context:
            raise ValueError
        return self.tokens(ids) + self.positions(torch.arange(t))


@misconception(
    "TinyGPT",
    tell="A text that is too long is cut. It should raise ValueError, so that nobody loses letters without notice.",
)
class CutsSilently(Base):
    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids[:, -self.context :])


# ---------------------------------------------------------------- lm_loss


@misconception(
    "lm_loss",
    tell="Ignored places are left out of the sum, but still counted: divide by the number of places that count.",
)
def counts_what_is_ignored(logits: Tensor, targets: Tensor, ignore: int = -100) -> Tensor:
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=ignore, reduction="none")
    return losses.mean()


@misconception("lm_loss", tell="That is the sum of the losses. The mean is asked for.")
def sum_of_losses(logits: Tensor, targets: Tensor, ignore: int = -100) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=ignore, reduction="sum")


@misconception("lm_loss", tell="Only -100 is ignored, which is torch's default: pass `ignore` on.")
def ignores_only_the_default(logits: Tensor, targets: Tensor, ignore: int = -100) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten().clamp_min(-100))


@misconception("lm_loss", tell="You apply a softmax first. cross_entropy has it inside: give it the logits.")
def softmax_before_the_loss(logits: Tensor, targets: Tensor, ignore: int = -100) -> Tensor:
    return F.cross_entropy(logits.softmax(-1).flatten(0, 1), targets.flatten(), ignore_index=ignore)


@misconception(
    "lm_loss", tell="That is the mean of each text's mean. A text with many places must count more than one with few."
)
def mean_of_means(logits: Tensor, targets: Tensor, ignore: int = -100) -> Tensor:
    rows = [
        F.cross_entropy(one, other, ignore_index=ignore)
        for one, other in zip(logits, targets, strict=True)
        if bool((other != ignore).any())
    ]
    return torch.stack(rows).mean()


@misconception(
    "lm_loss", tell="You shift the targets once more. They are shifted already: place t has the target of place t."
)
def shifts_again(logits: Tensor, targets: Tensor, ignore: int = -100) -> Tensor:
    if targets.shape[1] == 1:
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=ignore)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten(), ignore_index=ignore)


# ---------------------------------------------------------------- batches


def cut(text_ids: Tensor, starts: Tensor, context: int, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
    rows = [text_ids[start : start + context + 1] for start in starts.tolist()]
    found = torch.stack(rows)
    return iter([(part[:, :-1], part[:, 1:]) for part in found.split(batch)])


def starts(text_ids: Tensor, context: int) -> int:
    if len(text_ids) <= context:
        raise ValueError
    return len(text_ids) - context


@misconception("batches", tell="The targets are the inputs. Each target is the letter that follows.")
def targets_are_inputs(text_ids: Tensor, context: int, batch: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    order = torch.randperm(starts(text_ids, context), generator=torch.Generator().manual_seed(seed))
    return iter([(inputs, inputs) for inputs, _ in cut(text_ids, order, context, batch)])


@misconception("batches", tell="The windows come in the order of the text: shuffle them by the seed.")
def not_shuffled(text_ids: Tensor, context: int, batch: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    return cut(text_ids, torch.arange(starts(text_ids, context)), context, batch)


@misconception(
    "batches",
    tell="The last window is missing: its last target is still in the text. There are len(text_ids) - context windows.",
)
def one_window_too_few(text_ids: Tensor, context: int, batch: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    count = starts(text_ids, context)
    order = torch.randperm(max(1, count - 1), generator=torch.Generator().manual_seed(seed))
    return cut(text_ids, order, context, batch)


@misconception("batches", tell="Your windows do not overlap. One begins at each letter.")
def windows_side_by_side(text_ids: Tensor, context: int, batch: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    every = torch.arange(0, starts(text_ids, context), context)
    order = every[torch.randperm(len(every), generator=torch.Generator().manual_seed(seed))]
    return cut(text_ids, order, context, batch)


@misconception(
    "batches",
    tell="Windows are drawn at random, so that some come twice and others never. A pass has each of them once.",
)
def drawn_with_repetition(text_ids: Tensor, context: int, batch: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    count = starts(text_ids, context)
    order = torch.randint(0, count, (count,), generator=torch.Generator().manual_seed(seed))
    return cut(text_ids, order, context, batch)


@misconception(
    "batches",
    tell="You seed torch's global random numbers, which everything else uses, too. Take a torch.Generator of your own.",
)
def seeds_the_global_generator(
    text_ids: Tensor, context: int, batch: int, seed: int
) -> Iterator[tuple[Tensor, Tensor]]:
    torch.manual_seed(seed)
    return cut(text_ids, torch.randperm(starts(text_ids, context)), context, batch)


@misconception("batches", tell="The last batch is left out if it is short. It belongs to the pass.")
def drops_the_short_batch(text_ids: Tensor, context: int, batch: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    order = torch.randperm(starts(text_ids, context), generator=torch.Generator().manual_seed(seed))
    return iter([pair for pair in cut(text_ids, order, context, batch) if len(pair[0]) == batch])


# ---------------------------------------------------------------- generate


def written(
    model: nn.Module, ids: Tensor, n: int, temperature: float, top_k: int | None, generator: torch.Generator | None,
    *, cut: bool = True, smallest: bool = False, eval_mode: bool = True, restore: bool = True, grad: bool = False,
    divide: bool = True, ignore_k: bool = False, best: bool = False, own: bool = True, only_new: bool = False,
) -> Tensor:  # fmt: skip
    """A right answer, and the switches that make it a wrong one."""
    flags = [(module, module.training) for module in model.modules()]
    first = ids.shape[1]
    if eval_mode:
        model.eval()
    for _ in range(n):
        with torch.set_grad_enabled(grad):
            logits = model(ids[:, -model.context :] if cut else ids[:, : model.context])[:, -1].detach()
        if top_k is not None and not ignore_k:
            kept = logits.topk(top_k, largest=not smallest).indices
            logits = torch.full_like(logits, -math.inf).scatter(1, kept, logits.gather(1, kept))
        if temperature == 0 or best:
            new = logits.argmax(-1, keepdim=True)
        else:
            probabilities = (logits / temperature if divide else logits * temperature).softmax(-1)
            new = torch.multinomial(probabilities, 1, generator=generator if own else None)
        ids = torch.cat([ids, new], 1)
    if restore:
        for module, flag in flags:
            module.training = flag
    elif eval_mode:
        model.train()
    return ids[:, first:] if only_new else ids


@misconception(
    "generate", tell="A text that is longer than the context is cut at its end: the model must read its last letters."
)
def cut_from_the_right(
    model: nn.Module, ids: Tensor, n: int, temperature: float = 1.0, top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    return written(model, ids, n, temperature, top_k, generator, cut=False)


@misconception(
    "generate",
    tell="The model writes in training mode, with dropout. Call model.eval() first, and put the flags back afterwards.",
)
def in_training_mode(
    model: nn.Module, ids: Tensor, n: int, temperature: float = 1.0, top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    return written(model, ids, n, temperature, top_k, generator, eval_mode=False)


@misconception(
    "generate",
    tell="Afterwards you call model.train(), which also turns parts on that were in eval mode before. Remember the"
    " flag of each part.",
)
def trains_all_afterwards(
    model: nn.Module, ids: Tensor, n: int, temperature: float = 1.0, top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    return written(model, ids, n, temperature, top_k, generator, restore=False)


@misconception("generate", tell="Each forward pass records a graph that nobody needs: use torch.no_grad().")
def records_graphs(
    model: nn.Module, ids: Tensor, n: int, temperature: float = 1.0, top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    return written(model, ids, n, temperature, top_k, generator, grad=True)


@misconception(
    "generate",
    tell="You multiply by the temperature. Divide the logits by it: a high temperature makes all letters alike.",
)
def multiplied_by_temperature(
    model: nn.Module, ids: Tensor, n: int, temperature: float = 1.0, top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    return written(model, ids, n, temperature, top_k, generator, divide=False)


@misconception("generate", tell="top_k is not used: letters outside of the k best can be drawn.")
def ignores_top_k(
    model: nn.Module, ids: Tensor, n: int, temperature: float = 1.0, top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    return written(model, ids, n, temperature, top_k, generator, ignore_k=True)


@misconception(
    "generate", tell="You always take the best letter. That is right at temperature 0 alone; else a letter is drawn."
)
def always_the_best(
    model: nn.Module, ids: Tensor, n: int, temperature: float = 1.0, top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    return written(model, ids, n, temperature, top_k, generator, best=True)


@misconception(
    "generate", tell="Letters are drawn from torch's global generator: pass `generator` on to torch.multinomial."
)
def from_the_global_generator(
    model: nn.Module, ids: Tensor, n: int, temperature: float = 1.0, top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    return written(model, ids, n, temperature, top_k, generator, own=False)


@misconception("generate", tell="You return what was written alone. The result begins with the text that was given.")
def only_the_new_letters(
    model: nn.Module, ids: Tensor, n: int, temperature: float = 1.0, top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:  # fmt: skip
    return written(model, ids, n, temperature, top_k, generator, only_new=True)


# ---------------------------------------------------------------- perplexity


def losses(model: nn.Module, ids: Tensor, training: bool = False, stride: int = 0, first: int = 0) -> list[Tensor]:
    """The losses of each piece."""
    flags = [(module, module.training) for module in model.modules()]
    if not training:
        model.eval()
    found = []
    for start in range(0, len(ids) - 1, stride or model.context):
        piece = ids[start : start + model.context + 1 - first]
        if len(piece) > 1:
            with torch.no_grad():
                found.append(F.cross_entropy(model(piece[None, :-1])[0], piece[1:], reduction="none"))
    for module, flag in flags:
        module.training = flag
    return found


@misconception("perplexity", tell="That is the mean loss. The perplexity is e to it.")
def loss_for_perplexity(model: nn.Module, ids: Tensor) -> float:
    return torch.cat(losses(model, ids)).mean().item()


@misconception(
    "perplexity",
    tell="That is the mean of the pieces' means: the last piece may be shorter, and each letter must count the same.",
)
def mean_over_pieces(model: nn.Module, ids: Tensor) -> float:
    return math.exp(sum(piece.mean().item() for piece in losses(model, ids)) / len(losses(model, ids)))


@misconception(
    "perplexity",
    tell="The first letter of each piece but the first one is never predicted: a piece has one letter more than "
    "the model reads.",
)
def loses_a_letter_of_each_piece(model: nn.Module, ids: Tensor) -> float:
    found = losses(model, ids, first=1)
    return math.exp(torch.cat(found).mean().item()) if found else math.nan


@misconception(
    "perplexity",
    tell="The model is measured in training mode, with dropout: call model.eval() first, and put the flags back.",
)
def measured_in_training_mode(model: nn.Module, ids: Tensor) -> float:
    return math.exp(torch.cat(losses(model, ids, training=True)).mean().item())


@misconception("perplexity", tell="You return a tensor. A Python float is asked for: .item().")
def tensor_for_a_float(model: nn.Module, ids: Tensor) -> Tensor:
    return torch.cat(losses(model, ids)).mean().exp()


@misconception(
    "perplexity", tell="The perplexity is a power of e, as cross_entropy takes natural logarithms, not a power of 2."
)
def power_of_two(model: nn.Module, ids: Tensor) -> float:
    return 2.0 ** torch.cat(losses(model, ids)).mean().item()


# ---------------------------------------------------------------- overfit


def trained(
    text: str,
    steps: int,
    seed: int,
    *,
    clear: bool = True,
    shift: int = 1,
    ask: int = 1,
    keep: bool = True,
    alike: bool = False,
    late: bool = False,
) -> tuple[list[float], str]:
    """A right answer, and the switches that make it a wrong one."""
    from language_model import TinyGPT, generate, lm_loss

    letters = sorted(set(text))
    ids = torch.tensor([[letters.index(letter) for letter in text]])
    with torch.random.fork_rng(devices=[]):
        if not alike:
            torch.manual_seed(seed)
        model = TinyGPT(len(letters), len(text) - 1, 32, 2, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        loss = lm_loss(model(ids[:, :-1]), ids[:, shift : shift + len(text) - 1])
        if clear:
            optimizer.zero_grad()
        loss.backward()
        if not late:
            optimizer.step()
        losses.append(loss.item() if keep else round(loss.item()))
    found = generate(model, ids[:, :ask], len(text) - ask, 0)
    return losses, "".join(letters[number] for number in found[0].tolist())


@misconception(
    "overfit",
    tell="The targets are the letters themselves, so the model learns to repeat what it reads. The target is the "
    "next letter.",
)
def learns_to_repeat(text: str, steps: int, seed: int) -> tuple[list[float], str]:
    return trained(text, steps, seed, shift=0)


@misconception("overfit", tell="Losses come back, but the weights never change: optimizer.step() is missing.")
def never_steps(text: str, steps: int, seed: int) -> tuple[list[float], str]:
    return trained(text, steps, seed, late=True)


@misconception("overfit", tell="The seed is not used: two seeds give the same first weights.")
def ignores_the_seed(text: str, steps: int, seed: int) -> tuple[list[float], str]:
    return trained(text, steps, 0)


@misconception(
    "overfit", tell="You return the text that was given. It should be what the model writes, from the first letter on."
)
def returns_the_given_text(text: str, steps: int, seed: int) -> tuple[list[float], str]:
    return trained(text, steps, seed)[0], text


@misconception("overfit", tell="The first letter is missing in what you return: it belongs to the text.")
def without_the_first_letter(text: str, steps: int, seed: int) -> tuple[list[float], str]:
    losses, found = trained(text, steps, seed)
    return losses, found[1:]
