# verdict: failed
# message: frozen is not eval mode
_correct = freeze


def freeze(model, prefix):
    model.eval()
    return _correct(model, prefix)
