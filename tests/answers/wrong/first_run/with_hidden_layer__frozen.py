# verdict: failed
# message: of 150 points were right
def with_hidden_layer(hidden):
    model = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, 3))
    model[0].requires_grad_(False).weight.zero_()
    return model
