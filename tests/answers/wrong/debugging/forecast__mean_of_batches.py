# verdict: failed
# message: losses


def forecast(series: Tensor, window: int, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    count = len(series) * 4 // 5
    known = series[:count]
    mean, std = known.mean(), known.std()
    values = (series - mean) / std

    rows = values.unfold(0, window + 1, 1)
    inputs, targets = rows[:, :window], rows[:, -1]
    places = torch.arange(len(rows)) + window
    is_training = places < count
    x, y = inputs[is_training], targets[is_training]

    generator = torch.Generator().manual_seed(seed)
    weight = (0.1 * torch.randn(window, generator=generator)).requires_grad_()
    bias = torch.zeros((), requires_grad=True)
    optimizer = torch.optim.SGD([weight, bias], lr=lr)
    losses = []
    for _ in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(x), generator=generator).split(16):
            loss = F.mse_loss(x[batch] @ weight + bias, y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        losses.append(total / -(-len(x) // 16))

    with torch.no_grad():
        forecasts = (inputs[~is_training] @ weight + bias) * std + mean
        came = targets[~is_training] * std + mean
    return {
        "losses": losses,
        "forecasts": forecasts.tolist(),
        "error": (forecasts - came).abs().mean().item(),
    }
