# verdict: failed
def fit_best(model, train_loader, val_loader, epochs, lr):
    best = float("inf")
    for e in range(epochs):
        opt = torch.optim.SGD(model.parameters(), lr=lr * (0.95 ** e))
        train_epoch(model, train_loader, opt)
        loss = evaluate(model, val_loader)[0]
        if loss < best:
            best = loss; state = copy.deepcopy(model.state_dict())
    model.load_state_dict(state)
    return best
