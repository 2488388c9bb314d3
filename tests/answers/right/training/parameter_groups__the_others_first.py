def parameter_groups(model, weight_decay):
    matrices, rest = [], []
    for _, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (matrices if p.ndim > 1 else rest).append(p)
    return [{"params": rest, "weight_decay": 0.0}, {"params": matrices, "weight_decay": weight_decay}]
