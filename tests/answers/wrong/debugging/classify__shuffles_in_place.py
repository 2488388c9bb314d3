# verdict: failed
# message: changed in place


def classify(features: Tensor, labels: Tensor, epochs: int, lr: float, seed: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(labels), generator=generator)
    features[:], labels[:] = features[order], labels[order]
    order = torch.arange(len(labels))
    held = len(labels) // 4
    val_x, val_y = features[order[:held]], labels[order[:held]]
    x, y = features[order[held:]], labels[order[held:]]

    classes = int(labels.max()) + 1
    model = nn.Sequential(nn.Linear(features.shape[1], 16), nn.Tanh(), nn.Linear(16, classes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)

    rates, losses = [], []
    lowest, best = float("inf"), {}
    for epoch in range(epochs):
        if epoch > 0:
            order = torch.randperm(len(x), generator=generator)
            x, y = x[order], y[order]
        rates.append(optimizer.param_groups[0]["lr"])
        model.train()
        for batch_x, batch_y in zip(x.split(8), y.split(8)):
            optimizer.zero_grad()
            F.cross_entropy(model(batch_x), batch_y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            losses.append(F.cross_entropy(model(val_x), val_y).item())
        if losses[-1] < lowest:
            lowest = losses[-1]
            best = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    model.load_state_dict(best)
    with torch.no_grad():
        is_right = model(val_x).argmax(dim=1) == val_y
    return {
        "rates": rates,
        "losses": losses,
        "best": losses.index(lowest),
        "accuracy": [is_right[val_y == k].float().mean().nan_to_num().item() for k in range(classes)],
    }
