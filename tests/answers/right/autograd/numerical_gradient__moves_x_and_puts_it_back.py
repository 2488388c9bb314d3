def numerical_gradient(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    moving = x.detach().clone()
    result = torch.zeros(x.shape, dtype=torch.float64)
    for place in torch.ones(x.shape).nonzero():
        place = tuple(place.tolist())
        kept = moving[place].item()
        moving[place] = kept + eps
        up = f(moving).item()
        moving[place] = kept - eps
        down = f(moving).item()
        moving[place] = kept
        result[place] = (up - down) / eps / 2
    return result
