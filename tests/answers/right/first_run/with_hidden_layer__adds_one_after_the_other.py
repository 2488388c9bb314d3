def with_hidden_layer(hidden):
    net = nn.Sequential()
    net.append(nn.Linear(in_features=2, out_features=hidden))
    net.append(nn.ReLU(inplace=True))
    net.add_module("scores", nn.Linear(in_features=hidden, out_features=3))
    return net
