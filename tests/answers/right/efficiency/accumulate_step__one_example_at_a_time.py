def accumulate_step(model, micro_batches, optimizer):
    rows = [(x[i : i + 1], y[i : i + 1]) for x, y in micro_batches for i in range(len(y))]
    optimizer.zero_grad()
    losses = []
    for x, y in rows:
        loss = F.cross_entropy(model(x), y)
        loss.div(len(rows)).backward()
        losses.append(float(loss))
    optimizer.step()
    return sum(losses) / len(losses)
