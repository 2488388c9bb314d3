# verdict: failed
def fit_best(model, train_loader, val_loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best, state = float("inf"), None
    for _ in range(epochs):
        train_epoch(model, train_loader, optimizer)
        loss, _ = evaluate(model, val_loader)
        if loss < best - 1e-3:
            best, state = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(state)
    return best
