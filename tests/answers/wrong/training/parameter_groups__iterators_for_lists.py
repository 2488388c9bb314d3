# verdict: failed
# message: no list
def parameter_groups(model, weight_decay):
    ps = {id(p): p for p in model.parameters() if p.requires_grad}.values()
    return [{"params": iter([p for p in ps if p.dim() >= 2]), "weight_decay": weight_decay}, {"params": iter([p for p in ps if p.dim() < 2]), "weight_decay": 0.0}]
