# verdict: failed
# message: earlier batches were still in memory
# misconception: keeps_the_graphs
# tell: still has its graph


def gpu_not_waiting(model, loader, device, lr):
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for features, labels in loader:
        loss = F.cross_entropy(model(features.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return torch.stack(losses).tolist()
