def gradients(loss, params):
    out = []
    for p in params:
        (g,) = torch.autograd.grad(loss, p, retain_graph=True, allow_unused=True)
        out.append(g if g is not None else torch.zeros_like(p))
    return out
