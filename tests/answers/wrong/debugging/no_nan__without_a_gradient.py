# verdict: failed
# message: no gradient flows back


def no_nan(logits, labels):
    return F.cross_entropy(logits.detach(), labels)
