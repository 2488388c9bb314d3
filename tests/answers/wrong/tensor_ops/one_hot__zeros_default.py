# verdict: failed
# message: dtype torch.float64 where torch.float32
def one_hot(labels, num_classes):
    bad = (labels < 0) | (labels >= num_classes)
    if bad.any():
        raise ValueError(f"label {labels[bad][0]}")
    return torch.zeros(*labels.shape, num_classes).scatter_(-1, labels[..., None], 1)
