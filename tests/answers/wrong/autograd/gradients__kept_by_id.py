# verdict: failed
# message: when an object is gone, another may get its id
gradients_anew, gradients_kept = gradients, {}


def gradients(loss, params):
    if id(loss) not in gradients_kept:
        gradients_kept[id(loss)] = gradients_anew(loss, params)
    return gradients_kept[id(loss)]
