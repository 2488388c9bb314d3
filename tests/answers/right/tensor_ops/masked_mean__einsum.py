def masked_mean(x, mask):
    m = mask.to(x.dtype)
    totals = torch.einsum("ntd,nt->nd", x, m)
    return totals / m.sum(1, keepdim=True).clamp_min(1)
