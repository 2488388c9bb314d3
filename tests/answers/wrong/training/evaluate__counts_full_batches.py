# verdict: failed
# others: blocked
# others: failed
def evaluate(model, loader):
    was = {m: m.training for m in model.modules()}
    model.eval()
    with torch.no_grad():
        tot = n = r = 0
        for x, y in loader:
            out = model(x)
            tot += F.cross_entropy(out, y).item() * loader.batch_size; n += loader.batch_size
            r += (out.argmax(1) == y).sum().item()
    for m, t in was.items(): m.training = t
    return tot / n, r / n
