# verdict: failed
# message: the mean loss | weights and buffers afterwards


def probabilities_learn(model, loader, lr, epochs):
    model.train()
    losses = []
    for _ in range(epochs):
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        seen = []
        for features, labels in loader:
            loss = F.cross_entropy(model(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += [loss.item()] * len(labels)
        losses.append(sum(seen) / len(seen))
    return losses
