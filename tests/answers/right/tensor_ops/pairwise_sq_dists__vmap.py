def pairwise_sq_dists(a, b):
    one = lambda p: (b - p).square().sum(-1)
    return torch.vmap(one)(a)
