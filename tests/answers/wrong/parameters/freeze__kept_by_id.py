# verdict: failed
# message: when an object is gone, another may get its id
freeze_anew, freeze_kept = freeze, {}


def freeze(model, prefix):
    if (id(model), prefix) not in freeze_kept:
        freeze_kept[(id(model), prefix)] = freeze_anew(model, prefix)
    return freeze_kept[(id(model), prefix)]
