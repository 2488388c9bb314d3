# verdict: failed
# message: float64
def make_spirals(n_per_class, noise, seed):
    if n_per_class < 2 or noise < 0:
        raise ValueError("no spirals")
    generator = torch.Generator().manual_seed(seed)
    r = torch.linspace(0, 1, n_per_class, dtype=torch.float64)
    points = []
    for k in range(3):
        a = 4 * r + 2 * math.pi * k / 3 + noise * torch.randn(n_per_class, generator=generator)
        points.append(torch.stack([r * a.cos(), r * a.sin()], dim=1))
    return torch.cat(points), torch.arange(3).repeat_interleave(n_per_class)
