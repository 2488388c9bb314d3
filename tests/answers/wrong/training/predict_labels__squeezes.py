# verdict: failed
def predict_labels(model, x):
    return predict_proba(model, x).squeeze().argmax(dim=-1)
