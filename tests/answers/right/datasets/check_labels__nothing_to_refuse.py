def check_labels(labels, num_classes):
    if labels.numel() == 0:
        return
    if labels.dtype.is_floating_point:
        raise ValueError(f"labels must be integers, not {labels.dtype}")
    for value in labels.tolist():
        if not 0 <= value < num_classes:
            raise ValueError(f"label {value} is no class")
