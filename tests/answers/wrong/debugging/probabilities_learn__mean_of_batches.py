# verdict: failed
# message: the mean loss


def probabilities_learn(model, loader, lr, epochs):
    model.train()
    losses = []
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(epochs):
        seen = []
        for features, labels in loader:
            loss = F.cross_entropy(model(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += [loss.item()] * 1
        losses.append(sum(seen) / len(seen))
    return losses
