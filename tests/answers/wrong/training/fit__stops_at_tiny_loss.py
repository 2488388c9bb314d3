# verdict: failed
# message: losses
def fit(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        for x, y in loader:
            losses.append(train_step(model, x, y, optimizer))
        if losses and losses[-1] < 1e-6:
            break
    return losses
