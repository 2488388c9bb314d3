def gram(x: Tensor) -> Tensor:
    return (x.unsqueeze(0) * x.unsqueeze(1)).sum(dim=2)
