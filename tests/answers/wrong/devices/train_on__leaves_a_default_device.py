# verdict: failed
# message: torch's defaults afterwards
def train_on(model, loader, device, lr):
    torch.set_default_device(device)
    model, optimizer = prepare(model, device, lr)
    losses = []
    for x, y in loader:
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist()
