# verdict: failed
# message: snapshot number 2 of 2
import weakref
kept = weakref.WeakKeyDictionary()
def snapshot(model):
    if model not in kept:
        kept[model] = {name: value.clone() for name, value in model.state_dict().items()}
    return kept[model]
