# verdict: failed
# message: the network has 1251 weights and biases
def with_hidden_layer(hidden):
    return nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 3))
