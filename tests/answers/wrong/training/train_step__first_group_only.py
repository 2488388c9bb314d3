# verdict: failed
# others: failed
def train_step(model, features, labels, optimizer):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(features), labels)
    loss.backward()
    rest = optimizer.param_groups
    optimizer.param_groups = rest[:1]; optimizer.step(); optimizer.param_groups = rest
    return loss.item()
