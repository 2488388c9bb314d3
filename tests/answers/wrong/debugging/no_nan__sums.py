# verdict: failed
# message: the loss


def no_nan(logits, labels):
    return F.cross_entropy(logits, labels, reduction="sum")
