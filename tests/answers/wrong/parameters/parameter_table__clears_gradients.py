# verdict: failed
_correct = parameter_table


def parameter_table(model):
    model.zero_grad()
    return _correct(model)
