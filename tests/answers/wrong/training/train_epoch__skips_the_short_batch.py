# verdict: failed
# others: failed
def train_epoch(model, loader, optimizer):
    model.train(); t = n = 0
    for x, y in loader:
        if len(y) < loader.batch_size and n: continue
        t += train_step(model, x, y, optimizer) * len(y); n += len(y)
    return t / n
