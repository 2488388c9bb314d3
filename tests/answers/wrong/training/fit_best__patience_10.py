# verdict: failed
# message: the lowest validation loss
def fit_best(model, train_loader, val_loader, epochs, lr):
    best, state, waited = float("inf"), None, 0
    for _ in range(epochs):
        model.train()
        fit(model, train_loader, 1, lr)
        value, _ = evaluate(model, val_loader)
        if value < best:
            best, state, waited = value, copy.deepcopy(model.state_dict()), 0
        else:
            waited += 1
            if waited >= 10:
                break
    model.load_state_dict(state)
    return best
