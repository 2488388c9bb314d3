# verdict: failed
# message: dtype torch.float32 where torch.float64 was expected


def softmax(x: Tensor, dim: int) -> Tensor:
    x = x.float()
    weights = (x - x.amax(dim=dim, keepdim=True)).exp()
    return weights / weights.sum(dim=dim, keepdim=True)
