# verdict: failed
# message: returned


def pairwise_sq_dists(a: Tensor, b: Tensor) -> Tensor:
    return (a.float()[:, None] - b.float()).pow(2).sum(dim=-1).to(a.dtype)
