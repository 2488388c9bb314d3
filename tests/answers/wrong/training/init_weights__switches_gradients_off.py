# verdict: failed
# message: the recording of gradients is switched off afterwards


def init_weights(model, generator):
    torch.set_grad_enabled(False)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            bound = (6 / module.in_features) ** 0.5
            module.weight.uniform_(-bound, bound, generator=generator)
            if module.bias is not None:
                module.bias.zero_()
