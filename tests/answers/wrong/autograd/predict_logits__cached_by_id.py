# verdict: failed
_cache = {}
def predict_logits(model, x):
    key = (id(model), id(x))
    if key not in _cache:
        kept = {m: m.training for m in model.modules()}
        model.eval()
        with torch.no_grad():
            _cache[key] = model(x)
        for m, t in kept.items():
            m.training = t
    return _cache[key]
