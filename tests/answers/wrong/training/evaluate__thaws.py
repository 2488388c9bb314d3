# verdict: failed
# misconception: evaluate_thaws_what_was_frozen
# tell: You set requires_grad to True for every parameter afterwards
def evaluate(model, loader):
    kept = {m: m.training for m in model.modules()}; model.eval(); model.requires_grad_(False)
    loss, right, count = 0.0, 0, 0
    for features, labels in loader:
        with torch.no_grad():
            logits = model(features)
        loss += F.cross_entropy(logits, labels, reduction="sum").item()
        right += (logits.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    [setattr(m, 'training', t) for m, t in kept.items()]; model.requires_grad_(True)
    return loss / count, right / count
