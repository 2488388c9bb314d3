# verdict: failed
# message: the global random numbers are the same
class SpiralNet(nn.Module):
    def __init__(self, hidden, depth):
        from training import init_weights

        super().__init__()
        widths = [2, *[hidden] * depth]
        layers = [part for pair in zip(widths, widths[1:]) for part in (nn.Linear(*pair), nn.ReLU())]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden, 3))
        torch.manual_seed(0)
        init_weights(self, torch.default_generator)

    def forward(self, x):
        return self.layers(x)
