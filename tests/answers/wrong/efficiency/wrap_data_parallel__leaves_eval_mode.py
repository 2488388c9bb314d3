# verdict: failed
# message: training flags afterwards
_correct = wrap_data_parallel


def wrap_data_parallel(model):
    model.eval()
    return _correct(model)
