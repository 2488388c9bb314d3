def check_labels(labels, num_classes):
    if torch.is_floating_point(labels):
        raise ValueError("labels must be integers")
    allowed = set(range(num_classes))
    first = next((value for value in labels.numpy().tolist() if value not in allowed), None)
    if first is None:
        return labels
    raise ValueError("no such class:", first)
