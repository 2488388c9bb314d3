# verdict: failed
# message: the losses


def gpu_not_waiting(model, loader, device, lr):
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for features, labels in loader:
        loss = F.cross_entropy(model(features.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist()
