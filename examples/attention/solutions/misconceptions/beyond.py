"""Classic wrong answers of beyond, each with the message for the student who gave it."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from grader.testkit import misconception

# ---------------------------------------------------------------- KVCache


class Base:
    """A right answer, with parts that the wrong ones below replace."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple[Tensor, Tensor]] = {}

    def join(self, old: Tensor, new: Tensor) -> Tensor:
        return torch.cat([old, new], 2)

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if layer in self.kept:
            k, v = self.join(self.kept[layer][0], k), self.join(self.kept[layer][1], v)
        self.kept[layer] = k, v
        return k, v

    def __len__(self) -> int:
        return self.kept[0][0].shape[2] if 0 in self.kept else 0


@misconception("KVCache", tell="Old positions come after the new ones: the old ones come first.")
class NewOnesFirst(Base):
    def join(self, old: Tensor, new: Tensor) -> Tensor:
        return torch.cat([new, old], 2)


@misconception("KVCache", tell="append returns the new positions alone. It should return all of that layer so far.")
class ReturnsTheNewOnes(Base):
    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        super().append(layer, k, v)
        return k, v


@misconception("KVCache", tell="All layers share one pair of tensors. Each layer has keys and values of its own.")
class OneForAllLayers(Base):
    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return super().append(0, k, v)


@misconception("KVCache", tell="All caches share one dict, because it belongs to the class. Make it in __init__.")
class SharedByAllCaches(Base):
    everything: dict[int, tuple[Tensor, Tensor]] = {}

    def __init__(self) -> None:
        self.kept = self.everything


@misconception(
    "KVCache",
    tell="len counts how often append was called. It is the number of positions of layer 0, and a call may bring "
    "several.",
)
class CountsCalls(Base):
    calls = 0

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self.calls += layer == 0
        return super().append(layer, k, v)

    def __len__(self) -> int:
        return self.calls


@misconception("KVCache", tell="Values are kept as keys: both results are the same tensor.")
class KeysForValues(Base):
    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return super().append(layer, k, k)


# ---------------------------------------------------------------- step


def stepped(model, cache, ids, *, position=None, again=False, alone=False, grad=False, check=True, norm=True):
    """A right answer, and the switches that make it a wrong one."""
    place = len(cache) if position is None else position
    if check and len(cache) >= model.context:
        raise ValueError
    with torch.set_grad_enabled(grad):
        x = (model.tokens(ids) + model.positions.weight[min(place, model.context - 1)])[:, None]
        for layer, block in enumerate(model.blocks):
            inner, attn = block.norm1(x), block.attn
            q, k, v = (
                f(inner).unflatten(-1, (attn.heads, -1)).transpose(1, 2) for f in (attn.query, attn.key, attn.value)
            )
            every = cache.append(layer, k, v)
            mixed = F.scaled_dot_product_attention(q, *((k, v) if alone else every))
            x = x + attn.out(mixed.transpose(1, 2).flatten(2))
            x = x + block.ff(block.norm2(x))
        return ((model.norm(x) if norm else x) @ model.tokens.weight.T)[:, 0]


@misconception(
    "step", tell="Every letter gets position 0. Its position is the number of letters that the cache has seen."
)
def always_position_0(model: nn.Module, cache: object, ids: Tensor) -> Tensor:
    return stepped(model, cache, ids, position=0)


@misconception(
    "step", tell="The position is one too large: the first letter is at position 0, when the cache is empty."
)
def position_one_too_large(model: nn.Module, cache: object, ids: Tensor) -> Tensor:
    return stepped(model, cache, ids, position=len(cache) + 1)


@misconception(
    "step", tell="The new letter only looks at itself. Its query meets all keys and values that append returns."
)
def looks_only_at_itself(model: nn.Module, cache: object, ids: Tensor) -> Tensor:
    return stepped(model, cache, ids, alone=True)


@misconception("step", tell="The logits have a graph, and so has all that the cache keeps: use torch.no_grad().")
def records_a_graph(model: nn.Module, cache: object, ids: Tensor) -> Tensor:
    return stepped(model, cache, ids, grad=True)


@misconception("step", tell="A full cache must raise ValueError: there is no position for one more letter.")
def goes_on_past_the_context(model: nn.Module, cache: object, ids: Tensor) -> Tensor:
    return stepped(model, cache, ids, check=False)


@misconception("step", tell="The last normalization, model.norm, is missing in front of the head.")
def without_the_last_norm(model: nn.Module, cache: object, ids: Tensor) -> Tensor:
    return stepped(model, cache, ids, norm=False)


@misconception(
    "step",
    tell="You keep the letters and read the whole text again at each step. Only the new letter may go through the "
    "model.",
)
def reads_everything_again(model: nn.Module, cache: object, ids: Tensor) -> Tensor:
    texts = getattr(cache, "texts", ids[:, :0])
    cache.texts = torch.cat([texts, ids[:, None]], 1)
    cache.append(0, torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1, 1))
    with torch.no_grad():
        return model(cache.texts)[:, -1]


# ---------------------------------------------------------------- MaskAndPositions


class Buffers(nn.Module):
    """A right answer, with parts that the wrong ones below replace."""

    kept = False

    def __init__(self, context: int, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.keep("positions", self.rows(context, d_model))
        self.keep("mask", torch.ones(context, context, dtype=torch.bool).tril())

    def keep(self, name: str, tensor: Tensor) -> None:
        self.register_buffer(name, tensor, persistent=self.kept)

    def rows(self, context: int, d: int) -> Tensor:
        angles = torch.arange(context).double()[:, None] / 10000 ** (torch.arange(0, d, 2).double() / d)
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(1).float()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        t = x.shape[1]
        return x + self.positions[:t], self.mask[:t, :t]


@misconception(
    "MaskAndPositions", tell="Plain attributes stay on the CPU when the module moves. Make both tensors buffers."
)
class PlainAttributes(Buffers):
    def keep(self, name: str, tensor: Tensor) -> None:
        setattr(self, name, tensor)


@misconception(
    "MaskAndPositions",
    tell="Plain attributes are moved in each forward pass. As buffers they move once, with the module.",
)
class MovedInEachForward(PlainAttributes):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        t = x.shape[1]
        return x + self.positions[:t].to(x.device), self.mask[:t, :t].to(x.device)


@misconception(
    "MaskAndPositions", tell="The positions are a parameter, so an optimizer would change them. Make them a buffer."
)
class PositionsAsParameter(Buffers):
    def keep(self, name: str, tensor: Tensor) -> None:
        if name == "positions":
            self.positions = nn.Parameter(tensor, requires_grad=False)
        else:
            super().keep(name, tensor)


@misconception(
    "MaskAndPositions", tell="Both buffers are saved with the model, though they can be worked out: persistent=False."
)
class SavedBuffers(Buffers):
    kept = True


@misconception(
    "MaskAndPositions",
    tell="All sines come first, and then all cosines. They take turns: sine in even dims, cosine in odd ones.",
)
class SinesThenCosines(Buffers):
    def rows(self, context: int, d: int) -> Tensor:
        rows = super().rows(context, d)
        return torch.cat([rows[:, ::2], rows[:, 1::2]], 1)


@misconception(
    "MaskAndPositions", tell="The mask has all places of the context. It should be cut to the t places of x."
)
class MaskOfTheWholeContext(Buffers):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x + self.positions[: x.shape[1]], self.mask


# ---------------------------------------------------------------- train_on_ranks


def trained(
    world_size: int, model: nn.Module, windows: Tensor, batch: int, lr: float,
    *, broadcast: bool = True, reduce: bool = True, divide: bool = True, clear: bool = True, at_end: bool = False,
) -> dict[str, Tensor]:  # fmt: skip
    """A right answer, and the switches that make it a wrong one."""
    if broadcast:
        for parameter in model.parameters():
            dist.broadcast(parameter.detach(), src=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for rows in windows.split(batch):
        if clear:
            optimizer.zero_grad()
        F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()).backward()
        for parameter in model.parameters() if reduce else ():
            dist.all_reduce(parameter.grad)
            if divide:
                parameter.grad /= world_size
        optimizer.step()
    if at_end:
        for parameter in model.parameters():
            dist.all_reduce(parameter.detach())
            parameter.detach().div_(world_size)
    return {name: value.detach() for name, value in model.state_dict().items()}


@misconception(
    "train_on_ranks",
    tell="Each rank keeps the weights that it began with. Send those of rank 0 to all, before the first step.",
)
def each_begins_on_its_own(
    rank: int, world_size: int, model: nn.Module, windows: Tensor, batch: int, lr: float
) -> dict[str, Tensor]:
    return trained(world_size, model, windows, batch, lr, broadcast=False)


@misconception(
    "train_on_ranks", tell="Gradients are added up and not divided by the number of ranks: the step is too large."
)
def sums_gradients(
    rank: int, world_size: int, model: nn.Module, windows: Tensor, batch: int, lr: float
) -> dict[str, Tensor]:
    return trained(world_size, model, windows, batch, lr, divide=False)


@misconception("train_on_ranks", tell="The ranks train each for itself: no gradient is shared.")
def each_for_itself(
    rank: int, world_size: int, model: nn.Module, windows: Tensor, batch: int, lr: float
) -> dict[str, Tensor]:
    return trained(world_size, model, windows, batch, lr, reduce=False)


@misconception(
    "train_on_ranks",
    tell="Weights are averaged in the end, after each rank has trained for itself. Average the gradients before "
    "each step.",
)
def averages_weights_in_the_end(
    rank: int, world_size: int, model: nn.Module, windows: Tensor, batch: int, lr: float
) -> dict[str, Tensor]:
    return trained(world_size, model, windows, batch, lr, reduce=False, at_end=True)


@misconception("train_on_ranks", tell="Gradients are never cleared, so each step has those of all steps before it.")
def never_clears(
    rank: int, world_size: int, model: nn.Module, windows: Tensor, batch: int, lr: float
) -> dict[str, Tensor]:
    return trained(world_size, model, windows, batch, lr, clear=False)


@misconception(
    "train_on_ranks",
    tell="The names begin with `module.`, as DistributedDataParallel wraps the model. Return the state_dict of the"
    " model inside.",
)
def names_of_the_wrapper(
    rank: int, world_size: int, model: nn.Module, windows: Tensor, batch: int, lr: float
) -> dict[str, Tensor]:
    return {f"module.{name}": value for name, value in trained(world_size, model, windows, batch, lr).items()}
