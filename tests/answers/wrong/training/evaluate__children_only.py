# verdict: failed
# misconception: evaluate_puts_back_the_children_only
# tell: Only the model and its direct children
def evaluate(model, loader):
    kept = {m: m.training for m in [model, *model.children()]}; model.eval()
    loss, right, count = 0.0, 0, 0
    for features, labels in loader:
        with torch.no_grad():
            logits = model(features)
        loss += F.cross_entropy(logits, labels, reduction="sum").item()
        right += (logits.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    [setattr(m, 'training', t) for m, t in kept.items()]
    return loss / count, right / count
