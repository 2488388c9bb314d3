# verdict: failed
_at_first = {}


def fit_neuron(neuron, data, steps, lr):
    kept = _at_first.setdefault(neuron, [p.data for p in neuron.parameters()])
    for p, number in zip(neuron.parameters(), kept):
        p.data = number
    losses = []
    for _ in range(steps):
        loss = sum((neuron(x) - y) ** 2 for x, y in data) / len(data)
        backward(loss)
        for p in neuron.parameters():
            p.data -= lr * p.grad
        losses.append(loss.data)
    return losses
