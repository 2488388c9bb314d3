# verdict: failed
# message: afterwards; its best epoch


def best_weights_kept(model, loader, val_loader, lr, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    lowest = float("inf")
    for epoch in range(epochs):
        model.train()
        for features, labels in loader:
            loss = F.cross_entropy(model(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            found = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in val_loader)
        if found < lowest:
            lowest, best = found, {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(best)
