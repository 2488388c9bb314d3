# verdict: failed
# message: snapshot number 1 of 2
kept = {}
def snapshot(model):
    kept.clear()
    kept.update({name: value.clone() for name, value in model.state_dict().items()})
    return kept
