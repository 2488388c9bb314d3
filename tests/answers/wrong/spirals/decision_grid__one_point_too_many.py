# verdict: failed
# message: 13
def decision_grid(model, low, high, steps):
    from training import predict_labels

    step = (high - low) / (steps - 1)
    line = torch.arange(low, high + step, step, device=next(model.parameters()).device)
    y, x = torch.meshgrid(line.flip(0), line, indexing="ij")
    points = torch.stack([x.flatten(), y.flatten()], dim=1)
    return predict_labels(model, points).reshape(len(line), len(line))
