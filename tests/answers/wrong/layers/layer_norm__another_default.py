# verdict: failed
def layer_norm(x, weight, bias, eps=1e-6):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias
