# verdict: failed
# message: is each one drawn on its own?


def dropout(x, p, training, generator):
    if not 0 <= p < 1:
        raise ValueError(p)
    if not training or p == 0:
        return x
    keep = torch.ones(x.numel())
    keep[torch.randperm(x.numel(), generator=generator)[: round(x.numel() * p)]] = 0
    return x * keep.reshape(x.shape) / (1 - p)
