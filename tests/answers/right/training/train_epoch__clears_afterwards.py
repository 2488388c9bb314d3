def train_epoch(model, loader, optimizer):
    model.train()
    total = count = 0
    for features, labels in loader:
        loss = nn.functional.cross_entropy(model(features), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item() * len(labels)
        count += len(labels)
    return total / count
