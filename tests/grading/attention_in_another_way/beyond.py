"""Right answers of another kind: lists in the cache, a mask from positions, DistributedDataParallel."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class KVCache:
    def __init__(self):
        self.layers = {}

    def append(self, layer, k, v):
        pieces = self.layers.setdefault(layer, ([], []))
        pieces[0].append(k)
        pieces[1].append(v)
        return [torch.cat(part, dim=-2) for part in pieces]

    def __len__(self):
        return sum(k.shape[2] for k in self.layers.get(0, ([], []))[0])


@torch.inference_mode()
def step(model, cache, ids):
    place = len(cache)
    if place == model.context:
        raise ValueError("full")
    b = len(ids)
    x = model.tokens(ids) + model.positions(torch.tensor(place))
    for number, block in enumerate(model.blocks):
        attn, inner = block.attn, block.norm1(x)
        heads = [layer(inner).reshape(b, attn.heads, 1, -1) for layer in (attn.query, attn.key, attn.value)]
        keys, values = cache.append(number, heads[1], heads[2])
        scores = torch.einsum("bhqd,bhkd->bhqk", heads[0], keys) / keys.shape[-1] ** 0.5
        x = x + attn.out(torch.einsum("bhqk,bhkd->bqhd", scores.softmax(-1), values).reshape(b, -1))
        x = x + block.ff(block.norm2(x))
    return F.linear(model.norm(x), model.tokens.weight)


class MaskAndPositions(nn.Module):
    def __init__(self, context, d_model):
        super().__init__()
        rows = torch.zeros(context, d_model)
        for place in range(context):
            for i in range(d_model // 2):
                angle = torch.tensor(place / 10000 ** (2 * i / d_model), dtype=torch.float64)
                rows[place, 2 * i], rows[place, 2 * i + 1] = angle.sin(), angle.cos()
        self.register_buffer("rows", rows, persistent=False)
        self.register_buffer("places", torch.arange(context), persistent=False)

    def forward(self, x):
        places = self.places[: x.shape[1]]
        return x + self.rows[: x.shape[1]], places[:, None] >= places


def train_on_ranks(rank, world_size, model, windows, batch, lr):
    wrapped = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(wrapped.parameters(), lr)
    for start in range(0, len(windows), batch):
        rows = windows[start : start + batch]
        optimizer.zero_grad()
        logits = wrapped(rows[:, :-1])
        F.cross_entropy(logits.transpose(1, 2), rows[:, 1:]).backward()
        optimizer.step()
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
