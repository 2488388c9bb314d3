# verdict: failed


def warmup_cosine(step, warmup, total, peak, floor=None):
    floor = peak / 10 if floor is None else floor
    if warmup < 0 or total <= warmup:
        raise ValueError
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    progress = min(1.0, (step - warmup) / max(1, total - 1 - warmup))
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2
