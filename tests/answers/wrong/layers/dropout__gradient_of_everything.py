# verdict: failed
_dropped = dropout


def dropout(x, p, training, generator):
    if not training or p == 0:
        return _dropped(x, p, training, generator)
    found = _dropped(x.detach(), p, training, generator)
    return found + x - x.detach()
