# verdict: failed
def fit(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses, best, bad = [], float("inf"), 0
    for _ in range(epochs):
        mine = [train_step(model, x, y, optimizer) for x, y in loader]
        losses += mine
        mean = sum(mine) / max(1, len(mine))
        bad = 0 if mean < best else bad + 1
        best = min(best, mean)
        if bad >= 3:
            break
    return losses
