# verdict: failed
# misconception: evaluate_switches_recording_on
# tell: You switch the recording of gradients on afterwards
def evaluate(model, loader):
    kept = {m: m.training for m in model.modules()}; model.eval(); torch.set_grad_enabled(False)
    loss, right, count = 0.0, 0, 0
    for features, labels in loader:
        with torch.no_grad():
            logits = model(features)
        loss += F.cross_entropy(logits, labels, reduction="sum").item()
        right += (logits.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    [setattr(m, 'training', t) for m, t in kept.items()]; torch.set_grad_enabled(True)
    return loss / count, right / count
