def check_labels(labels, num_classes):
    if labels.dtype.is_floating_point:
        raise ValueError(f"{labels.dtype} labels")
    bad = torch.logical_or(labels.lt(0), labels.ge(num_classes)).nonzero().flatten()
    if bad.numel() > 0:
        raise ValueError(f"{labels[bad[0]]} at index {int(bad[0])}: classes are 0 to {num_classes - 1}")
