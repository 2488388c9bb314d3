# verdict: failed
# message: first label
# misconception: error_without_the_label
# tell: the first label that is outside


def one_hot(labels, num_classes):
    bad = labels[(labels < 0) | (labels >= num_classes)]
    if len(bad):
        raise ValueError(f"label {bad.max()}")
    return torch.eye(num_classes)[labels]
