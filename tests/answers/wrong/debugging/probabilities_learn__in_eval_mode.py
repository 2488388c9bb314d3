# verdict: failed
# message: the mean loss


def probabilities_learn(model, loader, lr, epochs):
    model.eval()
    losses = []
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
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
