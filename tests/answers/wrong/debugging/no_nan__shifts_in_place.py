# verdict: failed
# message: an argument was changed in place


def no_nan(logits, labels):
    logits.data -= logits.data.max(dim=1, keepdim=True).values
    return F.cross_entropy(logits, labels)
