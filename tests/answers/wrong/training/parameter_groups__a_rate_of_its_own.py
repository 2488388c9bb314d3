# verdict: failed
# message: the learning rates of the groups
_correct = parameter_groups


def parameter_groups(model, weight_decay):
    decayed, others = _correct(model, weight_decay)
    return [decayed, {**others, "lr": 1e-3}]
