def init_weights(model, generator):
    for m in model.modules():
        if isinstance(m, nn.Linear):
            bound = (6 / m.in_features) ** 0.5
            with torch.no_grad():
                m.weight.uniform_(-bound, bound, generator=generator)
                if m.bias is not None:
                    m.bias.zero_()
