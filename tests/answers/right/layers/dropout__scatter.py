def dropout(x, p, training, generator):
    if not (p >= 0 and p < 1):
        raise ValueError("p must be in [0, 1)")
    if p == 0 or not training:
        return x
    factors = torch.full((x.numel(),), 1 / (1 - p), dtype=x.dtype)
    drawn = torch.empty(x.numel()).uniform_(generator=generator)
    factors[(drawn < p).nonzero().squeeze(1)] = 0
    return factors.reshape(x.shape) * x
