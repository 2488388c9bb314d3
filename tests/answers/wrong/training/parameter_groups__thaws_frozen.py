# verdict: failed
# message: which parameters require gradients afterwards
def parameter_groups(model, weight_decay):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in model.parameters():
        p.requires_grad_(True)
    return [{"params": [p for p in ps if p.dim() >= 2], "weight_decay": weight_decay}, {"params": [p for p in ps if p.dim() < 2], "weight_decay": 0.0}]
