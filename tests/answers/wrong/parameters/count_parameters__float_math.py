# verdict: failed
def count_parameters(model, trainable_only=True):
    total = 0.0
    for p in model.parameters():
        if p.requires_grad or not trainable_only:
            n = 1.0
            for s in p.shape:
                n *= s
            total += n
    return int(total)
