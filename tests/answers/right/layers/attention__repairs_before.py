def attention(q, k, v, mask=None):
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -math.inf)
    return torch.nan_to_num(F.softmax(scores, dim=-1)) @ v
