# verdict: failed
def fit(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        for features, labels in loader:
            losses.append(train_step(model, features, labels, optimizer))
            if losses[-1] < 1e-3:
                return losses
    return losses
