class Layers(nn.Sequential):
    def __init__(self, *sizes: int) -> None:
        super().__init__()
        for i in range(len(sizes) - 1):
            self.append(nn.Linear(sizes[i], sizes[i + 1]))
            if i < len(sizes) - 2:
                self.append(nn.ReLU())


class NeuralNetwork(nn.Module):
    layers: Layers

    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        nn.Module.__init__(self)
        self.add_module("layers", Layers(num_inputs, 30, 20, num_outputs))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers.forward(x)
