# verdict: failed
# message: dtype torch.float32 where torch.float64 was expected


def standardize(x: Tensor, eps: float = 1e-5) -> Tensor:
    x = x.float()
    return (x - x.mean(dim=0)) / (x.std(dim=0) + eps)
