# verdict: failed
# message: the shapes of the state_dict
# others: blocked
from training import init_weights

class SpiralNet(nn.Module):
    def __init__(self, hidden, depth):
        super().__init__()
        layers = []
        for inputs in [2] + [hidden] * (depth - 1):
            layers += [nn.Linear(inputs, hidden), nn.BatchNorm1d(hidden), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden, 3))
        init_weights(self, torch.Generator().manual_seed(0))

    def forward(self, x):
        return self.layers(x)
