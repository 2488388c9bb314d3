def warmup_cosine(step, warmup, total, peak, floor=0.0):
    if warmup < 0 or not total > warmup:
        raise ValueError("bad counts")
    up = peak * min(step + 1, warmup + 1) / (warmup + 1)
    if step <= warmup:
        return up
    left = max(total - 1 - step, 0) / max(total - 1 - warmup, 1)
    return floor + (peak - floor) * math.sin(math.pi / 2 * left) ** 2
