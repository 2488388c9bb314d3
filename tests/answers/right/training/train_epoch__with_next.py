def train_epoch(model, loader, optimizer):
    batches, weighted = iter(loader), []
    while (batch := next(batches, None)) is not None:
        loss = train_step(model.train(), *batch, optimizer)
        weighted.append((loss, batch[0].shape[0]))
    return sum(loss * n for loss, n in weighted) / sum(n for _, n in weighted)
