# verdict: failed
# message: the mean loss


def loss_goes_down(model, loader, lr, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(epochs):
        seen = []
        for features, labels in loader:
            loss = F.cross_entropy(model(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += [loss.item()] * len(labels)
        losses.append(sum(seen) / len(seen))
    return losses
