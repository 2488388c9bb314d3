def train_step(model, features, labels, optimizer):
    optimizer.zero_grad(set_to_none=True)
    logp = model(features).log_softmax(1)
    loss = F.nll_loss(logp, labels)
    loss.backward()
    optimizer.step()
    return loss.item()
