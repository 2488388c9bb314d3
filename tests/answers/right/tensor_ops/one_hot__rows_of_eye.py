def one_hot(labels, num_classes):
    for v in labels.flatten().tolist():
        if v < 0 or v >= num_classes:
            raise ValueError(f"bad label: {v}")
    return torch.eye(num_classes, dtype=torch.float32)[labels]
