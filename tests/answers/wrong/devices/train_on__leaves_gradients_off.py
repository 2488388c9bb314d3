# verdict: failed
# message: does not require grad
def train_on(model, loader, device, lr):
    model, optimizer = prepare(model, device, lr)
    losses = []
    for x, y in loader:
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    torch.set_grad_enabled(False)
    return torch.stack(losses).tolist()
