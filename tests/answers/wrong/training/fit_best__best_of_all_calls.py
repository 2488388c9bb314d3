# verdict: failed
_best = [float("inf")]
def fit_best(model, train_loader, val_loader, epochs, lr):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    state = copy.deepcopy(model.state_dict())
    for e in range(epochs):
        train_epoch(model, train_loader, opt)
        loss = evaluate(model, val_loader)[0]
        if loss < _best[0]:
            _best[0] = loss; state = copy.deepcopy(model.state_dict())
    model.load_state_dict(state)
    return _best[0]
