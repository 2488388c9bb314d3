# verdict: failed
# message: shape
def decision_grid(model, low, high, steps):
    from training import predict_labels
    xs = torch.linspace(low, high, steps, device=next(model.parameters()).device)
    y, x = torch.meshgrid(xs.flip(0), xs, indexing="ij")
    return predict_labels(model, torch.stack([x, y], dim=-1).reshape(-1, 2))
