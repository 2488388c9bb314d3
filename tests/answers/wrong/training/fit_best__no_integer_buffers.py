# verdict: failed
def fit_best(model, train_loader, val_loader, epochs, lr):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    best = float("inf")
    for _ in range(epochs):
        train_epoch(model, train_loader, opt)
        loss = evaluate(model, val_loader)[0]
        if loss < best:
            best = loss; state = {k: v.clone() for k, v in model.state_dict().items() if v.is_floating_point()}
    model.load_state_dict(state, strict=False)
    return best
