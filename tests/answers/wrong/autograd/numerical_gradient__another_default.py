# verdict: failed
# message: The default eps is 1e-4.


def numerical_gradient(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-5) -> Tensor:
    flat = x.detach().flatten()
    result = torch.zeros_like(flat)
    for i in range(flat.numel()):
        up, down = flat.clone(), flat.clone()
        up[i] += eps
        down[i] -= eps
        result[i] = (f(up.reshape(x.shape)) - f(down.reshape(x.shape))) / (2 * eps)
    return result.reshape(x.shape)
