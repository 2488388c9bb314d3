def decision_grid(model, low, high, steps):
    device = next(model.parameters()).device
    kept = [(module, module.training) for module in model.modules()]
    model.eval()
    line = torch.linspace(low, high, steps, device=device)
    points = torch.stack([line.repeat(steps), line.flip(0).repeat_interleave(steps)], dim=1)
    with torch.no_grad():
        found = model(points).argmax(1).view(steps, steps)
    for module, flag in kept:
        module.training = flag
    return found
