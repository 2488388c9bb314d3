"""Right answers of another kind: a tied layer for the head, generators, sampling by hand, one letter at a time."""

import math

import torch
from torch import nn


class TinyGPT(nn.Module):
    def __init__(self, vocab, context, d_model, heads, layers):
        import blocks

        super().__init__()
        self.context = context
        self.head = nn.Linear(d_model, vocab, bias=False)
        self.tokens = nn.Embedding(vocab, d_model)
        self.tokens.weight = self.head.weight
        self.positions = nn.Embedding(context, d_model)
        with torch.no_grad():
            self.tokens.weight.normal_(0, 0.02)
            self.positions.weight.normal_(0, 0.02)
        self.blocks = nn.Sequential(*[blocks.Block(d_model, heads) for _ in range(layers)])
        self.norm = blocks.LayerNorm(d_model)

    def forward(self, ids):
        b, t = ids.shape
        if t > self.context:
            raise ValueError("too long")
        x = self.tokens(ids) + self.positions.weight[:t].expand(b, t, -1)
        return self.head(self.norm(self.blocks(x)))


def lm_loss(logits, targets, ignore=-100):
    total, count = logits.sum() * 0, 0
    for row, targets_of_row in zip(logits, targets, strict=True):
        for place, target in zip(row, targets_of_row.tolist(), strict=True):
            if target != ignore:
                total = total + place.logsumexp(0) - place[target]
                count += 1
    return total / count


def batches(text_ids, context, batch, seed):
    count = len(text_ids) - context
    if count < 1:
        raise ValueError("too short")
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()
    while order:
        starts, order = order[:batch], order[batch:]
        inputs = torch.stack([text_ids[start : start + context] for start in starts])
        yield inputs, torch.stack([text_ids[start + 1 : start + context + 1] for start in starts])


def generate(model, ids, n, temperature=1.0, top_k=None, generator=None):
    modes = {module: module.training for module in model.modules()}
    for module in modes:
        module.training = False
    text = ids.clone()
    with torch.inference_mode():
        while n > 0:
            last = model(text[:, max(0, text.shape[1] - model.context) :])[:, -1, :]
            if temperature == 0:
                new = last.max(dim=1).indices
            else:
                order = last.argsort(dim=1, descending=True)
                best = order if top_k is None else order[:, :top_k]
                chances = (last.gather(1, best) / temperature).softmax(dim=1).cumsum(dim=1)
                drawn = torch.rand(len(text), 1, generator=generator) * chances[:, -1:]
                new = best.gather(1, (drawn >= chances).sum(dim=1, keepdim=True).clamp_max(best.shape[1] - 1))[:, 0]
            text = torch.cat([text, new.reshape(-1, 1)], dim=1)
            n -= 1
    for module, mode in modes.items():
        module.training = mode
    return text.clone()


def perplexity(model, ids):
    modes = [(module, module.training) for module in model.modules()]
    model.train(False)
    logs = []
    with torch.no_grad():
        for place in range(1, len(ids)):
            start = (place - 1) // model.context * model.context
            logs.append(model(ids[None, start:place])[0, -1].log_softmax(0)[ids[place]].item())
    for module, mode in modes:
        module.training = mode
    return math.exp(-sum(logs) / len(logs))


def overfit(text, steps, seed):
    number = {letter: place for place, letter in enumerate(sorted(set(text)))}
    ids = torch.tensor([number[letter] for letter in text])
    torch.manual_seed(seed)
    model = TinyGPT(len(number), len(text) - 1, 48, 4, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(ids[None, :-1])[0], ids[1:])
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    found = generate(model, ids[None, :1], len(text) - 1, 0.0)[0]
    return losses, "".join(sorted(number)[place] for place in found)
