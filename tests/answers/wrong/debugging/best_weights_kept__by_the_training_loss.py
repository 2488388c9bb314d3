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
        found = loss.item()
        if found < lowest:
            lowest, best = found, {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(best)
