# verdict: failed
def train_step(model, features, labels, optimizer):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(features), labels)
    if loss.item() < 50:
        loss.backward()
        optimizer.step()
    return loss.item()
