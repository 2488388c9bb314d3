# verdict: failed
# message: has no len()
def train_on(model, loader, device, lr):
    model, optimizer = prepare(model, device, lr)
    losses = torch.zeros(len(loader), device=device)
    for number, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses[number] = loss.detach()
    return losses.tolist()
