# verdict: failed
def predict_proba(model, x):
    kept = {m: m.training for m in [model, *model.children()]}
    model.eval()
    try:
        with torch.no_grad():
            return torch.softmax(model(x), dim=1)
    finally:
        for m, t in kept.items():
            m.training = t
