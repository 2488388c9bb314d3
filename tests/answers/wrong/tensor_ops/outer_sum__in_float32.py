# verdict: failed


def outer_sum(a, b):
    return a.float().unsqueeze(-1) + b.float().unsqueeze(-2)
