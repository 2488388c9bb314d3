# verdict: failed


def parameter_groups(model, weight_decay):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    return [
        {"params": [n for n, p in named if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [n for n, p in named if p.dim() < 2], "weight_decay": 0.0},
    ]
