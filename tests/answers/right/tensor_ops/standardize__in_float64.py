def standardize(x: Tensor, eps: float = 1e-5) -> Tensor:
    wide = x.double()
    z = wide - wide.mean(dim=0, keepdim=True)
    return (z / (z.pow(2).sum(dim=0).div(len(x) - 1).sqrt() + eps)).to(x)
