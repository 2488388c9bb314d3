# verdict: failed
_correct = count_parameters


def count_parameters(model, trainable_only=True):
    model.eval()
    return _correct(model, trainable_only)
