# verdict: failed
# message: graphs of earlier batches
# misconception: keeps_the_graphs
# tell: such as its loss
def train_on(model, loader, device, lr):
    model, optimizer = prepare(model, device, lr)
    every, losses = [], []
    for x, y in loader:
        every.append(model(x.to(device)))
        loss = F.cross_entropy(every[-1], y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist()
