# verdict: failed
def predict_proba(model, x):
    kept = {m: m.training for m in model.modules()}
    model.eval()
    torch.set_grad_enabled(False)
    out = torch.softmax(model(x), dim=1)
    torch.set_grad_enabled(True)
    for m, t in kept.items():
        m.training = t
    return out
