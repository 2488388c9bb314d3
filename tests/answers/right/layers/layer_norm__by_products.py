def layer_norm(x, weight, bias, eps=1e-5):
    d = x.shape[-1]
    centre = torch.eye(d, dtype=x.dtype) - 1 / d
    x = x @ centre
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps + 0 * length.detach()) * weight + bias
