# verdict: failed
def attention(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ v
    scores[~mask] = torch.finfo(scores.dtype).min
    weights = scores.softmax(-1)
    return weights * mask @ v
