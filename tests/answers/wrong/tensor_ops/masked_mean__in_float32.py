# verdict: failed


def masked_mean(x, mask):
    x32 = x.float().masked_fill(~mask.unsqueeze(-1), 0)
    return (x32.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)).to(x.dtype)
