"""Beyond: a model that remembers what it has read, positions without parameters on any device, and many processes.

Read: Raschka, *Build a Large Language Model (From Scratch)*, chapters 4 and 5, and appendix A.9 "Optimizing training
performance with GPUs".
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn


class KVCache:
    """Keeps the keys and values of all positions that a model has read, layer by layer.

    ``append(layer, k, v)`` adds those of one or more new positions, each of shape ``(b, heads, n, w)`` with n at least
    1, and returns all keys and all values of that layer so far, each of shape ``(b, heads, total, w)``, old ones first.
    Layers are numbered from 0, and each has positions of its own.

    ``len(cache)`` is how many positions layer 0 has; 0 for a new cache.

    Example:
        >>> cache = KVCache()
        >>> k, v = cache.append(0, torch.zeros(1, 2, 3, 4), torch.ones(1, 2, 3, 4))
        >>> k, v = cache.append(0, torch.zeros(1, 2, 1, 4), torch.ones(1, 2, 1, 4))
        >>> v.shape, len(cache)
        (torch.Size([1, 2, 4, 4]), 4)
    """

    # solution: one pair of tensors for each layer
    def __init__(self) -> None:
        self._kept: dict[int, tuple[Tensor, Tensor]] = {}

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if layer in self._kept:
            old_k, old_v = self._kept[layer]
            k, v = torch.cat([old_k, k], dim=2), torch.cat([old_v, v], dim=2)
        self._kept[layer] = k, v
        return k, v

    def __len__(self) -> int:
        if 0 not in self._kept:
            return 0
        keys, _ = self._kept[0]
        return keys.shape[2]

    # end


def step(model: nn.Module, cache: KVCache, ids: Tensor) -> Tensor:
    """Reads one more letter of each text, and gives the logits for the next one.

    The result equals the last place of ``model(texts)``, where the texts are all letters that this cache has seen, the
    new ones included. But only the new letters go through the model: the keys and values of the old ones come out of
    the cache, so that the work of a step hardly grows. No graph is recorded.

    Args:
        model: your ``TinyGPT`` of ``language_model.py``, in eval mode, with the parts that its docstring names.
        cache: a `KVCache` with what earlier steps have read; step k reads position k. It grows by one position.
        ids: shape ``(b,)``, int64: the next letter of each text.

    Returns:
        Logits, shape ``(b, vocab)``.

    Raises:
        ValueError: if the cache is as long as ``model.context``.

    Read: Raschka, section 4.7 "Generating text", where all letters are read again for each new one.
    """
    # solution: a forward pass by hand, for a text of one letter; attention is over what the cache returns
    position = len(cache)
    if position >= model.context:
        raise ValueError(f"the context of {model.context} letters is full")
    with torch.no_grad():
        x = (model.tokens(ids) + model.positions.weight[position])[:, None]
        for layer, block in enumerate(model.blocks):
            inner, attn = block.norm1(x), block.attn
            q, k, v = (
                part(inner).unflatten(-1, (attn.heads, -1)).transpose(1, 2)
                for part in (attn.query, attn.key, attn.value)
            )
            mixed = F.scaled_dot_product_attention(q, *cache.append(layer, k, v))
            x = x + attn.out(mixed.transpose(1, 2).flatten(2))
            x = x + block.ff(block.norm2(x))
        return (model.norm(x) @ model.tokens.weight.T)[:, 0]
    # end


class MaskAndPositions(nn.Module):
    """Positions as sines and cosines, and the causal mask: worked out once, and always where the module is.

    Both are buffers: they follow ``.to(device)``, are no parameters, and as they can always be worked out again they
    are not in ``state_dict()``. The forward pass moves nothing between devices and makes the CPU wait for nothing.

    Row p of the positions, for the even dims 2i and the odd dims 2i + 1, is
    ``sin(p / 10000 ** (2i / d_model))`` and ``cos(p / 10000 ** (2i / d_model))``.

    Args:
        context: the longest text.
        d_model: the width of every position, even.

    ``forward(x)`` takes shape ``(b, t, d_model)``, float32, t up to ``context``, on the device of the module. It
    returns ``x`` plus the first t rows of the positions, and the mask: shape ``(t, t)``, bool, True where a position
    may see another one; both on that device.

    Read: PyTorch docs, ``torch.nn.Module.register_buffer``; Raschka, section 3.5.3 "Implementing a compact causal
    attention class", on buffers.
    """

    # solution: register_buffer, with persistent=False
    def __init__(self, context: int, d_model: int) -> None:
        super().__init__()
        angles = torch.arange(context)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
        positions = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
        self.register_buffer("positions", positions, persistent=False)
        self.register_buffer("mask", torch.ones(context, context, dtype=torch.bool).tril(), persistent=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        t = x.shape[1]
        return x + self.positions[:t], self.mask[:t, :t]

    # end


def train_on_ranks(
    rank: int, world_size: int, model: nn.Module, windows: Tensor, batch: int, lr: float
) -> dict[str, Tensor]:
    """Trains a language model on several processes at once, each with texts of its own.

    The process group is set up already. One pass over the windows, in their order: in each step every rank takes the
    next ``batch`` of its rows; the loss is the mean cross-entropy over the letters of the rows of all ranks, and the
    step is one of plain SGD. All ranks begin with the weights of rank 0, whatever their own were, and all end with the
    same weights: those of a single process that takes the rows of all ranks in each step.

    Args:
        rank: of this process, from 0.
        world_size: how many there are.
        model: takes int64 ``(b, t)``, returns logits ``(b, t, vocab)``. It is on the CPU, all of its parameters are
            used, and it has no buffers; it is trained in place.
        windows: this rank's rows, shape ``(n, t + 1)``, int64, with the same n and t on every rank: letters 0 to t - 1
            of a row are the input, 1 to t the targets.
        batch: rows of this rank in a step; it divides n.
        lr: the learning rate.

    Returns:
        The model's ``state_dict()`` under its own names, the same on every rank.

    Read: Raschka, appendix A.9.3 "Training with multiple GPUs"; PyTorch docs, ``torch.distributed``.
    """
    # solution: begin alike, and average the gradients of all ranks before each step
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for rows in windows.split(batch):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= world_size
        optimizer.step()
    return model.state_dict()
    # end
