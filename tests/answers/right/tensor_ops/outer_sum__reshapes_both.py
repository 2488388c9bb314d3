def outer_sum(a, b):
    return a.reshape(*a.shape, 1) + b.reshape(*b.shape[:-1], 1, b.shape[-1])
