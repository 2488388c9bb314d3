# verdict: failed
_correct = parameter_groups


def parameter_groups(model, weight_decay):
    model.eval()
    return _correct(model, weight_decay)
