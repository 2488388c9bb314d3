# verdict: failed
def accumulate_step(model, micro_batches, optimizer):
    n = sum(len(y) for _, y in micro_batches); mean = 0
    optimizer.zero_grad()
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y, reduction="sum") / n
        loss.backward(); mean += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return mean
