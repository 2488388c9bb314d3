# verdict: failed
# message: is there an activation at the end?


def with_hidden_layer(hidden):
    return nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, 3), nn.ReLU())
