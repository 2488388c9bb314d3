import io

def fit_best(model, train_loader, val_loader, epochs, lr):
    files = {}
    for epoch in range(epochs):
        model.train()
        fit(model, train_loader, 1, lr)
        loss, _ = evaluate(model, val_loader)
        files.setdefault(loss, io.BytesIO())
        if files[loss].tell() == 0:
            torch.save(model.state_dict(), files[loss])
    best = min(files)
    files[best].seek(0)
    model.load_state_dict(torch.load(files[best], weights_only=True))
    return best
