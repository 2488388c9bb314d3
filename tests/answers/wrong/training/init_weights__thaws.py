# verdict: failed
# message: require gradients


def init_weights(model, generator):
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.requires_grad_(True)
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
