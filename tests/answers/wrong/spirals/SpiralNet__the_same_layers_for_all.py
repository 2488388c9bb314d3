# verdict: failed
# message: the weights of the second SpiralNet
# others: blocked
from training import init_weights

MADE = {}

class SpiralNet(nn.Module):
    def __init__(self, hidden, depth):
        super().__init__()
        if (hidden, depth) not in MADE:
            layers = []
            for inputs in [2] + [hidden] * (depth - 1):
                layers += [nn.Linear(inputs, hidden), nn.Tanh()]
            MADE[hidden, depth] = nn.Sequential(*layers, nn.Linear(hidden, 3))
            init_weights(MADE[hidden, depth], torch.Generator().manual_seed(0))
        self.layers = MADE[hidden, depth]

    def forward(self, x):
        return self.layers(x)
