def evaluate(model, loader):
    flags = [m.training for m in model.modules()]
    model.eval()
    loss = right = seen = 0
    try:
        with torch.no_grad():
            for x, y in loader:
                out = model(x)
                loss += F.cross_entropy(out, y, reduction="sum").item()
                right += out.argmax(-1).eq(y).sum().item()
                seen += y.size(0)
    finally:
        for m, f in zip(model.modules(), flags):
            m.training = f
    return loss / seen, right / seen
