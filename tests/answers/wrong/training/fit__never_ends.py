# verdict: timeout
# others: blocked
# message: fit
def fit(model, loader, epochs, lr):
    losses = []
    while len(losses) < 6 or losses[-1] > -1:
        losses.append(0.75)
        losses = losses[-100:]
    return losses
