# verdict: failed
# message: Python waited for the GPU 4 times in 40 batches


def gpu_not_waiting(model, loader, device, lr):
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses, kept = [], []
    for features, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        kept.append(loss.detach())
        if len(kept) == 10:
            losses += torch.stack(kept).tolist()
            kept = []
    return losses + (torch.stack(kept).tolist() if kept else [])
