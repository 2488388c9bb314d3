# verdict: failed
# others: failed
def train_epoch(model, loader, optimizer):
    model.train(); avg = None
    for x, y in loader:
        l = train_step(model, x, y, optimizer)
        avg = l if avg is None else 0.9 * avg + 0.1 * l
    return avg
