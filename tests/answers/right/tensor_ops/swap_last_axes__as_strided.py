def swap_last_axes(x: Tensor) -> Tensor:
    size, stride = list(x.size()), list(x.stride())
    size[-2:], stride[-2:] = size[:-3:-1], stride[:-3:-1]
    return torch.as_strided(x, size, stride)
