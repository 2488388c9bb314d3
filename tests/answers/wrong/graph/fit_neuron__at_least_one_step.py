# verdict: failed
_right_fit_neuron = fit_neuron


def fit_neuron(neuron, data, steps, lr):
    return _right_fit_neuron(neuron, data, max(1, steps), lr)
