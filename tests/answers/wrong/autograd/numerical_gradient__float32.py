# verdict: failed
def numerical_gradient(f, x, eps=1e-4):
    flat = x.detach().flatten()
    result = []
    for i in range(flat.numel()):
        up, down = flat.clone(), flat.clone()
        up[i] += eps
        down[i] -= eps
        result.append(float(f(up.reshape(x.shape)) - f(down.reshape(x.shape))) / (2 * eps))
    return torch.tensor(result).reshape(x.shape).to(x.dtype)
