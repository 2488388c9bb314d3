# verdict: failed
def parameter_groups(model, weight_decay):
    ps = [p for p in model.parameters() if p.requires_grad]
    groups = [{"params": [p for p in ps if p.dim() >= 2], "weight_decay": weight_decay}, {"params": [p for p in ps if p.dim() < 2], "weight_decay": 0.0}]
    return [g for g in groups if g["params"]]
