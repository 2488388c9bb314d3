# verdict: failed
# others: blocked
def fit(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        for x, y in loader:
            losses.append(round(train_step(model, x, y, optimizer), 4))
    return losses
