# verdict: failed
_correct = fit_neuron


def fit_neuron(neuron, data, steps, lr):
    losses = []
    for _ in range(steps):
        before = [one.data for one in neuron.parameters()]
        losses += _correct(neuron, data, 1, lr)
        if len(losses) > 1 and losses[-1] > losses[-2]:
            for one, number in zip(neuron.parameters(), before):
                one.data = number
            break
    return losses
