# verdict: failed
# message: the loss | float32


def no_nan(logits, labels):
    return F.cross_entropy(logits.float(), labels)
