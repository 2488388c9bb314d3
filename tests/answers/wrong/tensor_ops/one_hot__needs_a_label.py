# verdict: failed


def one_hot(labels, num_classes):
    if labels.max() >= num_classes or labels.min() < 0:
        bad = labels[(labels < 0) | (labels >= num_classes)]
        raise ValueError(f"{bad[0]}")
    return torch.eye(num_classes)[labels]
