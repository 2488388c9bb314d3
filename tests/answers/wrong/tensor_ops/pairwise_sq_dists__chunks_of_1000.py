# verdict: failed
# misconception: loops_over_rows
# tell: the more rows there are
def pairwise_sq_dists(a, b):
    return torch.cat([(p[:, None] - b[None]).pow(2).sum(-1) for p in a.split(1000)]) if len(a) else a.new_zeros(0, len(b))
