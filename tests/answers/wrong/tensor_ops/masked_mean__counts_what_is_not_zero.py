# verdict: failed


def masked_mean(x, mask):
    seen = x.masked_fill(~mask.unsqueeze(-1), 0)
    return seen.sum(1) / (seen != 0).sum(1).clamp(min=1)
