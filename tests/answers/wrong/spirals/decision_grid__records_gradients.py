# verdict: failed
# message: whether the model's call recorded gradients


def decision_grid(model, low, high, steps):
    flags = [(module, module.training) for module in model.modules()]
    device = next(model.parameters()).device
    x = torch.linspace(low, high, steps, device=device)
    points = torch.cartesian_prod(x.flip(0), x).flip(1)
    model.eval()
    classes = model(points).argmax(dim=1)
    for module, flag in flags:
        module.training = flag
    return classes.reshape(steps, steps)
