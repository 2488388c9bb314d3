# verdict: failed
_attended = attention


def attention(q, k, v, mask=None):
    if q.requires_grad:
        return _attended(q, k, v, mask)
    q /= math.sqrt(q.shape[-1])
    return _attended(q * math.sqrt(q.shape[-1]), k, v, mask)
