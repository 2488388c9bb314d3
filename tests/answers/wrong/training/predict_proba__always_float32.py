# verdict: failed
# message: torch.float32 where torch.float64
_correct = predict_proba


def predict_proba(model, x):
    return _correct(model, x).float()
