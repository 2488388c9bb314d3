from autograd import evaluating


def evaluate(model, loader):
    found = torch.zeros(3, dtype=torch.float64)
    with evaluating(model):
        for x, y in loader:
            logits = model(x)
            loss = F.cross_entropy(logits, y, reduction="sum")
            found += torch.stack([loss, (logits.argmax(1) == y).sum(), torch.tensor(len(y))]).double()
    return (found[0] / found[2]).item(), (found[1] / found[2]).item()
