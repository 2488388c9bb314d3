# verdict: failed
# misconception: keeps_live_weights
# tell: never comes back into the model that was given
def best_weights_kept(model: nn.Module, loader: Batches, val_loader: Batches, lr: float, epochs: int) -> None:
    import copy

    lowest, best = float("inf"), model
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        model.eval()
        total = count = 0
        with torch.no_grad():
            for x, y in val_loader:
                total += F.cross_entropy(model(x), y, reduction="sum").item()
                count += len(y)
        if total / count < lowest:
            lowest, best = total / count, copy.deepcopy(model)
    model = best
