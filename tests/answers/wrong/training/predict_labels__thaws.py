# verdict: failed
# misconception: predict_labels_thaws_what_was_frozen
# tell: also for those that were frozen
def predict_labels(model, x):
    kept = {m: m.training for m in model.modules()}
    model.eval()
    for p in model.parameters():
        p.requires_grad_(False)
    try:
        with torch.no_grad():
            return model(x).argmax(dim=1)
    finally:
        for p in model.parameters():
            p.requires_grad_(True)
        for m, t in kept.items():
            m.training = t
