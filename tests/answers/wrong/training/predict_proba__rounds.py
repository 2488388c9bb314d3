# verdict: failed
# others: failed
_pp = predict_proba
def predict_proba(model, x):
    return (_pp(model, x) * 1000).round() / 1000
