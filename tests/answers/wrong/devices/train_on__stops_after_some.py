# verdict: failed
# message: the losses
def train_on(model, loader, device, lr):
    model.to(device)
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for k, (x, y) in enumerate(loader):
        if k == 20:
            break
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist()
