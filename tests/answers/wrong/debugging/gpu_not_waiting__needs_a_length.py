# verdict: failed
# message: has no len()


def gpu_not_waiting(model, loader, device, lr):
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = torch.zeros(len(loader), device=device)
    for number, (features, labels) in enumerate(loader):
        loss = F.cross_entropy(model(features.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses[number] = loss.detach()
    return losses.tolist()
